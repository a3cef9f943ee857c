import { readFileSync } from "node:fs";
import { WebSocket } from "ws";

export interface RunClientAt {
  readonly port: number;
  readonly caPath: string;
  readonly key: string;
  /** The submission. */
  readonly id: string;
  /** The last id that an earlier client received. */
  readonly after?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

// biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape
type Received = any;

/** A client of GET /api/result/{id}/connect: what it received, and how the connection was closed. */
export class RunClient {
  readonly received: Received[] = [];
  readonly opened: Promise<void>;
  readonly closed: Promise<string>;
  readonly socket: WebSocket;
  #changed = Promise.withResolvers<void>();

  constructor({ port, caPath, key, id, after, headers = {} }: RunClientAt) {
    const query = after === undefined ? "" : `?after=${after}`;
    this.socket = new WebSocket(`wss://127.0.0.1:${port}/api/result/${id}/connect${query}`, {
      ca: readFileSync(caPath),
      headers: { "X-API-Key": key, ...headers },
    });
    this.socket.on("message", (data) => {
      this.received.push(JSON.parse(data.toString()));
      this.#change();
    });
    this.opened = new Promise((resolve, reject) => this.socket.once("open", resolve).once("error", reject));
    this.opened.catch(() => {});
    this.socket.on("error", () => {});
    this.closed = new Promise((resolve) => this.socket.once("close", (code, reason) => resolve(`${code} ${reason}`)));
    void this.closed.then(() => this.#change());
  }

  /** Sends a value as JSON, a text as it is, or bytes as a binary message. */
  async send(...messages: readonly (object | string | Buffer)[]): Promise<void> {
    await this.opened;
    for (const one of messages)
      this.socket.send(typeof one === "string" || Buffer.isBuffer(one) ? one : JSON.stringify(one));
  }

  output(stream: "stdout" | "stderr" = "stdout"): string {
    return this.received.flatMap(({ type, text }) => (type === stream ? [text] : [])).join("");
  }

  /** Without pieces of output, whose number varies. */
  others(): Received[] {
    return this.received.filter(({ type }) => type !== "stdout" && type !== "stderr");
  }

  /** The `after` of a client that continues where this one is. */
  last(): string {
    return this.received.findLast(({ id }) => typeof id === "string")?.id;
  }

  /** @throws when the connection is closed before. */
  async until(found: () => boolean): Promise<void> {
    while (!found()) {
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error(`closed: ${JSON.stringify(this.received)}`);
      await this.#changed.promise;
    }
  }

  close(): void {
    this.socket.terminate();
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
