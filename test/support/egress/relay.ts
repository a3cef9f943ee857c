import { connect, type Socket } from "node:net";
import { addressValue, bytesOf } from "../../../src/domain/egress/cidr.ts";
import { encodeHeader, encodeQuery, type Header, workerFrames } from "../../../src/egress/protocol.ts";

/** The 16 bytes of an address in a header; IPv4 as IPv4-mapped. */
export function destinationBytes(address: string): Buffer {
  const parsed = addressValue(address);
  if (!parsed) throw new Error(`${address} is not an address`);
  return Buffer.from(bytesOf(parsed.family === 4 ? 0xffff_0000_0000n | parsed.value : parsed.value, 16));
}

export interface RelayedConnection {
  /** 0 or 1; null if the connection was closed without an answer. */
  readonly answer: number | null;
  readonly streamId: bigint;
  readonly socket: Socket;
  /** Everything that came after the answer; never more than `stop` reads. */
  readonly received: Buffer[];
  /** How it ended: `reset` by a frame of the worker, `closed` otherwise. */
  readonly ended: Promise<"reset" | "closed">;
}

/** The relay of a sandbox, as the protocol describes it. It opens connections as programs of the sandbox would. */
export class FakeRelay {
  readonly #path: string;
  readonly #token: string;
  readonly control: Socket;
  readonly #streams = new Map<bigint, { readonly socket: Socket; wasReset: boolean }>();
  readonly #queries = new Map<bigint, (response: Buffer) => void>();
  #lastId = 0n;

  private constructor(path: string, token: string, control: Socket) {
    this.#path = path;
    this.#token = token;
    this.control = control;
    const frames = workerFrames();
    control.on("data", (chunk: Buffer) => {
      frames.push(chunk);
      for (let frame = frames.next(); frame; frame = frames.next()) {
        if (frame.type === "answer") {
          this.#queries.get(frame.queryId)?.(frame.datagram);
          this.#queries.delete(frame.queryId);
        } else {
          const stream = this.#streams.get(frame.streamId);
          if (!stream) continue;
          stream.wasReset = true;
          stream.socket.destroy();
        }
      }
    });
  }

  /** @throws if the worker refuses the control connection. */
  static async connect(path: string, token: string): Promise<FakeRelay> {
    const { socket, answer } = await begin(path, { kind: "control", token });
    if (answer !== 0) throw new Error(`the answer to the control connection is ${answer}`);
    return new FakeRelay(path, token, socket);
  }

  /** A TCP connection of the sandbox. */
  async open(address: string, port: number, cgroupId = 0n): Promise<RelayedConnection> {
    const streamId = ++this.#lastId;
    const begun = begin(
      this.#path,
      {
        kind: "stream",
        token: this.#token,
        streamId,
        cgroupId,
        destination: destinationBytes(address),
        port,
        sourcePort: 40_000,
      },
      (socket) => this.#streams.set(streamId, { socket, wasReset: false }),
    );
    const { socket, answer } = await begun;
    const received: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    const ended = new Promise<"reset" | "closed">((resolve) => {
      const over = () => resolve(this.#streams.get(streamId)?.wasReset ? "reset" : "closed");
      if (socket.closed) over();
      else socket.once("close", over);
    });
    return { answer, streamId, socket, received, ended };
  }

  query(datagram: Buffer, cgroupId = 0n): Promise<Buffer> {
    const queryId = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    this.#queries.set(queryId, resolve);
    this.control.write(encodeQuery({ queryId, cgroupId, sourcePort: 40_001, datagram }));
    return promise;
  }

  close(): void {
    this.control.destroy();
    for (const { socket } of this.#streams.values()) socket.destroy();
  }
}

/** Connects, sends a header, and waits for the answer. */
export async function begin(
  path: string,
  header: Header | Buffer,
  connected: (socket: Socket) => void = () => {},
): Promise<{ socket: Socket; answer: number | null }> {
  const socket = connect({ path, allowHalfOpen: true });
  socket.on("error", () => {});
  connected(socket);
  socket.write(Buffer.isBuffer(header) ? header : encodeHeader(header));
  const answer = await new Promise<number | null>((resolve) => {
    const read = () => {
      const byte: Buffer | null = socket.read(1);
      if (byte === null) return;
      socket.off("readable", read);
      resolve(byte[0] ?? null);
    };
    socket.on("readable", read);
    socket.once("close", () => resolve(null));
    socket.once("end", () => {
      resolve(null);
      socket.destroy();
    });
  });
  return { socket, answer };
}
