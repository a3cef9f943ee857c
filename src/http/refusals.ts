import type { FastifyReply, FastifyRequest } from "fastify";
import { network } from "./network.ts";

/** Answers that an attacker gets: a bad key, no session, a foreign page, too many of something. */
const STATUSES: readonly number[] = [401, 403, 429];

/** A client that is refused has one line a second, and all clients together so many. */
const LINE_MS = 1_000;
const LINES_PER_SECOND = 50;
/** Networks that are remembered; the one whose line is oldest is forgotten for another. */
const MOST_NETWORKS = 10_000;

/**
 * Which refused requests are logged. Each line has the address of the client, so that an attacker can be found; but an
 * attacker must not be able to fill the disk, so of one network and in all there are so many lines, and a line says how many
 * requests before it have none.
 */
export class Refusals {
  readonly #networks = new Map<string, { atMs: number; unlogged: number }>();
  readonly #now: () => number;
  #second = { beganMs: 0, lines: 0 };
  /** Of networks that were forgotten, or for which there was no room. */
  #unloggedElsewhere = 0;

  /** @param now milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @returns what the line of this answer says in addition; null: it has no line. */
  noted(request: Pick<FastifyRequest, "ip">, { statusCode }: Pick<FastifyReply, "statusCode">): object | null {
    if (!STATUSES.includes(statusCode)) return {};
    const nowMs = this.#now();
    const from = network(request.ip);
    const last = this.#networks.get(from);
    if ((last && nowMs - last.atMs < LINE_MS) || !this.#room(nowMs)) {
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

  #room(nowMs: number): boolean {
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
