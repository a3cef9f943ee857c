import type { FastifyReply, FastifyRequest } from "fastify";
import { network } from "../listener/network.ts";

/** Statuses of responses whose log lines are limited even if the client has a key or a session. */
const STATUSES: readonly number[] = [401, 403, 429];

/** Time between two lines about rejected requests from the same network. */
const LINE_MS = 1_000;
/** The most lines about rejected requests in a second, for all networks together. */
const LINES_PER_SECOND = 50;
/** The most networks that are kept in memory. Beyond this, the one with the oldest line is dropped. */
const MOST_NETWORKS = 10_000;

/** The client of a request. Without `caller` and `person`, it sent no valid key and no session, or was refused before these were read. */
type Visitor = Pick<FastifyRequest, "ip"> & Partial<Pick<FastifyRequest, "caller" | "person">>;

/**
 * Decides which rejected requests are logged. Each line has the address of the client, so that an attacker can be
 * found. Lines are limited by network and in total, so that an attacker cannot fill the disk. A line also counts the requests that
 * were not logged since the line before it.
 */
export class Refusals {
  readonly #networks = new Map<string, { atMs: number; unlogged: number }>();
  readonly #now: () => number;
  #second = { beganMs: 0, lines: 0 };
  /** Unlogged requests that no entry of #networks counts: those of dropped networks, and those above the total limit. */
  #unloggedElsewhere = 0;

  /** @param now milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @returns additional fields of the log line; null if the response is not logged. */
  logFields(request: Visitor, { statusCode }: Pick<FastifyReply, "statusCode">): object | null {
    const isUnknown = !request.caller && !request.person;
    if (!STATUSES.includes(statusCode) && !(isUnknown && statusCode >= 400)) return {};
    const nowMs = this.#now();
    const from = network(request.ip);
    const last = this.#networks.get(from);
    if ((last && nowMs - last.atMs < LINE_MS) || !this.#mayLog(nowMs)) {
      if (last) last.unlogged++;
      else this.#unloggedElsewhere++;
      return null;
    }
    this.#networks.delete(from);
    this.#networks.set(from, { atMs: nowMs, unlogged: 0 });
    this.#forget();
    const elsewhere = this.#unloggedElsewhere;
    this.#unloggedElsewhere = 0;
    return {
      address: request.ip,
      ...(last && last.unlogged > 0 && { unlogged: last.unlogged }),
      ...(elsewhere > 0 && { unloggedElsewhere: elsewhere }),
    };
  }

  #mayLog(nowMs: number): boolean {
    if (nowMs - this.#second.beganMs >= LINE_MS) this.#second = { beganMs: nowMs, lines: 0 };
    return this.#second.lines++ < LINES_PER_SECOND;
  }

  #forget(): void {
    if (this.#networks.size <= MOST_NETWORKS) return;
    const [oldest] = this.#networks;
    if (!oldest) return;
    this.#unloggedElsewhere += oldest[1].unlogged;
    this.#networks.delete(oldest[0]);
  }
}
