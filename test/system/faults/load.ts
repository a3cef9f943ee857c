import assert from "node:assert/strict";
import { Agent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { sendText, type TextAnswer } from "../../support/programs/product.ts";

/** The time within which a killed part answers again. */
const PATIENCE_MS = 240_000;
const AGAIN_MS = 50;
/** The pause after a refusal by the rate limit. Shorter pauses would take as much CPU time as all submissions. */
const AGAIN_AT_LIMIT_MS = 250;
const POLL_MS = 150;

/** A submission as its client sees it. */
interface Submitted {
  readonly key: string;
  /** All ids that were returned for its idempotency key. More than one is an error. */
  readonly ids: Set<string>;
}

/** An accepted request, with times measured by its client. */
interface Passed {
  readonly sentMs: number;
  readonly answeredMs: number;
}

interface Judged {
  readonly verdict: string;
  readonly runs: readonly { readonly verdict: string | null; readonly submission_id: string | null }[];
}

const JUDGED_TESTS = 6;

/** Every third judgement has a test that does not pass. */
function judgementOf(n: number): object {
  const tests = Array.from({ length: JUDGED_TESTS }, (_, at) => ({
    stdin: String(at),
    expected: n % 3 === 0 && at === 4 ? "wrong" : String(at + n),
  }));
  return { language: "python", code: `print(int(input()) + ${n})`, tests, stop: "never" };
}

/**
 * Clients with several keys that submit, wait, poll, and repeat a request if its response is lost. After one client has
 * seen the final record of a submission, all clients must see the same bytes.
 */
export class Load {
  readonly submitted = new Map<number, Submitted>();
  /** The final record as first seen, by id. */
  readonly ended = new Map<string, string>();
  readonly #endSeenMs = new Map<string, number>();
  /** Requests that passed the rate limit, by key. */
  readonly passed = new Map<string, Passed[]>();
  /** Ids by the number of the judgement. More than one is an error. */
  readonly judged = new Map<number, Set<string>>();
  readonly answers: Record<string, number> = {};
  readonly #ports: readonly number[];
  readonly #keys: Readonly<Record<string, string>>;
  readonly #sleepSecs: number;
  readonly #agent = new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 128 });
  #next = 0;
  #over = false;

  /**
   * @param first the number of its first submission: loads of one account must not share numbers.
   * @param sleepSecs the time that each program sleeps
   */
  constructor(
    ports: readonly number[],
    keys: Readonly<Record<string, string>>,
    { first = 0, sleepSecs = 0 }: { readonly first?: number; readonly sleepSecs?: number } = {},
  ) {
    this.#ports = ports;
    this.#keys = keys;
    this.#next = first;
    this.#sleepSecs = sleepSecs;
  }

  /** Submits until the load is over. @param polls false: results are read only by `settle`. */
  async client(key: string, { polls = true, pauseMs = 0 } = {}): Promise<void> {
    while (!this.#over) {
      const n = this.#next++;
      const { id } = await this.#submit(n, key, polls && n % 3 === 0);
      if (polls) {
        await this.#poll(key, id);
        // Long after its end, the same request still returns the same submission.
        if (n % 7 === 0) await this.#submit(n, key, n % 3 === 0);
      }
      await sleep(pauseMs);
    }
  }

  /** Judges programs until the load is over; each request is sent twice. */
  async judging(key: string): Promise<void> {
    for (let n = 0; !this.#over; n++) {
      const headers = { "idempotency-key": `00000000-0000-4000-9000-${String(n).padStart(12, "0")}` };
      const once = (at: number) => this.#insist(at, key, [202], "POST", "/api/judgements", judgementOf(n), headers);
      const answers = await Promise.all([once(n), once(n + 1)]);
      const ids = new Set(answers.map(({ text }) => (JSON.parse(text) as { id: string }).id));
      this.judged.set(n, ids);
      for (const id of ids) await this.#poll(key, id, "judgements");
    }
  }

  /** @throws if a judgement has another verdict than its tests, or an internal error without a lost run. */
  checkJudgements(): void {
    for (const [n, ids] of this.judged) {
      assert.equal(ids.size, 1, `judgement ${n}`);
      for (const id of ids) {
        const judgement = JSON.parse(this.ended.get(id) ?? "{}") as Judged;
        const { verdict, runs } = judgement;
        const lost = runs.some((run) => run.verdict === "IE");
        assert.equal(verdict, lost ? "IE" : n % 3 === 0 ? "WA" : "AC", JSON.stringify(judgement));
        const ended = runs.filter((run) => run.verdict !== null);
        assert.ok(lost || ended.length === JUDGED_TESTS, JSON.stringify(judgement));
        assert.equal(new Set(ended.map((run) => run.submission_id)).size, ended.length);
      }
    }
  }

  /** The body of submission `n`. */
  bodyOf(n: number): { language: string; code: string } {
    const sleeps = this.#sleepSecs > 0 ? `import time; time.sleep(${this.#sleepSecs}); ` : "";
    return { language: "python", code: `${sleeps}print(${n})` };
  }

  end(): void {
    this.#over = true;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Polls everything that was accepted until each submission has ended. */
  async settle(keyOf: (key: string) => string): Promise<void> {
    const all = [...this.submitted.values()];
    const next = async () => {
      for (let one = all.pop(); one; one = all.pop()) for (const id of one.ids) await this.#poll(keyOf(one.key), id);
    };
    await Promise.all(Array.from({ length: 8 }, next));
  }

  /** @throws if an accepted submission did not end, or ended with other output than its own. */
  checkOutputs(): void {
    for (const [n, { ids }] of this.submitted)
      for (const id of ids) {
        const record = JSON.parse(this.ended.get(id) ?? "{}") as { status: string; output: { stdout: string | null } };
        assert.equal(record.output.stdout, record.status === "completed" ? `${n}\n` : null, this.ended.get(id));
      }
  }

  async #submit(n: number, key: string, wait: boolean): Promise<{ id: string }> {
    const path = wait ? "/api/submit?wait=true" : "/api/submit";
    const body = this.bodyOf(n);
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
    // Some requests go to both services at once.
    const [answer = assert.fail()] = await Promise.all(n % 5 === 0 ? [once(n), once(n + 1)] : [once(n)]);
    return answer;
  }

  async #poll(key: string, id: string, what: "result" | "judgements" = "result"): Promise<void> {
    for (const deadline = performance.now() + PATIENCE_MS; ; await sleep(POLL_MS)) {
      const sentMs = performance.now();
      const { text } = await this.#insist(Math.floor(Math.random() * 2), key, [200], "GET", `/api/${what}/${id}`);
      if (this.#look(text, sentMs).over) return;
      assert.ok(performance.now() < deadline, `${id} does not end: ${text}`);
    }
  }

  /** Responses of concurrent requests may arrive in the opposite order. */
  #look(text: string, sentMs: number): { id: string; over: boolean } {
    const { id, status } = JSON.parse(text) as { id: string; status: string };
    const over = status === "completed" || status === "error";
    const before = this.ended.get(id);
    const seenMs = this.#endSeenMs.get(id) ?? 0;
    if (before !== undefined && (over || sentMs > seenMs)) assert.equal(text, before, "a final record changed");
    else if (over) {
      this.ended.set(id, text);
      this.#endSeenMs.set(id, performance.now());
    }
    return { id, over };
  }

  /** Sends the request to the services in turn until the status is one of `wanted`. Others must have a Retry-After header. */
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
      await sleep(answer?.status === 429 ? AGAIN_AT_LIMIT_MS : AGAIN_MS);
    }
    throw new Error(`no service answered ${request.slice(0, 2).join(" ")}`);
  }

  /** @returns undefined if the connection was lost or refused. */
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
