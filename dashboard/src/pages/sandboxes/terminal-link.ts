import type { ExecutionRow, TerminalMessage } from "../../../../src/http/dashboard/api/sandboxes.ts";

export type LinkState =
  | { readonly kind: "connecting" | "open" }
  /** The connection is lost; another attempt follows. @param reason what the service says, if it responds. */
  | { readonly kind: "lost"; readonly reason: string | null }
  | { readonly kind: "ended"; readonly execution: ExecutionRow }
  /** There is no further attempt. */
  | { readonly kind: "refused"; readonly reason: string };

interface Options {
  /** The address of the route for output from this offset on, for an ordinary request. */
  readonly addressFrom: (offset: number) => URL;
  /** Takes output. @param done must be called when it is shown. */
  readonly write: (bytes: Uint8Array, done: () => void) => void;
  /** Called when the next bytes do not follow those before, because the service no longer has the bytes between them. */
  readonly skip: (bytes: number) => void;
  readonly changed: (state: LinkState) => void;
}

/** The pauses between two attempts to connect, in milliseconds; the last one is repeated. */
const PAUSES_MS = [250, 500, 1_000, 2_000, 5_000];
/**
 * The most bytes that wait to be shown. A browser takes messages as fast as they arrive, so a page that shows them more slowly, such as one
 * in the background, gives up its connection, and continues where it was when it has shown LOW_BYTES less.
 */
const HIGH_BYTES = 4 * 1_048_576;
const LOW_BYTES = 1_048_576;
/** The most messages that are kept while the page catches up. */
const MOST_KEPT = 256;
/** The most bytes of input in a message. */
const INPUT_BYTES = 16_384;
/** The service closes a connection with this code if it refuses what the client asks for. */
const REFUSED = 1008;
/** Statuses that another attempt does not change. */
const FINAL = [400, 401, 403, 404, 410];

/** A connection to the terminal of an execution. After it is lost, it continues where it was, so that no output is lost. */
export class TerminalLink {
  readonly #options: Options;
  #socket: WebSocket | null = null;
  #offset = 0;
  #waiting = 0;
  #isFull = false;
  /** Since it gave up its connection because it was full, until it has another one. */
  #isCatchingUp = false;
  /** What was typed meanwhile. */
  readonly #kept: (string | Uint8Array<ArrayBuffer>)[] = [];
  #isOver = false;
  #attempts = 0;
  #reason: string | null = null;
  #again: ReturnType<typeof setTimeout> | undefined;
  readonly #encoder = new TextEncoder();

  constructor(options: Options) {
    this.#options = options;
    this.#connect();
  }

  /** Sends text that was typed or pasted. Without a connection, it has no effect. */
  type(text: string): void {
    this.#input(this.#encoder.encode(text));
  }

  /** Sends bytes, each as the code of a character. */
  typeBytes(text: string): void {
    this.#input(Uint8Array.from(text, (character) => character.charCodeAt(0)));
  }

  resize(rows: number, cols: number): void {
    this.#send(JSON.stringify({ type: "resize", rows, cols }));
  }

  kill(): void {
    this.#send(JSON.stringify({ type: "kill" }));
  }

  /** Leaves the program, which continues. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#again);
    this.#socket?.close();
  }

  #input(bytes: Uint8Array<ArrayBuffer>): void {
    for (let at = 0; at < bytes.length; at += INPUT_BYTES) this.#send(bytes.subarray(at, at + INPUT_BYTES));
  }

  #send(message: string | Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(message);
    // Without it, Ctrl C would be lost in the moment in which a flood is too fast for the page.
    else if (this.#isCatchingUp && this.#kept.length < MOST_KEPT) this.#kept.push(message);
  }

  #connect(): void {
    if (this.#isOver) return;
    const address = this.#options.addressFrom(this.#offset);
    const url = new URL(address);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
    };
    socket.onmessage = ({ data }: { readonly data: ArrayBuffer | string }) => {
      if (typeof data === "string") this.#take(JSON.parse(data));
      else this.#show(new Uint8Array(data, 1));
    };
    socket.onclose = ({ code }) => {
      if (this.#socket !== socket || this.#isOver) return;
      this.#socket = null;
      if (this.#isFull) return;
      if (code === REFUSED) this.#refuse(this.#reason ?? "the service has closed the connection");
      else void this.#retry(wasOpen ? null : address);
    };
  }

  #take(message: TerminalMessage): void {
    if (message.type === "start") {
      this.#attempts = 0;
      this.#reason = null;
      this.#isCatchingUp = false;
      for (const kept of this.#kept.splice(0)) this.#send(kept);
      this.#options.changed({ kind: "open" });
    } else if (message.type === "skipped") {
      if (message.at > this.#offset) this.#options.skip(message.at - this.#offset);
      this.#offset = message.at;
    } else if (message.type === "error") this.#reason = message.message ?? message.error;
    else {
      this.#isOver = true;
      this.#options.changed({ kind: "ended", execution: message.execution });
    }
  }

  #show(bytes: Uint8Array): void {
    if (this.#isFull || this.#isOver) return; // it comes again
    this.#offset += bytes.length;
    this.#waiting += bytes.length;
    this.#options.write(bytes, () => {
      this.#waiting -= bytes.length;
      if (!this.#isFull || this.#waiting > LOW_BYTES) return;
      this.#isFull = false;
      this.#connect();
    });
    if (this.#waiting <= HIGH_BYTES) return;
    this.#isFull = true;
    this.#isCatchingUp = true;
    this.#socket?.close();
  }

  /** @param refused the address of an attempt that failed, whose reason a WebSocket does not say, but an ordinary request does. */
  async #retry(refused: URL | null): Promise<void> {
    this.#options.changed({ kind: "lost", reason: this.#reason });
    const why = refused === null ? null : await whyNot(refused);
    if (this.#isOver) return;
    if (why?.isFinal) return this.#refuse(why.text);
    if (why) {
      this.#reason = why.text;
      this.#options.changed({ kind: "lost", reason: why.text });
    }
    const pause = PAUSES_MS[Math.min(this.#attempts++, PAUSES_MS.length - 1)];
    this.#again = setTimeout(() => this.#connect(), pause);
  }

  #refuse(reason: string): void {
    this.#isOver = true;
    this.#options.changed({ kind: "refused", reason });
  }
}

/** Why the service refuses a WebSocket; null if it does not respond, or would accept one now. */
async function whyNot(address: URL): Promise<{ readonly text: string; readonly isFinal: boolean } | null> {
  try {
    const answer = await fetch(address);
    // The service asks an ordinary request for an upgrade when it has nothing else to refuse.
    if (answer.status === 426) return null;
    const { error } = (await answer.json()) as { readonly error: string };
    return { text: error, isFinal: FINAL.includes(answer.status) };
  } catch {
    return null;
  }
}
