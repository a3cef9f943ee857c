import { AssayError } from "./error.ts";
import { type JudgementEvent, judgementEvents, type SubmissionEvent, submissionEvents } from "./events.ts";
import { type AssayOptions, isAccepted, pause, Timeout, Transport } from "./transport.ts";
import type {
  Accepted,
  Batch,
  BatchRequest,
  Health,
  Judged,
  Judgement,
  JudgementAccepted,
  JudgementRequest,
  Judgements,
  JudgementsQuery,
  JudgeRequest,
  LanguageDetails,
  Ready,
  SubmissionRecord,
  Submissions,
  SubmissionsQuery,
  SubmitRequest,
  Usage,
} from "./types.ts";

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface SubmitOptions extends CallOptions {
  /** A UUID. With the same key, a request runs once and a later one returns its record; by default a new one. */
  readonly idempotencyKey?: string;
}

export interface WaitOptions extends SubmitOptions {
  /** Deadline of the whole call; by default there is none. The run continues. */
  readonly timeoutMs?: number;
}

interface Ended {
  readonly id: string;
  readonly status: string;
}

/** A service that stops answers at once. */
const LEAST_BETWEEN_MS = 1_000;

/** A client of one service with one key. */
export class Assay {
  readonly #transport: Transport;

  constructor(options: AssayOptions) {
    this.#transport = new Transport(options);
  }

  /** Accepts a program without waiting for its end; for a known idempotency key, the current record. */
  async submit(request: SubmitRequest, options: SubmitOptions = {}): Promise<Accepted | SubmissionRecord> {
    return await this.#create("/api/submit", request, options, "false");
  }

  /** Runs a program and returns its final record. Repeats lost requests without running it twice. */
  async submitAndWait(request: SubmitRequest, options: WaitOptions = {}): Promise<SubmissionRecord> {
    return await this.#ended("/api/result", options, (given) => this.#create("/api/submit", request, given, "true"));
  }

  /** The current record. */
  async result(id: string, options: CallOptions = {}): Promise<SubmissionRecord> {
    return await this.#get(`/api/result/${encodeURIComponent(id)}`, options);
  }

  /** The final record of a submission. */
  async wait(id: string, options: Omit<WaitOptions, "idempotencyKey"> = {}): Promise<SubmissionRecord> {
    return await this.#ended("/api/result", options, (given) => this.#held("/api/result", id, given));
  }

  /** The bytes of stdout, also if they are not text. */
  async stdout(id: string, { signal }: CallOptions = {}): Promise<Uint8Array> {
    const path = `/api/result/${encodeURIComponent(id)}/stdout`;
    return await this.#transport.bytes({ method: "GET", path, signal, isRepeatable: true });
  }

  /** The bytes of stderr, also if they are not text. */
  async stderr(id: string, { signal }: CallOptions = {}): Promise<Uint8Array> {
    const path = `/api/result/${encodeURIComponent(id)}/stderr`;
    return await this.#transport.bytes({ method: "GET", path, signal, isRepeatable: true });
  }

  /** Memory and CPU time over the time of a run that has ended. */
  async usage(id: string, options: CallOptions = {}): Promise<Usage> {
    return await this.#get(`/api/result/${encodeURIComponent(id)}/usage`, options);
  }

  /** Follows a submission up to its end, and its output if it was submitted with `stream`. */
  events(id: string, { signal }: CallOptions = {}): AsyncGenerator<SubmissionEvent, void, undefined> {
    return submissionEvents(this.#transport, `/api/result/${encodeURIComponent(id)}/events`, signal);
  }

  /** @returns the final record. An ended submission does not change. */
  async cancel(id: string, options: CallOptions = {}): Promise<SubmissionRecord> {
    return await this.#post(`/api/result/${encodeURIComponent(id)}/cancel`, options, { isRepeatable: true });
  }

  /** A page of submissions, newest first. */
  async submissions(query: SubmissionsQuery = {}, options: CallOptions = {}): Promise<Submissions> {
    return await this.#get("/api/submissions", options, { ...query });
  }

  /** Submits up to 50 programs; each has an id or an error. Not repeated, as it has no idempotency key. */
  async batch(requests: BatchRequest, options: CallOptions = {}): Promise<Batch> {
    return await this.#post("/api/submissions/batch", options, { body: requests });
  }

  /** Judges a program on up to 50 cases. After 30 s, it fails with 408 and an id. Not repeated, as it has no idempotency key. */
  async judge(request: JudgeRequest, options: CallOptions = {}): Promise<Judged> {
    return await this.#post("/api/judge", options, { body: request });
  }

  /** Accepts a judgement without waiting for its end. */
  async createJudgement(request: JudgementRequest, options: SubmitOptions = {}): Promise<JudgementAccepted> {
    return await this.#create("/api/judgements", request, options, "false");
  }

  /** Judges a program and returns the ended judgement. Repeats lost requests without judging twice. */
  async judgeAndWait(request: JudgementRequest, options: WaitOptions = {}): Promise<Judgement> {
    return await this.#ended("/api/judgements", options, (given) =>
      this.#create("/api/judgements", request, given, "true"),
    );
  }

  /** The present state of a judgement. */
  async judgement(id: string, options: CallOptions = {}): Promise<Judgement> {
    return await this.#get(`/api/judgements/${encodeURIComponent(id)}`, options);
  }

  /** The judgement once it has ended. */
  async waitForJudgement(id: string, options: Omit<WaitOptions, "idempotencyKey"> = {}): Promise<Judgement> {
    return await this.#ended("/api/judgements", options, (given) => this.#held("/api/judgements", id, given));
  }

  /** Follows a judgement up to its end. */
  judgementEvents(id: string, { signal }: CallOptions = {}): AsyncGenerator<JudgementEvent, void, undefined> {
    return judgementEvents(this.#transport, `/api/judgements/${encodeURIComponent(id)}/events`, signal);
  }

  /** Ends a judgement and its runs. An ended one does not change. */
  async cancelJudgement(id: string, options: CallOptions = {}): Promise<Judgement> {
    return await this.#post(`/api/judgements/${encodeURIComponent(id)}/cancel`, options, { isRepeatable: true });
  }

  /** Judges the same program on the same tests again. Not repeated, as it has no idempotency key. */
  async rejudge(id: string, options: CallOptions = {}): Promise<JudgementAccepted> {
    return await this.#post(`/api/judgements/${encodeURIComponent(id)}/rejudge`, options, {});
  }

  /** A page of judgements, newest first. */
  async judgements(query: JudgementsQuery = {}, options: CallOptions = {}): Promise<Judgements> {
    return await this.#get("/api/judgements", options, { ...query });
  }

  /** Canonical names. */
  async languages(options: CallOptions = {}): Promise<string[]> {
    return await this.#get("/api/languages", options);
  }

  async languageDetails(options: CallOptions = {}): Promise<LanguageDetails> {
    return await this.#get("/api/languages/details", options);
  }

  /** The load of the service. */
  async health(options: CallOptions = {}): Promise<Health> {
    return await this.#get("/api/health", options);
  }

  /** @throws AssayError with status 503 at once, if the service is not ready. */
  async ready({ signal }: CallOptions = {}): Promise<Ready> {
    return await this.#transport.json({ method: "GET", path: "/api/health/ready", signal, isRepeatable: false });
  }

  async #get<T>(path: string, { signal }: CallOptions, query: Record<string, string | number> = {}): Promise<T> {
    return await this.#transport.json<T>({ method: "GET", path, query, signal, isRepeatable: true });
  }

  async #post<T>(path: string, { signal }: CallOptions, how: { body?: unknown; isRepeatable?: boolean }): Promise<T> {
    return await this.#transport.json<T>({ method: "POST", path, signal, isRepeatable: false, ...how });
  }

  async #create<T>(
    path: string,
    body: unknown,
    { signal, idempotencyKey = crypto.randomUUID() }: SubmitOptions,
    wait: "true" | "false",
  ): Promise<T> {
    const headers = { "Idempotency-Key": idempotencyKey };
    return await this.#transport.json<T>({
      ...{ method: "POST", path, query: { wait }, body, headers, signal, isRepeatable: true },
    });
  }

  async #held<T>(path: string, id: string, options: CallOptions): Promise<T> {
    return await this.#get(`${path}/${encodeURIComponent(id)}`, options, { wait: "true" });
  }

  /** Asks until it has ended. @param first the first request, which the service may hold. */
  async #ended<T extends Ended>(
    path: string,
    { timeoutMs, ...options }: WaitOptions,
    first: (options: SubmitOptions) => Promise<T | Ended>,
  ): Promise<T> {
    const deadline = timeoutMs === undefined ? undefined : new Timeout(timeoutMs, options.signal);
    const signal = deadline?.signal ?? options.signal;
    const given = signal ? { ...options, signal } : options;
    let id: string | null = null;
    try {
      for (let ask = first; ; ask = (options) => this.#held<T | Ended>(path, String(id), options)) {
        const began = performance.now();
        const now = await ask(given).catch(accepted);
        if (now.status === "completed" || now.status === "error") return now as T;
        id = now.id;
        await pause(LEAST_BETWEEN_MS - (performance.now() - began), signal);
      }
    } catch (cause) {
      if (!deadline?.isOver || options.signal?.aborted) throw cause;
      throw new AssayError({ code: "deadline", message: `it did not end within ${timeoutMs} ms`, id, cause });
    } finally {
      deadline?.clear();
    }
  }
}

/** @throws every error except that of a run that has not ended. */
function accepted(error: unknown): Ended {
  if (error instanceof AssayError && error.id !== null && isAccepted(error)) return { id: error.id, status: "pending" };
  throw error;
}
