import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { LoadConnection } from "./connection.ts";
import type { LoadMix } from "./mixes.ts";

export interface LoadPlan {
  readonly ports: readonly number[];
  /** The authority of the service's certificate. */
  readonly ca: string;
  readonly keys: readonly string[];
  readonly code: string;
  readonly mix: LoadMix;
  /** A closed loop of clients with one open request each, or an open loop: arrivals per second that do not depend on responses. */
  readonly loop: { readonly clients: number } | { readonly perSecond: number; readonly connections: number };
  readonly warmSeconds: number;
  readonly seconds: number;
}

export interface LoadResult {
  /** How many submissions were accepted within the window; with the mixes `wait` and `poll`, how many were run and read back. */
  readonly done: number;
  /** How many requests got 503 within the window, because the queue was full. */
  readonly full: number;
  /** How often each other response or error occurred. */
  readonly wrong: Readonly<Record<string, number>>;
  /**
   * Milliseconds until submissions were accepted, for those that are counted in `done`; empty with the mix `wait`. In an open loop, times
   * begin at the scheduled time.
   */
  readonly submitMs: readonly number[];
  /** Milliseconds until the records of submissions were read; empty with the mix `submit`. */
  readonly endToEndMs: readonly number[];
  /** The largest delay of an open loop behind its schedule. If it is more than a few milliseconds, the generator itself was too slow. */
  readonly lateMs: number;
  readonly cpuMs: number;
  /** The length of the window. It is that of the plan, or longer if the first response comes later. */
  readonly seconds: number;
}

const POLL_MS = 10;
/** A window is not extended beyond this length. */
const MOST_SECONDS = 60;

class Load {
  readonly #plan: LoadPlan;
  readonly #body: Buffer;
  #counts = false;
  #isOver = false;
  #done = 0;
  #full = 0;
  #late = 0;
  readonly #wrong: Record<string, number> = {};
  readonly #submitMs: number[] = [];
  readonly #endToEndMs: number[] = [];

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    this.#body = Buffer.from(JSON.stringify({ language: "python", code: plan.code }));
  }

  async run(begun: () => void, over: (measured: LoadResult) => void): Promise<void> {
    const { loop, warmSeconds, seconds } = this.#plan;
    const amount = "clients" in loop ? loop.clients : loop.connections;
    const free = await Promise.all(Array.from({ length: amount }, (_, at) => this.#connect(at)));
    const start = performance.now();
    const end = start + (warmSeconds + seconds) * 1000;
    let cpu = process.cpuUsage();
    const window = sleep(warmSeconds * 1000).then(async () => {
      this.#counts = true;
      const since = performance.now();
      cpu = process.cpuUsage();
      begun();
      await sleep(seconds * 1000);
      // On a busy machine, a short window can end before the first response.
      while (!this.#hasAnswer && performance.now() < since + MOST_SECONDS * 1000) await sleep(POLL_MS);
      this.#counts = false;
      return (performance.now() - since) / 1000;
    });
    const working =
      "clients" in loop
        ? Promise.all(free.map((connection) => this.#closed(connection)))
        : this.#open(free, loop.perSecond, start, end);
    const measuredSeconds = await window;
    this.#isOver = true;
    const used = process.cpuUsage(cpu);
    // The results are passed on at once: while requests under way end, they would add CPU time, and are not counted themselves.
    over({
      ...{ done: this.#done, full: this.#full, wrong: this.#wrong, submitMs: this.#submitMs },
      ...{ endToEndMs: this.#endToEndMs, lateMs: this.#late, cpuMs: (used.user + used.system) / 1000 },
      seconds: measuredSeconds,
    });
    await working;
    for (const connection of free) connection.end();
  }

  #connect(at: number): Promise<LoadConnection> {
    const { ports, keys, ca } = this.#plan;
    const port = ports[at % ports.length] ?? 0;
    return LoadConnection.open(port, ca, keys[at % keys.length] ?? "");
  }

  get #hasAnswer(): boolean {
    return this.#done + this.#full + Object.keys(this.#wrong).length > 0;
  }

  async #closed(connection: LoadConnection): Promise<void> {
    while (!this.#isOver) await this.#one(connection, performance.now());
  }

  /** Sends requests at a fixed rate. A request that finds no free connection waits for one, and that wait counts. */
  async #open(free: LoadConnection[], perSecond: number, start: number, end: number): Promise<void> {
    const waiting: number[] = [];
    const under = new Set<Promise<void>>();
    const serve = () => {
      while (free.length > 0 && waiting.length > 0) {
        const connection = free.shift() as LoadConnection;
        const work = this.#one(connection, waiting.shift() as number).then(() => {
          under.delete(work);
          free.push(connection);
          serve();
        });
        under.add(work);
      }
    };
    for (let at = 0; ; at++) {
      const due = start + (at * 1000) / perSecond;
      if (due >= end) break;
      const early = due - performance.now();
      if (early > 0) await sleep(early);
      if (this.#counts) this.#late = Math.max(this.#late, performance.now() - due);
      waiting.push(due);
      serve();
    }
    waiting.length = 0;
    await Promise.all(under);
  }

  async #one(connection: LoadConnection, dueAt: number): Promise<void> {
    const { mix } = this.#plan;
    try {
      const path = mix === "wait" ? "/api/submit?wait=true" : "/api/submit";
      const accepted = await connection.ask("POST", path, this.#body);
      const submittedAt = performance.now();
      if (accepted.status === 503 && accepted.text.includes("queue")) {
        if (this.#counts) this.#full++;
        await sleep(POLL_MS); // without a pause, the client would only measure refusals
        return;
      }
      const text = mix === "poll" ? await this.#poll(connection, accepted) : accepted.text;
      const right = mix === "submit" ? accepted.status === 202 : text.includes('"verdict":"AC"');
      if (!right) throw new Error(`${accepted.status} ${text.slice(0, 200)}`);
      if (!this.#counts) return;
      this.#done++;
      if (mix !== "wait") this.#submitMs.push(submittedAt - dueAt);
      if (mix !== "submit") this.#endToEndMs.push(performance.now() - dueAt);
    } catch (error) {
      const message = (error as Error).message;
      this.#wrong[message] = (this.#wrong[message] ?? 0) + 1;
      await connection.again();
    }
  }

  async #poll(
    connection: LoadConnection,
    accepted: { readonly status: number; readonly text: string },
  ): Promise<string> {
    if (accepted.status !== 202) throw new Error(`${accepted.status} ${accepted.text.slice(0, 200)}`);
    const { id } = JSON.parse(accepted.text) as { id: string };
    for (;;) {
      const { status, text } = await connection.ask("GET", `/api/result/${id}`);
      if (status !== 200) throw new Error(`${status} ${text.slice(0, 200)}`);
      if (/"status":"(completed|error)"/.test(text)) return text;
      await sleep(POLL_MS);
    }
  }
}

// The generator is a process of its own, so that its CPU time is not counted for the service.
const send = process.send?.bind(process);
if (send) {
  process.once("disconnect", () => process.exit());
  process.once("message", async (plan) => {
    await new Load(plan as LoadPlan).run(
      () => send({ begun: true }),
      (measured) => send({ measured }),
    );
    process.disconnect();
  });
}
