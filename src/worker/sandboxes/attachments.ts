import { setTimeout as sleep } from "node:timers/promises";
import { SandboxRefused } from "../../domain/sandboxes/sandbox.ts";
import type { SandboxNetwork } from "../../egress/egress-thread.ts";
import type { Budget, Release } from "../../fairness/budget.ts";
import { AttributedBox } from "./attributed-box.ts";
import type { AttachedBox, HeldBox } from "./engine.ts";
import type { Pace } from "./pace.ts";

/** The most connections to one sandbox: executions, requests for files, and those that wait for the next one. */
export const MAX_ATTACHED = 16;
/**
 * How many connections wait for the next execution, and for how long. A new connection costs a process of the launcher, and takes as long as
 * a short execution. After a time without so many executions at once, only FEW of them wait, and after a longer time none: every one is a
 * process.
 */
const MAX_IDLE = 8;
const FEW_IDLE = 2;
const [SHORTLY_MS, LONG_MS] = [2_000, 60_000];

export interface AttachmentsOptions {
  readonly box: HeldBox;
  /** Null: the sandbox has none. */
  readonly network: SandboxNetwork | null;
  readonly accountId: string;
  /** Connections of all sandboxes of the process, by account. */
  readonly machine: Budget;
  /**
   * The executions and requests for files of the account in this process, and how many it may have. Its executions in all processes together are
   * counted when one is stored (store/sandboxes/changes.ts).
   */
  readonly account: AccountUse;
  /** Closes connections of other sandboxes that wait. */
  readonly onFull: () => void;
}

/** What one account does in all of its sandboxes of this process. */
export interface AccountUse {
  running: number;
  most: number;
  /** Functions that each end a file program that only waits for a request, and say whether there was one. */
  readonly idle: Set<() => boolean>;
  /** Resolves when one of `running` has ended. */
  freed: PromiseWithResolvers<void>;
  /** File programs that were ended for their place, and may still run until this time of performance.now(). */
  freeingUntilMs: number;
  /** The output of all terminals of the account. */
  readonly terminals: Pace;
}

/** How long an execution waits for the place of a file program. */
const FREED_MS = 2_000;

function leave(account: AccountUse): void {
  account.running--;
  account.freed.resolve();
  account.freed = Promise.withResolvers();
}

/** Ends file programs that only wait for requests. @returns whether the account may have room for another execution now. */
async function freed(account: AccountUse): Promise<boolean> {
  const ended = [...account.idle].filter((end) => end());
  if (ended.length > 0) account.freeingUntilMs = performance.now() + FREED_MS;
  const leftMs = account.freeingUntilMs - performance.now();
  if (leftMs <= 0) return false;
  await Promise.race([account.freed.promise, sleep(leftMs, undefined, { ref: false })]);
  return true;
}

/** A connection that was taken for one execution or request for files. */
export interface Taken {
  readonly box: AttachedBox;
  /** Gives it back. @param isClean whether it can serve another step. */
  give(isClean: boolean): void;
}

interface Connection {
  readonly box: AttachedBox;
  readonly release: Release;
}

/** The connections to one sandbox. Every one of them counts for the sandbox, for its account and for the machine. */
export class Attachments {
  readonly #options: AttachmentsOptions;
  /** Those that wait; the one that was used last is at the end, and taken first. */
  readonly #idle: { readonly connection: Connection; readonly sinceMs: number }[] = [];
  #open = 0;
  #isClosed = false;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /**
   * Takes a connection, with a place among the executions of the account.
   * @throws SandboxRefused: executionsFull, sandboxQuota.
   */
  async take(): Promise<Taken> {
    const { account } = this.#options;
    while (account.running >= account.most)
      if (!(await freed(account))) throw new SandboxRefused("sandboxQuota", { what: "executions", most: account.most });
    account.running++;
    try {
      const one = await this.#connection();
      let isGiven = false;
      return {
        box: one.box,
        give: (isClean) => {
          if (isGiven) return;
          isGiven = true;
          leave(account);
          this.#giveBack(one, isClean);
        },
      };
    } catch (error) {
      leave(account);
      throw error;
    }
  }

  /** Closes the connections that wait, and those that are given back from now on. */
  close(): void {
    this.#isClosed = true;
    this.closeIdle();
  }

  /** Closes the connections that wait. */
  closeIdle(): void {
    for (const { connection } of this.#idle.splice(0)) this.#shut(connection);
  }

  /** Closes the connections that have waited for long. @param nowMs of performance.now(). */
  closeUnused(nowMs: number): void {
    const isUnused = ({ sinceMs }: { readonly sinceMs: number }, left: number) =>
      nowMs - sinceMs >= (left > FEW_IDLE ? SHORTLY_MS : LONG_MS);
    for (let [first] = this.#idle; first && isUnused(first, this.#idle.length); [first] = this.#idle) {
      this.#idle.shift();
      this.#shut(first.connection);
    }
  }

  async #connection(): Promise<Connection> {
    const waiting = this.#idle.pop()?.connection;
    if (waiting?.box.alive) return waiting;
    if (waiting) this.#shut(waiting);
    const { box, network, accountId, machine, onFull } = this.#options;
    if (this.#open >= MAX_ATTACHED) throw new SandboxRefused("executionsFull");
    let release = machine.take(accountId, 1);
    if (!release) {
      onFull();
      release = machine.take(accountId, 1);
    }
    if (!release) throw new SandboxRefused("executionsFull");
    this.#open++;
    try {
      const attached = await box.attach();
      return { box: network ? new AttributedBox(attached, network) : attached, release };
    } catch (error) {
      this.#open--;
      release();
      throw error;
    }
  }

  #giveBack(connection: Connection, isClean: boolean): void {
    const waits = isClean && connection.box.alive && !this.#isClosed && this.#idle.length < MAX_IDLE;
    if (waits) this.#idle.push({ connection, sinceMs: performance.now() });
    else this.#shut(connection);
  }

  #shut({ box, release }: Connection): void {
    this.#open--;
    release();
    box.close();
  }
}
