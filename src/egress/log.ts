import type { ConnectionEnd, ConnectionRecord, EgressRecord } from "../domain/egress/egress-record.ts";

/*
 * The log of what the executions of a sandbox reached over the network, or tried to. It is evidence for their records, and hostile programs write it: each
 * part of it is bounded, and what is above a bound is still counted.
 */

const MAX_CONNECTIONS = 1_000;
/** The names with a sum of their own, and refused names. */
const MAX_NAMES = 1_000;

/** The number of an execution; null if it is not known which execution made a connection. */
export type ExecutionNumber = number | null;

/** A connection at its beginning. */
export interface Attempt {
  readonly execution: ExecutionNumber;
  readonly name: string | null;
  readonly address: string | null;
  readonly port: number;
}

type Bytes = Pick<ConnectionRecord, "bytes_up" | "bytes_down">;
type Sum = EgressRecord["more"][number];

/** What is known of one execution. */
interface Entries extends Bytes {
  readonly connections: ConnectionRecord[];
  readonly open: Set<LoggedConnection>;
  readonly sums: Map<string, Sum>;
  readonly refusedNames: Map<string, number>;
  denied: number;
  answered: number;
  refused: number;
}

/** One connection in the log. Its numbers are those of now, also while it is open. */
export class LoggedConnection {
  #entries: Entries;
  #record: ConnectionRecord;
  #isListed: boolean;
  #isOver = false;

  constructor(entries: Entries, record: ConnectionRecord) {
    this.#entries = entries;
    this.#record = record;
    this.#isListed = this.#list();
  }

  /** Continues in another list, with the bytes of from now on. */
  continueIn(entries: Entries): void {
    this.#entries = entries;
    this.#record = { ...this.#record, bytes_up: 0, bytes_down: 0 };
    this.#isListed = this.#list();
  }

  #list(): boolean {
    this.#entries.open.add(this);
    const isListed = this.#entries.connections.length < MAX_CONNECTIONS;
    if (isListed) this.#entries.connections.push(this.#record);
    return isListed;
  }

  allowed(rule: string): void {
    this.#record.rule = rule;
  }

  /** @param address the one to which it is connected, or was tried to connect. */
  dialed(address: string): void {
    this.#record.address = address;
  }

  moved(bytesUp: number, bytesDown: number): void {
    for (const bytes of [this.#record, this.#entries]) {
      bytes.bytes_up += bytesUp;
      bytes.bytes_down += bytesDown;
    }
  }

  deny(reason: string): void {
    if (this.#isOver) return;
    this.#record.decision = "denied";
    this.#record.rule = null;
    this.#entries.denied++;
    this.#over(null, reason);
  }

  end(how: ConnectionEnd, reason: string | null = null): void {
    if (!this.#isOver) this.#over(how, reason);
  }

  #over(ended: ConnectionEnd | null, reason: string | null): void {
    this.#isOver = true;
    this.#entries.open.delete(this);
    this.#record.ended = ended;
    this.#record.reason = reason;
    if (!this.#isListed) addToSums(this.#entries.sums, this.#record);
  }
}

function addToSums(sums: Map<string, Sum>, { name, address, decision, bytes_up, bytes_down }: ConnectionRecord): void {
  const of = name ?? address;
  const key = `${decision} ${of}`;
  const sum = sums.get(key) ?? addSum(sums, sums.size < MAX_NAMES ? of : null, decision);
  sum.connections++;
  sum.bytes_up += bytes_up;
  sum.bytes_down += bytes_down;
}

function addSum(sums: Map<string, Sum>, name: string | null, decision: Sum["decision"]): Sum {
  const key = name === null ? `${decision} others` : `${decision} ${name}`; // no name has a space
  const sum = sums.get(key) ?? { name, decision, connections: 0, bytes_up: 0, bytes_down: 0 };
  sums.set(key, sum);
  return sum;
}

/** The log of one sandbox. */
export class EgressLog {
  readonly #executions = new Map<ExecutionNumber, Entries>();
  readonly #now: () => number;

  /** @param now milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Adds a connection, which is allowed until it is denied. */
  connection({ execution, name, address, port }: Attempt): LoggedConnection {
    return new LoggedConnection(this.#of(execution), {
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
  }

  /** @param name printable, of bounded length. */
  refusedName(execution: ExecutionNumber, name: string): void {
    const entries = this.#of(execution);
    entries.refused++;
    const queries = entries.refusedNames.get(name);
    if (queries !== undefined || entries.refusedNames.size < MAX_NAMES)
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
      source: execution === null ? "sandbox" : "inet_diag cgroup id",
    };
  }

  /**
   * Frees the memory of an execution whose record is stored. What its processes do afterwards, in the background, begins a new list, with the connections
   * that are still open and only their further bytes.
   */
  forget(execution: ExecutionNumber): void {
    const open = this.#executions.get(execution)?.open ?? [];
    this.#executions.delete(execution);
    for (const connection of open) connection.continueIn(this.#of(execution));
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
