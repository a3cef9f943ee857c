import type { Socket } from "node:net";
import type { ConnectionEnd } from "../domain/egress/egress-record.ts";
import { isWildcard } from "../domain/egress/host.ts";
import type { Denial } from "../domain/egress/outcomes.ts";
import type { Decision, Destination } from "../domain/egress/policy.ts";
import type { ByteBudget } from "./budget.ts";
import { denialResponse, HTTP_PORT } from "./denial-response.ts";
import type { Dialed } from "./dial.ts";
import { type Flight, type FlightCheck, flightCheck } from "./first-flight.ts";
import type { LoggedConnection } from "./log.ts";
import { ANSWER, type StreamHeader } from "./protocol.ts";

/*
 * One TCP connection of a sandbox, from the answer to the relay to its end: decide, check what the program sends first, connect, and forward in both
 * directions. Each byte is reserved from a budget before it is forwarded. A direction is not read while its last chunk, of at most 64 KiB, is not written;
 * of the program, one further chunk can have been read.
 */

/** How long the relay has to close a stream after it was asked to reset its connection. */
const RESET_MS = 5_000;

/** What a stream needs of its sandbox. */
export interface StreamHost {
  readonly budgets: { readonly up: ByteBudget; readonly down: ByteBudget };
  dial(host: string, port: number, signal: AbortSignal): Promise<Dialed>;
  /** Asks the relay to reset the connection of the sandbox. */
  reset(streamId: bigint): void;
  /** The stream has ended, and is neither decided nor swept again. */
  ended(stream: RelayedStream): void;
  /** How long the program may take for a part that is checked. */
  readonly heldMs: number;
}

/** One direction of a stream. */
interface Direction {
  readonly from: Socket;
  readonly to: Socket;
  readonly budget: ByteBudget;
  readonly isUp: boolean;
  /** Why `from` is not read at the moment: a lease, or a slow receiver. */
  blocks: number;
  /** Bytes that wait for a lease. */
  leasing: Promise<void> | null;
}

export class RelayedStream {
  readonly destination: Destination;
  readonly #relay: Socket;
  readonly #streamId: bigint;
  readonly #host: StreamHost;
  readonly #logged: LoggedConnection;
  readonly #abort = new AbortController();
  #check: FlightCheck | null = null;
  #awaitTimer: NodeJS.Timeout | undefined;
  #awaited: number | null = null;
  #rule = "";
  /** What was checked before there is a connection: at most what was in the buffer of the relay's socket. */
  readonly #beforeConnection: Buffer[] = [];
  #up: Direction | null = null;
  #down: Direction | null = null;
  /** Whether the relay has its answer, whether the program has sent a byte, and whether a byte was forwarded. */
  #isAnswered = false;
  #hasRead = false;
  #hasForwarded = false;
  #isOver = false;
  #firstEnd: ConnectionEnd | null = null;
  #activeMs = performance.now();

  constructor(
    relay: Socket,
    header: StreamHeader,
    destination: Destination,
    host: StreamHost,
    logged: LoggedConnection,
  ) {
    this.#relay = relay;
    this.#streamId = header.streamId;
    this.destination = destination;
    this.#host = host;
    this.#logged = logged;
    relay.on("error", () => this.close("client"));
    relay.on("close", () => this.#closed());
  }

  /** Begins the stream by the decision of the policy. */
  begin(decision: Decision): void {
    if (!decision.isAllowed) {
      this.deny(decision.reason, "policy");
      return;
    }
    this.#rule = decision.rule;
    this.#logged.allowed(decision.rule);
    this.#check = "name" in this.destination ? flightCheck(this.destination.name, this.destination.port) : null;
    if (this.#check) {
      this.#answer();
      this.#read();
      this.#watchAwaited();
    } else void this.#connect(() => this.#answer());
  }

  /** Refuses the connection, to which nothing was sent. @param delayMs how long the relay waits for the answer. */
  deny(reason: string, denial: Denial, delayMs = 0): void {
    this.#logged.deny(reason, denial);
    const hasWaited = this.#isAnswered && !this.#hasRead;
    if (this.destination.port === HTTP_PORT && delayMs === 0 && !hasWaited) this.#explain(reason);
    else this.#over(delayMs);
  }

  /** Ends the connection with a reset on both sides. */
  close(how: ConnectionEnd, reason: string | null = null): void {
    this.#logged.end(how, reason);
    this.#over(0);
  }

  /** Ends the connection if no byte has moved since `sinceMs`, on the clock of `performance.now()`. */
  closeIdle(sinceMs: number, reason: string): void {
    if (this.#activeMs < sinceMs && this.#up !== null) this.close("idle", reason);
  }

  #answer(): void {
    this.#isAnswered = true;
    this.#relay.write(Buffer.of(ANSWER.goOn));
  }

  #read(): void {
    this.#relay.on("data", (chunk: Buffer) => this.#fromProgram(chunk));
    this.#relay.on("end", () => this.#ended("client", this.#up));
    this.#relay.resume();
  }

  #fromProgram(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#hasRead = true;
    this.#activeMs = performance.now();
    this.#checked(this.#check ? this.#check.push(chunk) : { forward: chunk });
    if (!this.#isOver) this.#watchAwaited();
  }

  /** Forwards what was checked; the first time, after a connection was made. */
  #checked(flight: Flight): void {
    if ("refused" in flight) {
      this.#refuse(flight.refused);
      return;
    }
    const { forward } = flight;
    if (forward.length === 0) return;
    if (this.#up) {
      this.#forward(this.#up, forward);
      return;
    }
    const isConnecting = this.#beforeConnection.push(forward) > 1;
    this.#relay.pause();
    if (isConnecting) return;
    void this.#connect(() => {
      for (const bytes of this.#beforeConnection.splice(0)) if (this.#up) this.#forward(this.#up, bytes);
      if (this.#firstEnd !== null) this.#ended("client", this.#up);
    });
  }

  /** What the program sends is not allowed. */
  #refuse(reason: string): void {
    if (this.#hasForwarded) this.close("policy", reason);
    else this.deny(reason, "request");
  }

  /** The program may take only a while for each part that is checked. While the stream itself does not read, the program is not the reason. */
  #watchAwaited(): void {
    const awaited = this.#check?.awaited ?? null;
    if (awaited === this.#awaited) return;
    this.#awaited = awaited;
    clearTimeout(this.#awaitTimer);
    if (awaited === null) return;
    // After a pause of this process, what has arrived in the meantime is read first.
    this.#awaitTimer = setTimeout(() => setImmediate(() => this.#awaitedTooLong(awaited)), this.#host.heldMs);
  }

  #awaitedTooLong(awaited: number): void {
    if (this.#isOver || this.#awaited !== awaited) return;
    if (this.#up === null ? this.#beforeConnection.length === 0 : this.#up.blocks === 0)
      this.#refuse("the program did not send a complete request in time");
    else {
      this.#awaited = null;
      this.#watchAwaited();
    }
  }

  async #connect(connected: () => void): Promise<void> {
    try {
      if (!(await this.#chargeName())) return;
      const { port } = this.destination;
      const dialed = await this.#host.dial(this.#target, port, this.#abort.signal);
      if (dialed.kind === "connected") this.#connected(dialed, connected);
      else if (dialed.kind === "refused") this.deny(dialed.reason, "address");
      else {
        if (dialed.address !== null) this.#logged.dialed(dialed.address);
        this.close("server", dialed.reason);
      }
    } catch (error) {
      this.close("budget", noBudget(error));
    }
  }

  get #target(): string {
    return "name" in this.destination ? this.destination.name : this.destination.address;
  }

  /** The sandbox chooses the labels of a name under a wildcard, and a name server gets them, so they count as sent. */
  async #chargeName(): Promise<boolean> {
    const bytes = isWildcard(this.#rule) ? this.#target.length : 0;
    if (bytes === 0) return true;
    const taken = await this.#host.budgets.up.take(bytes);
    this.#logged.moved(taken, 0);
    if (taken < bytes) this.close("budget", usedUp(this.#host.budgets.up, true));
    return taken === bytes;
  }

  #connected({ connection, address }: Extract<Dialed, { kind: "connected" }>, connected: () => void): void {
    const { socket } = connection;
    if (this.#isOver) {
      socket.on("error", () => {});
      socket.destroy();
      return;
    }
    this.#logged.dialed(address);
    const { up, down } = this.#host.budgets;
    this.#activeMs = performance.now();
    this.#up = { from: this.#relay, to: socket, budget: up, isUp: true, blocks: 0, leasing: null };
    this.#down = { from: socket, to: this.#relay, budget: down, isUp: false, blocks: 0, leasing: null };
    socket.on("error", (error) => this.close("server", error.message));
    socket.on("close", () => this.#closed());
    connection.onBytes((bytes) => this.#fromServer(bytes));
    socket.on("end", () => this.#ended("server", this.#down));
    connected();
    if (this.#isOver) return;
    if (this.#check) this.#resume(this.#up);
    else this.#read();
    socket.resume();
  }

  #fromServer(chunk: Buffer): void {
    if (this.#isOver || !this.#down) return;
    this.#activeMs = performance.now();
    this.#forward(this.#down, chunk);
    if (this.#isOver || !this.#check) return;
    this.#checked(this.#check.answered(chunk));
    if (!this.#isOver) this.#watchAwaited();
  }

  /** Reserves and forwards bytes, in order. */
  #forward(direction: Direction, bytes: Buffer): void {
    const taken =
      direction.leasing === null
        ? direction.budget.take(bytes.length)
        : direction.leasing.then(() => direction.budget.take(bytes.length));
    if (typeof taken === "number") {
      this.#write(direction, bytes, taken);
      return;
    }
    this.#block(direction);
    const leasing = taken
      .then(
        (count) => this.#write(direction, bytes, count),
        (error) => this.close("budget", noBudget(error)),
      )
      .then(() => {
        if (direction.leasing === leasing) direction.leasing = null;
        this.#unblock(direction);
      });
    direction.leasing = leasing;
  }

  /** @param count how many of the bytes were reserved. */
  #write(direction: Direction, bytes: Buffer, count: number): void {
    if (this.#isOver) return;
    const { to, isUp } = direction;
    this.#hasForwarded = true;
    this.#logged.moved(isUp ? count : 0, isUp ? 0 : count);
    if (count < bytes.length) {
      this.#endOfBudget(direction, bytes.subarray(0, count));
      return;
    }
    // The bytes of the server are in a buffer that is used again, so it is not read before they are written.
    this.#block(direction);
    to.write(bytes, () => this.#unblock(direction));
  }

  /** Nothing more is read. The connection ends when the last bytes were handed over. */
  #endOfBudget(direction: Direction, last: Buffer): void {
    for (const each of [this.#up, this.#down]) if (each) this.#block(each);
    const end = () => this.close("budget", usedUp(direction.budget, direction.isUp));
    if (last.length === 0) end();
    else direction.to.write(last, end);
  }

  #block(direction: Direction): void {
    direction.blocks++;
    direction.from.pause();
  }

  #unblock(direction: Direction): void {
    direction.blocks--;
    this.#resume(direction);
  }

  #resume(direction: Direction): void {
    if (direction.blocks === 0 && !this.#isOver) direction.from.resume();
  }

  /** One side sends nothing more, and what it sent is forwarded first. A paused socket can end, too. */
  #ended(side: "client" | "server", direction: Direction | null): void {
    if (this.#isOver) return;
    this.#firstEnd ??= side;
    const end = () => {
      if (!this.#isOver) direction?.to.end();
    };
    if (direction?.leasing) void direction.leasing.then(end);
    else if (direction) end();
    else if (this.#beforeConnection.length === 0) this.close(side);
  }

  /** A socket is closed. */
  #closed(): void {
    const [relay, server] = [this.#relay, this.#up?.to];
    if (this.#isOver) return;
    const isWhole = (socket: Socket | undefined) => socket?.readableEnded && socket.writableFinished;
    if (relay.closed && !isWhole(relay)) this.close("client");
    else if (server?.closed && !isWhole(server)) this.close("server");
    else if (relay.closed && server?.closed) this.close(this.#firstEnd ?? "client");
  }

  /** Nothing more is forwarded. @returns whether that is new. */
  #stop(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#awaitTimer);
    this.#abort.abort();
    const server = this.#up?.to;
    if (server && !server.closed) server.resetAndDestroy();
    this.#host.ended(this);
    return true;
  }

  /**
   * Ends the connection with a response that says why, for a program that speaks HTTP. A program that sends nothing gets no response, because some clients
   * take one that comes before their request for an error of the server.
   */
  #explain(reason: string): void {
    const hasRequest = this.#hasRead;
    if (!this.#stop()) return;
    const relay = this.#relay;
    if (relay.closed) return;
    if (!this.#isAnswered) this.#answer();
    const respond = () => relay.end(denialResponse(reason));
    if (hasRequest) respond();
    else relay.once("data", respond);
    relay.resume();
    const late = setTimeout(() => {
      this.#host.reset(this.#streamId);
      relay.destroy();
    }, this.#host.heldMs);
    relay.once("close", () => clearTimeout(late));
  }

  #over(delayMs: number): void {
    if (!this.#stop()) return;
    const relay = this.#relay;
    relay.resume(); // to notice its end
    if (relay.closed) return;
    const timers = [setTimeout(() => relay.destroy(), delayMs + RESET_MS)];
    relay.once("close", () => timers.forEach(clearTimeout));
    const refuse = () => relay.end(Buffer.of(ANSWER.refused));
    if (this.#isAnswered) this.#host.reset(this.#streamId);
    else if (delayMs === 0) refuse();
    else timers.push(setTimeout(refuse, delayMs));
  }
}

/** Why fewer bytes were reserved than wanted: those of the sandbox are used up, or those that it shares with others. */
function usedUp(budget: ByteBudget, isUp: boolean): string {
  const may = `may ${isUp ? "send" : "receive"}`;
  return budget.left > 0
    ? `the budget of bytes that the sandboxes of this project or account ${may} in a day is used up`
    : `the budget of bytes that this sandbox ${may} is used up`;
}

function noBudget(error: unknown): string {
  return `no bytes could be reserved: ${error instanceof Error ? error.message : error}`;
}
