import assert from "node:assert/strict";
import { Agent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { sendText, type TextAnswer } from "../engine/engine.ts";

/** Whoever was killed answers again within this. */
const PATIENCE_MS = 240_000;
const AGAIN_MS = 50;
const POLL_MS = 150;

/** One submission as its client knows it. */
interface Submitted {
  readonly key: string;
  /** All ids that were ever answered for its idempotency key; more than one is a fault. */
  readonly ids: Set<string>;
}

/** A request that was let through, as far as its client can tell. */
interface Passed {
  readonly sentMs: number;
  readonly answeredMs: number;
}

/**
 * Clients with several keys that submit, wait, poll, and ask again whenever an answer is lost. What one of them once saw as
 * the end of a submission has to be, byte for byte, what all see from then on.
 */
export class Load {
  readonly submitted = new Map<number, Submitted>();
  /** By id: the record of its end, as it was first seen. */
  readonly ended = new Map<string, string>();
  readonly #endSeenMs = new Map<string, number>();
  /** By key. */
  readonly passed = new Map<string, Passed[]>();
  readonly answers: Record<string, number> = {};
  readonly #ports: readonly number[];
  readonly #keys: Readonly<Record<string, string>>;
  readonly #agent = new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 128 });
  #next = 0;
  #over = false;

  /** @param first the number of its first submission: no two loads of one account may have the same. */
  constructor(ports: readonly number[], keys: Readonly<Record<string, string>>, first = 0) {
    this.#ports = ports;
    this.#keys = keys;
    this.#next = first;
  }

  /** Submits until the load is over. @param polls false: its results are looked at when all is over. */
  async client(key: string, { polls = true, pauseMs = 0 } = {}): Promise<void> {
    while (!this.#over) {
      const n = this.#next++;
      const { id } = await this.#submit(n, key, polls && n % 3 === 0);
      if (polls) {
        await this.#poll(key, id);
        // Long after its end, too, the same request is the same submission.
        if (n % 7 === 0) await this.#submit(n, key, n % 3 === 0);
      }
      await sleep(pauseMs);
    }
  }

  end(): void {
    this.#over = true;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Asks for everything that was accepted, until each has ended. */
  async settle(keyOf: (key: string) => string): Promise<void> {
    const all = [...this.submitted.values()];
    const next = async () => {
      for (let one = all.pop(); one; one = all.pop()) for (const id of one.ids) await this.#poll(keyOf(one.key), id);
    };
    await Promise.all(Array.from({ length: 8 }, next));
  }

  /** @throws when one that was accepted did not end, or not with its own output. */
  checkOutputs(): void {
    for (const [n, { ids }] of this.submitted)
      for (const id of ids) {
        const record = JSON.parse(this.ended.get(id) ?? "{}") as { status: string; output: { stdout: string | null } };
        assert.equal(record.output.stdout, record.status === "completed" ? `${n}\n` : null, this.ended.get(id));
      }
  }

  async #submit(n: number, key: string, wait: boolean): Promise<{ id: string }> {
    const path = wait ? "/api/submit?wait=true" : "/api/submit";
    const body = { language: "python", code: `print(${n})` };
    const idempotency = { "idempotency-key": `00000000-0000-4000-8000-${String(n).padStart(12, "0")}` };
    const once = async (at: number) => {
      const sentMs = performance.now();
      const { text } = await this.#insist(at, key, [200, 202, 408], "POST", path, body, idempotency);
      const { id } = this.#look(text, sentMs);
      const known = this.submitted.get(n) ?? { key, ids: new Set() };
      this.submitted.set(n, known);
      known.ids.add(id);
      return { id };
    };
    // Some ask both services at the same instant.
    const [answer = assert.fail()] = await Promise.all(n % 5 === 0 ? [once(n), once(n + 1)] : [once(n)]);
    return answer;
  }

  async #poll(key: string, id: string): Promise<void> {
    for (const deadline = performance.now() + PATIENCE_MS; ; await sleep(POLL_MS)) {
      const sentMs = performance.now();
      const { text } = await this.#insist(Math.floor(Math.random() * 2), key, [200], "GET", `/api/result/${id}`);
      if (this.#look(text, sentMs).over) return;
      assert.ok(performance.now() < deadline, `${id} does not end: ${text}`);
    }
  }

  /** Of two requests at the same time, the one that was answered first may be heard of last. */
  #look(text: string, sentMs: number): { id: string; over: boolean } {
    const { id, status } = JSON.parse(text) as { id: string; status: string };
    const over = status === "completed" || status === "error";
    const before = this.ended.get(id);
    const seenMs = this.#endSeenMs.get(id) ?? 0;
    if (before !== undefined && (over || sentMs > seenMs))
      assert.equal(text, before, "a record that had ended changed");
    else if (over) {
      this.ended.set(id, text);
      this.#endSeenMs.set(id, performance.now());
    }
    return { id, over };
  }

  /** Asks, now here, now there, until somebody answers with a status that is wanted; the others say when to come again. */
  async #insist(
    first: number,
    key: string,
    wanted: readonly number[],
    ...request: [method: string, path: string, body?: unknown, headers?: Record<string, string>]
  ): Promise<TextAnswer> {
    const deadline = performance.now() + PATIENCE_MS;
    for (let tries = first; performance.now() < deadline; tries++) {
      const answer = await this.#ask(this.#ports[tries % this.#ports.length] ?? 0, key, request);
      if (answer && wanted.includes(answer.status)) return answer;
      if (answer) {
        assert.match(String(answer.status), /^(429|503)$/, answer.text);
        assert.match(answer.headers["retry-after"] ?? "", /^[1-9]\d*$/, answer.text);
      }
      await sleep(AGAIN_MS);
    }
    throw new Error(`nobody answered ${request.slice(0, 2).join(" ")}`);
  }

  /** @returns nothing when the connection was lost, or there was none. */
  async #ask(port: number, key: string, request: readonly unknown[]): Promise<TextAnswer | undefined> {
    const [method, path, body, headers] = request as [string, string, unknown, Record<string, string> | undefined];
    const sentMs = Date.now();
    try {
      const answer = await sendText(this.#agent, port, this.#keys[key] ?? "", method, path, body, headers);
      this.answers[answer.status] = (this.answers[answer.status] ?? 0) + 1;
      if (answer.status < 300 || answer.status === 408) {
        const all = this.passed.get(key) ?? [];
        this.passed.set(key, all);
        all.push({ sentMs, answeredMs: Date.now() });
      }
      return answer;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
      this.answers.lost = (this.answers.lost ?? 0) + 1;
      return undefined;
    }
  }
}
