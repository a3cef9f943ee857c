import { readFileSync } from "node:fs";
import { type ClientOptions, WebSocket } from "ws";

export interface Message {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface ClientAt {
  readonly port: number;
  readonly caPath: string;
  readonly key: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client of Piston's /connect: what it received, and how the connection was closed. */
export class PistonClient {
  readonly received: Message[] = [];
  readonly closed: Promise<string>;
  readonly opened: Promise<void>;
  readonly socket: WebSocket;
  #changed = Promise.withResolvers<void>();

  constructor({ port, caPath, key, path = "/piston/api/v2/connect", headers = {} }: ClientAt) {
    const options: ClientOptions = {
      ca: readFileSync(caPath),
      headers: { Authorization: key, ...headers },
    };
    this.socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, options);
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

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async send(...messages: readonly (object | string)[]): Promise<void> {
    await this.opened;
    for (const one of messages) this.socket.send(typeof one === "string" ? one : JSON.stringify(one));
  }

  init(language: string, content: string, fields: object = {}): Promise<void> {
    return this.send({ type: "init", language, version: "*", files: [{ content }], ...fields });
  }

  input(data: string): Promise<void> {
    return this.send({ type: "data", stream: "stdin", data });
  }

  output(stream: "stdout" | "stderr" = "stdout"): string {
    const pieces = this.received.filter((one) => one.type === "data" && one.stream === stream);
    return pieces.map(({ data }) => data).join("");
  }

  /** Without pieces of output, whose number varies. */
  others(): Message[] {
    return this.received.filter(({ type }) => type !== "data");
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
}
