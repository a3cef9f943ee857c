import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sql, type Transaction } from "kysely";
import pg from "pg";
import type { Listening, Notify } from "./engine.ts";
import type { Schema } from "./schema.ts";
import { isOfOne, isTopic, type Word } from "./wakeups.ts";

const CHANNEL = "assay";
/** How often a silent connection is asked whether it still is one. */
const HEARTBEAT_MS = 5_000;
/** Pauses between tries to connect; each is also the pause between looks without being told. */
const LEAST_PAUSE_MS = 100;
const MOST_PAUSE_MS = 5_000;

/** Word between the processes of one database. */
export function notifyBy(config: pg.ClientConfig): Notify {
  // What we said ourselves has been heard already.
  const mark = randomBytes(6).toString("hex");
  return {
    tell: (trx, words) => tell(trx, mark, words),
    listen: (onWord, onGap) => new Listener(config, (from, word) => from !== mark && onWord(word), onGap),
  };
}

/** A payload is a mark, a kind and at most an id, far below the 8,000 bytes that it may have. */
async function tell(trx: Transaction<Schema>, mark: string, words: readonly Word[]): Promise<void> {
  if (words.length === 0) return;
  const payloads = words.map((word) => [mark, word.kind, ...("id" in word ? [word.id] : [])].join(" "));
  await sql`select pg_notify(${CHANNEL}, payload) from unnest(${payloads}::text[]) as payload`.execute(trx);
}

/**
 * A connection of its own that hears what other processes say. Notifications come in order and
 * are not lost while the connection lives, so an answered heartbeat proves that nothing was missed.
 * When it is lost, `onGap` is called at once, after each failed try, and when there is a new one.
 */
class Listener implements Listening {
  readonly #config: pg.ClientConfig;
  readonly #onWord: (from: string, word: Word) => void;
  readonly #onGap: () => void;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  constructor(config: pg.ClientConfig, onWord: (from: string, word: Word) => void, onGap: () => void) {
    this.#config = { ...config, application_name: "assay listener", query_timeout: HEARTBEAT_MS };
    this.#onWord = onWord;
    this.#onGap = onGap;
    this.#ended = this.#keepConnected();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #keepConnected(): Promise<void> {
    let pauseMs = LEAST_PAUSE_MS;
    while (!this.#stopping.signal.aborted) {
      if (await this.#listenOnce()) pauseMs = LEAST_PAUSE_MS;
      if (this.#stopping.signal.aborted) return;
      this.#onGap();
      await this.#pause(pauseMs);
      pauseMs = Math.min(pauseMs * 2, MOST_PAUSE_MS);
    }
  }

  /** Listens until the connection is lost. @returns whether there was one. */
  async #listenOnce(): Promise<boolean> {
    const client = new pg.Client(this.#config);
    const lost = new AbortController();
    client.on("error", () => lost.abort());
    client.on("end", () => lost.abort());
    client.on("notification", ({ payload }) => this.#hear(payload ?? ""));
    let listened = false;
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      listened = true;
      this.#onGap();
      while (await this.#pause(HEARTBEAT_MS, lost.signal)) await client.query("select 1");
    } catch {
      // Whatever it was: the next try says whether it still is.
    }
    // Not awaited without a bound: a server that is gone does not say goodbye.
    await Promise.race([client.end().catch(() => {}), sleep(1_000, undefined, { ref: false })]);
    return listened;
  }

  #hear(payload: string): void {
    const [from = "", kind = "", id] = payload.split(" ");
    if (isOfOne(kind) && id) this.#onWord(from, { kind, id });
    else if (isTopic(kind)) this.#onWord(from, { kind });
  }

  /** @returns false when it ended early: `also` was aborted, or we are stopping. */
  async #pause(ms: number, also?: AbortSignal): Promise<boolean> {
    const signal = also ? AbortSignal.any([also, this.#stopping.signal]) : this.#stopping.signal;
    try {
      await sleep(ms, undefined, { signal });
      return true;
    } catch {
      return false;
    }
  }
}
