import { Raw } from "../../support/http/raw.ts";
import type { Wire } from "./hostile.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Time limit for a response: longer than any hold or limit of the tested service. */
const TIMEOUT_MS = 10_000;

/** A client that keeps its connection while the service does, and sends exact bytes. */
export class Line {
  readonly #port: number;
  #raw: Raw | undefined;
  #read = 0;

  constructor(port: number) {
    this.#port = port;
  }

  /** @throws when there is no response, or it is not HTTP. */
  async ask(wire: Wire): Promise<Answer> {
    const raw = this.#open();
    raw.socket.write(bytesOf(wire));
    const deadline = performance.now() + TIMEOUT_MS;
    for (;;) {
      const answer = this.#parse(raw, wire.method === "HEAD");
      if (answer) {
        // The service must not treat unread input as the next request.
        if (answer.headers.connection === "close" || raw.socket.destroyed) this.close();
        return answer;
      }
      if (raw.socket.destroyed) throw new Error(`closed after ${JSON.stringify(raw.received.slice(this.#read))}`);
      if (performance.now() > deadline) throw new Error("no answer");
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1_000);
        const wake = () => {
          clearTimeout(timer);
          raw.socket.off("data", wake).off("close", wake);
          resolve();
        };
        raw.socket.once("data", wake).once("close", wake);
      });
    }
  }

  close(): void {
    this.#raw?.socket.destroy();
    this.#raw = undefined;
  }

  #open(): Raw {
    if (this.#raw && !this.#raw.socket.destroyed && this.#raw.socket.writable) return this.#raw;
    this.#read = 0;
    this.#raw = Raw.plain(this.#port);
    return this.#raw;
  }

  #parse({ received }: Raw, headOnly: boolean): Answer | undefined {
    const end = received.indexOf("\r\n\r\n", this.#read);
    if (end < 0) return undefined;
    const [first = "", ...lines] = received.slice(this.#read, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    if (Number.isNaN(status)) throw new Error(`not HTTP: ${JSON.stringify(first)}`);
    if (status < 200) {
      this.#read = end + 4;
      return this.#parse({ received } as Raw, headOnly);
    }
    const headers = Object.fromEntries(
      lines.map((line) => [line.split(": ")[0]?.toLowerCase() ?? "", line.slice(line.indexOf(": ") + 2)]),
    );
    const length = Number(headers["content-length"]);
    if (Number.isNaN(length)) throw new Error(`${status} without a length`);
    const next = end + 4 + (headOnly && status !== 431 && status !== 408 ? 0 : length);
    if (received.length < next) return undefined;
    this.#read = next;
    return { status, headers, body: Buffer.from(received.slice(end + 4, next), "latin1").toString("utf8") };
  }
}

function bytesOf({ method, target, headers, body }: Wire): Buffer {
  const length = body === null ? [] : [`Content-Length: ${body.length}`];
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${target} HTTP/1.1`, "Host: localhost", ...lines, ...length].join("\r\n");
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "latin1"), body ?? Buffer.alloc(0)]);
}
