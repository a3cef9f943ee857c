import { readFileSync } from "node:fs";
import { connect as plainConnect, type Socket } from "node:net";
import { connect } from "node:tls";

/** A connection that sends exact bytes, including requests that no HTTP client would send. */
export class Raw {
  readonly socket: Socket;
  #text = "";
  /** Resolves with everything received, once the peer has closed the connection. */
  readonly ended: Promise<string>;

  constructor(socket: Socket) {
    this.socket = socket;
    // One character per byte.
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      this.#text += chunk;
    });
    socket.on("error", () => {});
    this.ended = new Promise((resolve) => socket.once("close", () => resolve(this.#text)));
  }

  /** @param from the source address, on loopback. */
  static secure(port: number, caPath: string, from = "127.0.0.1"): Raw {
    const socket = plainConnect({ port, host: "127.0.0.1", localAddress: from });
    return new Raw(connect({ socket, ca: readFileSync(caPath), servername: "localhost" }));
  }

  /** @param keepsOpen whether to keep this side open after the peer has closed its side. */
  static plain(port: number, keepsOpen = false): Raw {
    return new Raw(plainConnect({ port, host: "127.0.0.1", allowHalfOpen: keepsOpen }));
  }

  get received(): string {
    return this.#text;
  }

  write(text: string): void {
    this.socket.write(text, "latin1");
  }
}
