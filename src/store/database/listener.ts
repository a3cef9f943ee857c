import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sql, type Transaction } from "kysely";
import pg from "pg";
import type { Listening, Notify } from "./database.ts";
import { isAboutOne, isTopic, type StoreNotification } from "./notifier.ts";
import type { Schema } from "./schema.ts";

const CHANNEL = "assay";
/** The interval of heartbeats on the connection. */
const HEARTBEAT_MS = 5_000;
/** The shortest and the longest pause between attempts to connect. Without a connection, listeners query after each attempt (`onGap`). */
const LEAST_PAUSE_MS = 100;
const MOST_PAUSE_MS = 5_000;

/** Notifications between the processes of one database. */
export function notifyBy(config: pg.ClientConfig): Notify {
  // The mark of this process, by which it ignores its own notifications: it has already delivered them.
  const mark = randomBytes(6).toString("hex");
  return {
    publish: (trx, notifications) => notify(trx, mark, notifications),
    listen: (onNotification, onGap) =>
      new Listener(config, (from, notification) => from !== mark && onNotification(notification), onGap),
  };
}

/** Sends notifications. A payload has a mark, a kind and possibly an id, which are far below the limit of 8,000 bytes. */
async function notify(
  trx: Transaction<Schema>,
  mark: string,
  notifications: readonly StoreNotification[],
): Promise<void> {
  if (notifications.length === 0) return;
  const payloads = notifications.map((notification) =>
    [mark, notification.kind, ...("id" in notification ? [notification.id] : [])].join(" "),
  );
  await sql`select pg_notify(${CHANNEL}, payload) from unnest(${payloads}::text[]) as payload`.execute(trx);
}

/**
 * A separate connection for notifications of other processes. Notifications arrive in order and
 * are not lost while the connection is alive, so a successful heartbeat proves that none was missed.
 * `onGap` is called at the loss of the connection, after each failed attempt, and after reconnecting.
 */
class Listener implements Listening {
  readonly #config: pg.ClientConfig;
  readonly #onNotification: (from: string, notification: StoreNotification) => void;
  readonly #onGap: () => void;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  constructor(
    config: pg.ClientConfig,
    onNotification: (from: string, notification: StoreNotification) => void,
    onGap: () => void,
  ) {
    this.#config = { ...config, application_name: "assay listener", query_timeout: HEARTBEAT_MS };
    this.#onNotification = onNotification;
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

  /** Listens until the connection is lost. @returns whether a connection was made. */
  async #listenOnce(): Promise<boolean> {
    const client = new pg.Client(this.#config);
    const lost = new AbortController();
    client.on("error", () => lost.abort());
    client.on("end", () => lost.abort());
    client.on("notification", ({ payload }) => this.#receive(payload ?? ""));
    let listened = false;
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      listened = true;
      this.#onGap();
      while (await this.#pause(HEARTBEAT_MS, lost.signal)) await client.query("select 1");
    } catch {
      // The kind of the error does not matter: the next attempt shows whether it persists.
    }
    // The end is awaited for one second at most, because a server that is lost does not close the connection.
    await Promise.race([client.end().catch(() => {}), sleep(1_000, undefined, { ref: false })]);
    return listened;
  }

  #receive(payload: string): void {
    const [from = "", kind = "", id] = payload.split(" ");
    if (isAboutOne(kind) && id) this.#onNotification(from, { kind, id });
    else if (isTopic(kind)) this.#onNotification(from, { kind });
  }

  /** Waits. @returns false if the wait ended early, because `also` was aborted or the listener is stopping. */
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
