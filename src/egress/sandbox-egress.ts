import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { EgressHost, EgressRecord } from "../domain/egress/egress-record.ts";
import { type Decision, DNS_PORT, decide, EGRESS_BUDGETS, type VersionedPolicy } from "../domain/egress/policy.ts";
import { MinuteBudget } from "../fairness/minute-budget.ts";
import type { ByteBudget } from "./budget.ts";
import type { Dialed } from "./dial.ts";
import { answerQuery } from "./dns.ts";
import type { EgressLog, ExecutionNumber } from "./log.ts";
import { ControlConnection, QueryPace, serveDnsStream } from "./name-service.ts";
import { isNameAddress, SandboxNames } from "./names.ts";
import { ANSWER, MAX_STREAMS, type StreamHeader, textOf } from "./protocol.ts";
import { RelayedStream } from "./relayed-stream.ts";

/*
 * The network of one sandbox, as the worker sees it: its policy, names, budgets, log, and open connections.
 */

/**
 * How long the refusal of a connection takes above the bound on connections in a minute. Together with the bound on streams of the relay, this bounds the
 * work for a program that does nothing but connect.
 */
const FLOOD_DELAY_MS = 1_000;
/** How often the end of connections is looked for. */
const CLOSED_EACH_MS = 5;
/** What bounds the refusals of a sandbox whose policy no longer allows a network. */
const WITHOUT_NETWORK = {
  connections: EGRESS_BUDGETS.connections.default,
  connectionsPerMinute: EGRESS_BUDGETS.connectionsPerMinute.default,
};

export interface SandboxRegistration {
  /** 32 characters of A-Z a-z 0-9 _ -, random and secret: it is the only thing that tells sandboxes apart. */
  readonly token: string;
  readonly policy: VersionedPolicy;
  /** With the limits of the policy. They are closed with the sandbox. */
  readonly budgets: { readonly up: ByteBudget; readonly down: ByteBudget };
  readonly log: EgressLog;
  /** The execution whose cgroup has this id; null if there is none. A promise, if that is not known yet; it never rejects. */
  readonly executionOf: (cgroupId: bigint) => ExecutionNumber | Promise<ExecutionNumber>;
}

/** What a sandbox as a whole has reached. */
export type SandboxTotals = EgressLog["totals"] & {
  readonly policyVersion: number;
  readonly budgetLeft: EgressRecord["budget_left"];
};

export interface SandboxEgressOptions {
  readonly dial: (host: string, port: number, signal: AbortSignal) => Promise<Dialed>;
  readonly idleMs: number;
  /** How long bytes are held until they are checked. */
  readonly heldMs: number;
}

export class SandboxEgress {
  readonly names = new SandboxNames();
  readonly budgets: SandboxRegistration["budgets"];
  readonly heldMs: number;
  readonly #log: EgressLog;
  readonly #executionOf: SandboxRegistration["executionOf"];
  readonly #options: SandboxEgressOptions;
  readonly #removed: () => void;
  readonly #minute = new MinuteBudget();
  readonly #pace = new QueryPace();
  readonly #streams = new Set<RelayedStream>();
  readonly #sockets = new Set<Socket>();
  #policy: VersionedPolicy;
  #control: ControlConnection | null = null;
  /** Connections and queries of which the execution is not known yet. */
  readonly #unattributed = new Set<Promise<unknown>>();
  #isClosed = false;

  /** @param removed is called when it is unregistered. */
  constructor(registration: SandboxRegistration, options: SandboxEgressOptions, removed: () => void) {
    this.#policy = registration.policy;
    this.budgets = registration.budgets;
    this.#log = registration.log;
    this.#executionOf = registration.executionOf;
    this.#options = options;
    this.heldMs = options.heldMs;
    this.#removed = removed;
  }

  get policy(): VersionedPolicy {
    return this.#policy;
  }

  /** The record of an execution as of now; null: of everything whose execution is not known. */
  record(execution: ExecutionNumber): EgressRecord {
    const { up, down } = this.budgets;
    return this.#log.toRecord(execution, {
      policyVersion: this.#policy.version,
      budgetLeft: { up: up.left, down: down.left },
    });
  }

  /**
   * Replaces the policy at once, for everything that is decided from now on. Connections that the new policy does not allow are reset before this returns. What
   * was used of the budgets stays used.
   * @throws if the version is not higher than the one before.
   */
  replacePolicy(policy: VersionedPolicy): void {
    if (policy.version <= this.#policy.version)
      throw new Error(`version ${policy.version} of the policy does not follow ${this.#policy.version}`);
    this.#policy = policy;
    if (policy.network !== "none") {
      this.budgets.up.setLimit(policy.network.bytesUp);
      this.budgets.down.setLimit(policy.network.bytesDown);
    }
    for (const stream of [...this.#streams]) {
      const decision = decide(policy.network, stream.destination);
      if (!decision.isAllowed) stream.close("policy", decision.reason);
    }
  }

  /** The open connections. */
  get open(): number {
    return this.#streams.size;
  }

  /** What the sandbox as a whole has reached, as of now. The bytes are those of its budgets, with what earlier processes have used. */
  get totals(): SandboxTotals {
    const { up, down } = this.budgets;
    return {
      ...this.#log.totals,
      bytes_up: up.used,
      bytes_down: down.used,
      policyVersion: this.#policy.version,
      budgetLeft: { up: up.left, down: down.left },
    };
  }

  /** What was reached since the last call, by host. */
  takeHosts(): EgressHost[] {
    return this.#log.takeHosts();
  }

  /**
   * The record of an execution that has ended, which is then forgotten. What its processes still do belongs to the sandbox.
   * @param waitMs how long to wait at most until its open connections have closed.
   */
  async take(execution: number, waitMs: number): Promise<EgressRecord> {
    await Promise.all(this.#unattributed);
    for (const untilMs = performance.now() + waitMs; this.#log.hasOpen(execution) && performance.now() < untilMs; )
      await sleep(CLOSED_EACH_MS);
    const record = this.record(execution);
    this.#log.forget(execution);
    return record;
  }

  /** Ends all connections, and refuses new ones. @throws if what is left of leased bytes cannot be given back. */
  async unregister(): Promise<void> {
    this.#isClosed = true;
    this.#removed();
    this.#endStreams();
    this.#control?.close();
    await Promise.all([this.budgets.up.close(), this.budgets.down.close()]);
  }

  /** Takes over the control connection of the relay. */
  control(socket: Socket): void {
    if (this.#control !== null || this.#isClosed) {
      refuse(socket);
      return;
    }
    this.#control = new ControlConnection(
      socket,
      this.#pace,
      (message, cgroupId) => this.#answer(message, cgroupId),
      () => {
        this.#control = null;
        this.#endStreams();
      },
    );
  }

  /** Takes over a connection of the sandbox. */
  stream(socket: Socket, header: StreamHeader): void {
    if (this.#sockets.size >= MAX_STREAMS) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    if (this.#control === null || this.#isClosed) refuse(socket);
    else if (header.port === DNS_PORT)
      serveDnsStream(
        socket,
        header.cgroupId,
        this.#pace,
        (message, id) => this.#answer(message, id),
        this.#options.idleMs,
      );
    else this.#relay(socket, header);
  }

  /** Ends connections without a byte since a time on the clock of `performance.now()`. */
  closeIdle(sinceMs: number): void {
    const reason = `no bytes for ${Math.round(this.#options.idleMs / 1000)} s`;
    for (const stream of [...this.#streams]) stream.closeIdle(sinceMs, reason);
  }

  dial(host: string, port: number, signal: AbortSignal): Promise<Dialed> {
    return this.#options.dial(host, port, signal);
  }

  reset(streamId: bigint): void {
    this.#control?.reset(streamId);
  }

  ended(stream: RelayedStream): void {
    this.#streams.delete(stream);
  }

  /** Does something with the execution of a cgroup, at once if it is known. */
  #attribute(cgroupId: bigint, act: (execution: ExecutionNumber) => void): void {
    const execution = cgroupId === 0n ? null : this.#executionOf(cgroupId);
    if (!(execution instanceof Promise)) {
      act(execution);
      return;
    }
    const attributed = execution.then(act).finally(() => this.#unattributed.delete(attributed));
    this.#unattributed.add(attributed);
  }

  #relay(socket: Socket, header: StreamHeader): void {
    const fail = () => socket.destroy();
    socket.on("error", fail);
    this.#attribute(header.cgroupId, (execution) => {
      this.#begin(socket, header, execution);
      socket.off("error", fail); // the stream has a listener of its own
    });
  }

  #begin(socket: Socket, header: StreamHeader, execution: ExecutionNumber): void {
    const [name, address, port] = [this.names.nameOf(header.destination), textOf(header.destination), header.port];
    const logged = this.#log.connection({ execution, name, address, port });
    const destination = name === null ? { address, port } : { name, port };
    const full = this.#whyFull();
    const stream = new RelayedStream(socket, header, destination, this, logged);
    this.#streams.add(stream);
    if (this.#isClosed || this.#control === null) stream.close("sandbox");
    else if (full) stream.deny(full.reason, "connections", full.delayMs);
    else if (name === null && isNameAddress(address))
      stream.deny(`${address} stands for no name in this sandbox`, "policy");
    else stream.begin(this.#decide(destination));
    if (socket.closed) stream.close("client"); // while its execution was looked up
  }

  #decide(destination: RelayedStream["destination"]): Decision {
    return decide(this.#policy.network, destination);
  }

  /** Why no further connection is allowed now; null if one is. */
  #whyFull(): { readonly reason: string; readonly delayMs: number } | null {
    const { network } = this.#policy;
    const { connections, connectionsPerMinute } = network === "none" ? WITHOUT_NETWORK : network;
    if (this.#minute.take("", connectionsPerMinute) > 0)
      return { reason: `more than ${connectionsPerMinute} connections within a minute`, delayMs: FLOOD_DELAY_MS };
    if (this.#streams.size >= connections)
      return { reason: `more than ${connections} connections at the same time`, delayMs: 0 };
    return null;
  }

  #answer(message: Buffer, cgroupId: bigint): Buffer | null {
    const { response, outcome } = answerQuery(message, (name) => this.names.addressesOf(this.#policy.network, name));
    if (outcome.kind === "answered") this.#attribute(cgroupId, (execution) => this.#log.answeredName(execution));
    else if (outcome.kind === "refused") {
      const { name } = outcome;
      this.#attribute(cgroupId, (execution) => this.#log.refusedName(execution, name));
    }
    return response;
  }

  #endStreams(): void {
    for (const stream of [...this.#streams]) stream.close("sandbox");
    for (const socket of this.#sockets) socket.destroy();
  }
}

function refuse(socket: Socket): void {
  socket.on("error", () => socket.destroy());
  socket.resume();
  socket.end(Buffer.of(ANSWER.refused));
  socket.setTimeout(5_000, () => socket.destroy());
}
