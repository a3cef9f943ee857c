import {
  type ConnectionEnd,
  type ConnectionRecord,
  type EgressHost,
  type EgressRecord,
  MAX_EGRESS_CONNECTIONS,
  MAX_EGRESS_NAMES,
} from "../domain/egress/egress-record.ts";
import type { Denial, StreamOutcome } from "../domain/egress/outcomes.ts";

/*
 * The log of what the executions of a sandbox reached over the network, or tried to. It is evidence for their records, and hostile programs write it: each
 * part of it is bounded, and what is above a bound is still counted. Besides the lists of executions, it has sums for the sandbox as a whole.
 */

/** The number of an execution; null if it is not known which execution made a connection. */
export type ExecutionNumber = number | null;

/** A connection at its beginning. */
export interface Attempt {
  readonly execution: ExecutionNumber;
  readonly name: string | null;
  readonly address: string | null;
  readonly port: number;
}

/** Is told what happens in a log, for metrics. */
export interface LogObserver {
  /** A connection has ended. */
  over(how: StreamOutcome): void;
  moved(bytesUp: number, bytesDown: number): void;
}

const NO_OBSERVER: LogObserver = { over: () => {}, moved: () => {} };

type Bytes = Pick<ConnectionRecord, "bytes_up" | "bytes_down">;

/** What is known of one execution. */
interface Entries extends Bytes {
  readonly connections: ConnectionRecord[];
  readonly open: Set<LoggedConnection>;
  readonly sums: Map<string, EgressHost>;
  readonly refusedNames: Map<string, number>;
  denied: number;
  answered: number;
  refused: number;
}

/** What is known of the sandbox as a whole. */
interface Whole extends Bytes {
  readonly open: Set<LoggedConnection>;
  /** Of the connections that have ended. */
  readonly hosts: Map<string, EgressHost>;
  /** What was not taken yet (`takeHosts`). */
  fresh: Map<string, EgressHost>;
  denied: number;
  answered: number;
  refused: number;
}

/** One connection in the log. Its numbers are those of now, also while it is open. */
export class LoggedConnection {
  #entries: Entries;
  readonly #whole: Whole;
  readonly #observer: LogObserver;
  #record: ConnectionRecord;
  #isListed: boolean;
  /** What the record of an execution that has ended has of it. */
  readonly #earlier: Bytes = { bytes_up: 0, bytes_down: 0 };
  /** What `takeHosts` has taken of it; null: nothing, not even that there is a connection. */
  #taken: Bytes | null = null;
  #isDialed = false;
  /** Whether it can no longer be denied: bytes were forwarded. */
  #isCertain = false;
  #isOver = false;

  constructor(entries: Entries, whole: Whole, observer: LogObserver, record: ConnectionRecord) {
    this.#entries = entries;
    this.#whole = whole;
    this.#observer = observer;
    this.#record = record;
    whole.open.add(this);
    this.#isListed = this.#list();
  }

  /** Continues in another list, with the bytes of from now on. */
  continueIn(entries: Entries): void {
    this.#entries = entries;
    this.#earlier.bytes_up += this.#record.bytes_up;
    this.#earlier.bytes_down += this.#record.bytes_down;
    this.#record = { ...this.#record, bytes_up: 0, bytes_down: 0 };
    this.#isListed = this.#list();
  }

  #list(): boolean {
    this.#entries.open.add(this);
    const isListed = this.#entries.connections.length < MAX_EGRESS_CONNECTIONS;
    if (isListed) this.#entries.connections.push(this.#record);
    return isListed;
  }

  allowed(rule: string): void {
    this.#record.rule = rule;
  }

  /** @param address the one to which it is connected, or was tried to connect. */
  dialed(address: string): void {
    this.#record.address = address;
    this.#isDialed = true;
  }

  moved(bytesUp: number, bytesDown: number): void {
    for (const bytes of [this.#record, this.#entries, this.#whole]) {
      bytes.bytes_up += bytesUp;
      bytes.bytes_down += bytesDown;
    }
    this.#isCertain ||= this.#isDialed;
    this.#observer.moved(bytesUp, bytesDown);
  }

  deny(reason: string, denial: Denial): void {
    if (this.#isOver) return;
    this.#record.decision = "denied";
    this.#record.rule = null;
    this.#entries.denied++;
    this.#whole.denied++;
    this.#over(null, reason);
    this.#observer.over(`denied_${denial}`);
  }

  end(how: ConnectionEnd, reason: string | null = null): void {
    if (this.#isOver) return;
    this.#over(how, reason);
    this.#observer.over(how);
  }

  /** As one connection of its host, with all of its bytes. */
  get host(): EgressHost {
    const { name, address, decision, bytes_up, bytes_down } = this.#record;
    return {
      name: name ?? address,
      decision,
      connections: 1,
      bytes_up: bytes_up + this.#earlier.bytes_up,
      bytes_down: bytes_down + this.#earlier.bytes_down,
    };
  }

  /** What came since the last call; null if nothing did, or if it is not certain yet that the connection is allowed. */
  takeFresh(): EgressHost | null {
    if (!this.#isOver && !this.#isCertain) return null;
    const all = this.host;
    const taken = this.#taken ?? { bytes_up: 0, bytes_down: 0 };
    const fresh = {
      ...all,
      connections: this.#taken === null ? 1 : 0,
      bytes_up: all.bytes_up - taken.bytes_up,
      bytes_down: all.bytes_down - taken.bytes_down,
    };
    this.#taken = all;
    return fresh.connections + fresh.bytes_up + fresh.bytes_down === 0 ? null : fresh;
  }

  #over(ended: ConnectionEnd | null, reason: string | null): void {
    this.#isOver = true;
    this.#entries.open.delete(this);
    this.#whole.open.delete(this);
    this.#record.ended = ended;
    this.#record.reason = reason;
    if (!this.#isListed) {
      const { name, address, decision, bytes_up, bytes_down } = this.#record;
      addToSums(this.#entries.sums, { name: name ?? address, decision, connections: 1, bytes_up, bytes_down });
    }
    addToSums(this.#whole.hosts, this.host);
    const fresh = this.takeFresh();
    if (fresh) addToSums(this.#whole.fresh, fresh);
  }
}

/** Adds to the sum of a name or address; beyond the most names, to that of all others. */
export function addToSums(sums: Map<string, EgressHost>, added: EgressHost): void {
  const { name, decision } = added;
  const isFull = sums.size >= MAX_EGRESS_NAMES || name === null;
  const sum = sums.get(`${decision} ${name}`) ?? addSum(sums, isFull ? null : name, decision);
  sum.connections += added.connections;
  sum.bytes_up += added.bytes_up;
  sum.bytes_down += added.bytes_down;
}

function addSum(sums: Map<string, EgressHost>, name: string | null, decision: EgressHost["decision"]): EgressHost {
  const key = name === null ? `${decision} others` : `${decision} ${name}`; // no name has a space
  const sum = sums.get(key) ?? { name, decision, connections: 0, bytes_up: 0, bytes_down: 0 };
  sums.set(key, sum);
  return sum;
}

/** The log of one sandbox. */
export class EgressLog {
  readonly #executions = new Map<ExecutionNumber, Entries>();
  readonly #whole: Whole = {
    open: new Set(),
    hosts: new Map(),
    fresh: new Map(),
    bytes_up: 0,
    bytes_down: 0,
    denied: 0,
    answered: 0,
    refused: 0,
  };
  readonly #now: () => number;
  readonly #observer: LogObserver;

  /** @param now milliseconds since 1970. */
  constructor(now: () => number = Date.now, observer: LogObserver = NO_OBSERVER) {
    this.#now = now;
    this.#observer = observer;
  }

  /** What the sandbox as a whole has reached, as of now. `hosts` has at most 1,000 names or addresses, and the rest without one. */
  get totals(): Pick<EgressRecord, "denied" | "dns"> & Bytes & { readonly hosts: readonly EgressHost[] } {
    const { hosts: ended, open, bytes_up, bytes_down, denied, answered, refused } = this.#whole;
    const hosts = new Map([...ended].map(([key, sum]) => [key, { ...sum }]));
    for (const connection of open) addToSums(hosts, connection.host);
    return { bytes_up, bytes_down, denied, dns: { answered, refused }, hosts: [...hosts.values()] };
  }

  /** What came since the last call, by name or address and decision, as in `totals`. */
  takeHosts(): EgressHost[] {
    const { fresh, open } = this.#whole;
    this.#whole.fresh = new Map();
    for (const connection of open) {
      const part = connection.takeFresh();
      if (part) addToSums(fresh, part);
    }
    return [...fresh.values()];
  }

  /** Adds a connection, which is allowed until it is denied. */
  connection({ execution, name, address, port }: Attempt): LoggedConnection {
    return new LoggedConnection(this.#of(execution), this.#whole, this.#observer, {
      at: new Date(this.#now()).toISOString(),
      name,
      address,
      port,
      decision: "allowed",
      rule: null,
      reason: null,
      bytes_up: 0,
      bytes_down: 0,
      ended: null,
    });
  }

  answeredName(execution: ExecutionNumber): void {
    this.#of(execution).answered++;
    this.#whole.answered++;
  }

  /** @param name printable, of bounded length. */
  refusedName(execution: ExecutionNumber, name: string): void {
    const entries = this.#of(execution);
    entries.refused++;
    this.#whole.refused++;
    const queries = entries.refusedNames.get(name);
    if (queries !== undefined || entries.refusedNames.size < MAX_EGRESS_NAMES)
      entries.refusedNames.set(name, (queries ?? 0) + 1);
  }

  /**
   * The record of an execution as of now.
   * @param execution null: everything of which the execution is not known.
   */
  toRecord(
    execution: ExecutionNumber,
    { policyVersion, budgetLeft }: { readonly policyVersion: number; readonly budgetLeft: EgressRecord["budget_left"] },
  ): EgressRecord {
    const entries = this.#executions.get(execution) ?? noEntries();
    const { bytes_up, bytes_down, connections, sums, denied, refusedNames, answered, refused } = entries;
    return {
      policy_version: policyVersion,
      bytes_up,
      bytes_down,
      budget_left: { ...budgetLeft },
      connections: connections.map((connection) => ({ ...connection })),
      more: [...sums.values()].map((sum) => ({ ...sum })),
      denied,
      refused_names: [...refusedNames].map(([name, queries]) => ({ name, queries })),
      dns: { answered, refused },
      complete: true,
      source: execution === null ? "sandbox" : "inet_diag cgroup id",
    };
  }

  /** Whether an execution has connections that are open. */
  hasOpen(execution: ExecutionNumber): boolean {
    return (this.#executions.get(execution)?.open.size ?? 0) > 0;
  }

  /**
   * Frees the memory of an execution whose record is complete. What its processes do afterwards, in the background, belongs to the sandbox: so do connections
   * that are still open, with only their further bytes.
   */
  forget(execution: number): void {
    const open = this.#executions.get(execution)?.open ?? [];
    this.#executions.delete(execution);
    for (const connection of open) connection.continueIn(this.#of(null));
  }

  #of(execution: ExecutionNumber): Entries {
    const entries = this.#executions.get(execution) ?? noEntries();
    this.#executions.set(execution, entries);
    return entries;
  }
}

function noEntries(): Entries {
  return {
    connections: [],
    open: new Set(),
    sums: new Map(),
    refusedNames: new Map(),
    bytes_up: 0,
    bytes_down: 0,
    denied: 0,
    answered: 0,
    refused: 0,
  };
}
