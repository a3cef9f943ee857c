import { chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const HEADER_BYTES = 80;
const [QUERY_BYTES, ANSWER_BYTES] = [24, 16];
const [STREAM, CONTROL] = [1, 2];
const [QUERY, ANSWER, RESET] = [1, 2, 3];

/** What the relay of a sandbox says of a connection of a program. */
export interface Announced {
  readonly token: string;
  readonly stream: bigint;
  readonly group: bigint;
  readonly address: string;
  readonly port: number;
  readonly socket: Socket;
}

/**
 * The other end of launcher/egress/relay.c, which decides nothing: a test says what happens with each connection and query. The directory is that for the
 * launcher's option --egress.
 */
export class PermissiveProxy {
  readonly directory = mkdtempSync(join(tmpdir(), "egress-"));
  readonly announced: Announced[] = [];
  readonly queries: Buffer[] = [];
  /** By which groups these were sent. */
  readonly queryGroups: bigint[] = [];
  /** Called with each connection; by default, it echoes. */
  onStream: (one: Announced) => void = ({ socket }) => {
    socket.write(Buffer.of(0));
    socket.pipe(socket);
  };
  /** @returns the answer to a query; null: there is none. */
  onQuery: (query: Buffer) => Buffer | null = () => null;
  readonly #control = new Map<string, Socket>();
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket));

  /** Begins to listen. @param gid the group that may connect; without one, everybody may. */
  async listen(gid?: number): Promise<void> {
    const path = join(this.directory, "egress.sock");
    await new Promise<void>((resolve) => this.#server.listen(path, resolve));
    if (gid !== undefined) for (const owned of [this.directory, path]) chownSync(owned, 0, gid);
    chmodSync(this.directory, gid === undefined ? 0o711 : 0o710);
    chmodSync(path, gid === undefined ? 0o666 : 0o660);
  }

  /** Resets a connection of a program, as when its budget is used up. */
  reset({ token, stream }: Pick<Announced, "token" | "stream">): void {
    const frame = Buffer.alloc(ANSWER_BYTES);
    frame.writeUInt16BE(ANSWER_BYTES - 2, 0);
    frame.writeUInt8(RESET, 2);
    frame.writeBigUInt64BE(stream, 8);
    this.#control.get(token)?.write(frame);
  }

  /** Ends as a process does that is killed. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => this.#sockets.delete(socket));
    let bytes = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (bytes.length < HEADER_BYTES) return;
      socket.off("data", onData);
      const header = bytes.subarray(0, HEADER_BYTES);
      if (header.toString("latin1", 0, 4) !== "ASEG" || header[4] !== 1)
        throw new Error("the relay sent another header");
      const token = header.toString("latin1", 8, 40);
      const rest = bytes.subarray(HEADER_BYTES);
      if (header[5] === CONTROL) {
        this.#control.set(token, socket);
        socket.write(Buffer.of(0));
        this.#serveControl(socket, rest);
      } else if (header[5] === STREAM) {
        socket.unshift(rest);
        const one = {
          ...{ token, socket, stream: header.readBigUInt64BE(40), group: header.readBigUInt64BE(48) },
          ...{ address: addressOf(header.subarray(56, 72)), port: header.readUInt16BE(72) },
        };
        this.announced.push(one);
        this.onStream(one);
      }
    };
    socket.on("data", onData);
  }

  #serveControl(socket: Socket, first: Buffer): void {
    let bytes = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
        const frame = bytes.subarray(0, 2 + bytes.readUInt16BE(0));
        bytes = bytes.subarray(frame.length);
        if (frame[2] !== QUERY) throw new Error("the relay sent another frame");
        const query = frame.subarray(QUERY_BYTES);
        this.queries.push(query);
        this.queryGroups.push(frame.readBigUInt64BE(16));
        const answer = this.onQuery(query);
        if (!answer) continue;
        const header = Buffer.alloc(ANSWER_BYTES);
        header.writeUInt16BE(ANSWER_BYTES - 2 + answer.length, 0);
        header.writeUInt8(ANSWER, 2);
        frame.copy(header, 8, 8, 16);
        socket.write(Buffer.concat([header, answer]));
      }
    };
    onData(first);
    socket.on("data", onData);
  }
}

/** The address as programs write it: of IPv4, if it is a mapped one. */
function addressOf(bytes: Buffer): string {
  const mapped = bytes.subarray(0, 12).equals(Buffer.from("00000000000000000000ffff", "hex"));
  if (mapped) return [...bytes.subarray(12)].join(".");
  return Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16)).join(":");
}

/** The answer with one address of IPv4 to a query for any name. */
export function answerOf(query: Buffer, address: readonly [number, number, number, number]): Buffer {
  const header = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
  const end = query.indexOf(0, 12) + 5;
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address]);
  return Buffer.concat([header, query.subarray(12, end), record]);
}
