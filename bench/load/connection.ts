import { connect, type TLSSocket } from "node:tls";

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Asking {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

const HEADERS_END = Buffer.from("\r\n\r\n");

/**
 * One persistent HTTPS connection with one request at a time. It implements only the part of HTTP that the service
 * uses: Node's own client takes three times the CPU time, which the service would lack on the same machine.
 */
export class LoadConnection {
  readonly #port: number;
  readonly #ca: string;
  readonly #key: string;
  #socket: TLSSocket | null = null;
  #asking: Asking | null = null;
  #received: Buffer = Buffer.alloc(0);

  private constructor(port: number, ca: string, key: string) {
    this.#port = port;
    this.#ca = ca;
    this.#key = key;
  }

  static async open(port: number, ca: string, key: string): Promise<LoadConnection> {
    const connection = new LoadConnection(port, ca, key);
    await connection.again();
    return connection;
  }

  /** Closes the connection, if there is one, and connects again. */
  again(): Promise<void> {
    this.end();
    return new Promise((resolve, reject) => {
      const where = { host: "127.0.0.1", port: this.#port, ca: this.#ca, servername: "localhost" };
      const socket = connect(where, resolve);
      this.#socket = socket;
      this.#received = Buffer.alloc(0);
      const lose = (error: Error) => {
        reject(error);
        this.#asking?.reject(error);
        this.#asking = null;
      };
      socket.setNoDelay(true);
      socket.on("data", (chunk: Buffer) => this.#take(chunk));
      socket.on("error", lose);
      socket.on("close", () => lose(new Error("the connection ended")));
    });
  }

  end(): void {
    this.#socket?.removeAllListeners("close").destroy();
  }

  /** Whether the service has not closed it. */
  get alive(): boolean {
    return this.#socket !== null && !this.#socket.destroyed && !this.#socket.readableEnded;
  }

  ask(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: Buffer): Promise<Answer> {
    const type = body ? `content-type: application/json\r\ncontent-length: ${body.length}\r\n` : "";
    const head = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${this.#key}\r\n${type}\r\n`;
    return new Promise((resolve, reject) => {
      this.#asking = { resolve, reject };
      this.#socket?.write(body ? Buffer.concat([Buffer.from(head), body]) : head);
    });
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const end = this.#received.indexOf(HEADERS_END);
    if (end < 0) return;
    const head = this.#received.toString("latin1", 0, end);
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1]);
    const from = end + HEADERS_END.length;
    if (this.#received.length < from + length) return;
    const answer = { status: Number(head.slice(9, 12)), text: this.#received.toString("utf8", from, from + length) };
    this.#received = Buffer.alloc(0);
    const asking = this.#asking;
    this.#asking = null;
    asking?.resolve(answer);
  }
}
