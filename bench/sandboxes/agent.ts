import { once } from "node:events";
import { request } from "node:https";
import { WebSocket } from "ws";
import { LoadConnection } from "../load/connection.ts";

export interface ServiceAt {
  readonly port: number;
  readonly ca: string;
  readonly key: string;
}

/** What a request for a sandbox has; the least memory, because the sum of all limits is bounded. */
const SMALL = {
  limits: { memory_bytes: 64 * 1_048_576, disk_bytes: 16 * 1_048_576 },
  lifetime_secs: 7_200,
  idle_secs: 7_200,
};

/** A client of one account. It sends one request at a time on each of its connections. */
export class Agent {
  readonly at: ServiceAt;
  readonly #idle: LoadConnection[] = [];
  readonly #sandboxes = new Set<string>();

  constructor(at: ServiceAt) {
    this.at = at;
  }

  /** Sends a request on a connection that is free, or on a new one. @throws unless the response has this status. */
  async ask(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    status: number,
    body?: object | Buffer,
  ): Promise<string> {
    const connection = await this.#connection();
    const bytes = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    const answer = await connection.ask(method, path, bytes);
    this.#idle.push(connection);
    if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return answer.text;
  }

  async #connection(): Promise<LoadConnection> {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (idle.alive) return idle;
    return await LoadConnection.open(this.at.port, this.at.ca, this.at.key);
  }

  /** Creates a sandbox. @returns its path. */
  async create(body: object = SMALL): Promise<string> {
    const { id } = JSON.parse(await this.ask("POST", "/api/sandboxes", 201, body)) as { id: string };
    const path = `/api/sandboxes/${id}`;
    this.#sandboxes.add(path);
    return path;
  }

  /** Creates sandboxes, some at a time. */
  async createMany(amount: number, body: object = SMALL): Promise<string[]> {
    const made: string[] = [];
    let left = amount;
    const worker = async () => {
      while (left-- > 0) made.push(await this.create(body));
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    return made;
  }

  async end(sandbox: string): Promise<void> {
    this.#sandboxes.delete(sandbox);
    await this.ask("DELETE", sandbox, 200);
  }

  /** Ends all sandboxes that it has created. */
  async endAll(): Promise<void> {
    const left = [...this.#sandboxes];
    const worker = async () => {
      for (let one = left.pop(); one; one = left.pop()) await this.end(one);
    };
    await Promise.all(Array.from({ length: 4 }, worker));
  }

  /** Executes a program to its end. @returns its standard output. @throws unless the verdict is AC. */
  async execute(sandbox: string, body: object): Promise<string> {
    const text = await this.ask("POST", `${sandbox}/executions`, 200, body);
    const { result, output } = JSON.parse(text) as { result: { verdict: string }; output: { stdout: string } };
    if (result.verdict !== "AC") throw new Error(`an execution ended with ${text.slice(0, 300)}`);
    return output.stdout;
  }

  /** Starts a program. @returns the path of its execution. */
  async start(sandbox: string, body: object): Promise<string> {
    const { number } = JSON.parse(await this.ask("POST", `${sandbox}/executions?wait=false`, 201, body)) as {
      number: number;
    };
    return `${sandbox}/executions/${number}`;
  }

  /** Attaches to an execution. @param hear is called with the output. */
  async attach(execution: string, hear: (bytes: Buffer) => void): Promise<WebSocket> {
    const { port, ca, key } = this.at;
    const socket = new WebSocket(`wss://127.0.0.1:${port}${execution}/attach`, {
      ca,
      headers: { "X-API-Key": key },
      perMessageDeflate: false,
    });
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) hear(data.subarray(1));
    });
    await once(socket, "open");
    return socket;
  }

  /** Sends a body of so many bytes, piece by piece. */
  async upload(path: string, bytes: number): Promise<void> {
    const piece = Buffer.alloc(1_048_576, 1);
    const sent = request({
      ...this.#where(),
      method: "PUT",
      path,
      headers: { "x-api-key": this.at.key, "content-length": bytes },
    });
    const answered = once(sent, "response");
    for (let left = bytes; left > 0; left -= piece.length)
      if (!sent.write(piece.subarray(0, Math.min(left, piece.length)))) await once(sent, "drain");
    sent.end();
    const [answer] = await answered;
    if (answer.statusCode !== 200) throw new Error(`the upload was refused with ${answer.statusCode}`);
    for await (const _ of answer);
  }

  /** Reads a body and drops it. @returns its bytes. */
  async download(path: string): Promise<number> {
    const [answer] = await once(
      request({ ...this.#where(), path, headers: { "x-api-key": this.at.key } }).end(),
      "response",
    );
    if (answer.statusCode !== 200) throw new Error(`the download was refused with ${answer.statusCode}`);
    let bytes = 0;
    for await (const chunk of answer) bytes += chunk.length;
    return bytes;
  }

  #where() {
    return { host: "127.0.0.1", servername: "localhost", port: this.at.port, ca: this.at.ca, agent: false as const };
  }

  close(): void {
    for (const one of this.#idle.splice(0)) one.end();
  }
}
