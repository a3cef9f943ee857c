import { AssayError } from "./error.ts";
import { type JudgementEvent, judgementEvents, type SubmissionEvent, submissionEvents } from "./events.ts";
import { type CallOptions, SandboxCalls } from "./sandboxes.ts";
import { type AssayOptions, isAccepted, pause, Timeout, Transport } from "./transport.ts";
import type {
  Accepted,
  Batch,
  BatchRequest,
  Content,
  Health,
  Judged,
  Judgement,
  JudgementAccepted,
  JudgementRequest,
  Judgements,
  JudgementsQuery,
  JudgeRequest,
  LanguageDetails,
  LiveInputAccepted,
  Ready,
  Runs,
  Signal,
  SubmissionEgress,
  SubmissionRecord,
  Submissions,
  SubmissionsQuery,
  SubmitRequest,
  Usage,
} from "./types.ts";

export interface SubmitOptions extends CallOptions {
  /** A UUID; by default a new one. Of several requests with the same key, only the first starts a run; the others return that run. */
  readonly idempotencyKey?: string;
}

export interface WaitOptions extends SubmitOptions {
  /** How long the whole call may take; by default there is no limit. After this time, the call fails, and the run continues. */
  readonly timeoutMs?: number;
}

interface Ended {
  readonly id: string;
  readonly status: string;
}

/** The shortest time between two requests of a wait, because a service that is stopping does not hold them. */
const LEAST_BETWEEN_MS = 1_000;

/** A client of one service with one key. */
export class Assay extends SandboxCalls {
  readonly #transport: Transport;

  constructor(options: AssayOptions) {
    super();
    this.#transport = new Transport(options);
  }

  protected get transport(): Transport {
    return this.#transport;
  }

  /**
   * Submits a program without waiting for its end. If a submission was made before with the same idempotency key, returns its
   * current record.
   */
  async submit(request: SubmitRequest, options: SubmitOptions = {}): Promise<Accepted | SubmissionRecord> {
    return await this.#create("/api/submit", request, options, "false");
  }

  /** Runs a program and returns its final record. Repeats lost requests without running the program twice. */
  async submitAndWait(request: SubmitRequest, options: WaitOptions = {}): Promise<SubmissionRecord> {
    return await this.#ended("/api/result", options, (given) => this.#create("/api/submit", request, given, "true"));
  }

  /** @returns the current record of a submission. */
  async result(id: string, options: CallOptions = {}): Promise<SubmissionRecord> {
    return await this.#get(`/api/result/${encodeURIComponent(id)}`, options);
  }

  /** Waits for the end of a submission. @returns its final record. */
  async wait(id: string, options: Omit<WaitOptions, "idempotencyKey"> = {}): Promise<SubmissionRecord> {
    return await this.#ended("/api/result", options, (given) => this.#held("/api/result", id, given));
  }

  /** @returns the standard output of a submission, whose bytes need not be text. */
  async stdout(id: string, { signal }: CallOptions = {}): Promise<Uint8Array> {
    const path = `/api/result/${encodeURIComponent(id)}/stdout`;
    return await this.#transport.bytes({ method: "GET", path, signal, isRepeatable: true });
  }

  /** @returns the standard error of a submission, whose bytes need not be text. */
  async stderr(id: string, { signal }: CallOptions = {}): Promise<Uint8Array> {
    const path = `/api/result/${encodeURIComponent(id)}/stderr`;
    return await this.#transport.bytes({ method: "GET", path, signal, isRepeatable: true });
  }

  /** @returns what the compiler wrote for a program that it compiled, such as warnings; its bytes need not be text. */
  async compileOutput(id: string, { signal }: CallOptions = {}): Promise<Uint8Array> {
    const path = `/api/result/${encodeURIComponent(id)}/compile-output`;
    return await this.#transport.bytes({ method: "GET", path, signal, isRepeatable: true });
  }

  /** @returns how often the program of a submission ran, and the means of its runs. */
  async runs(id: string, options: CallOptions = {}): Promise<Runs> {
    return await this.#get(`/api/result/${encodeURIComponent(id)}/runs`, options);
  }

  /** @returns what a submission with a network may reach, and what it has reached. */
  async egress(id: string, options: CallOptions = {}): Promise<SubmissionEgress> {
    return await this.#get(`/api/result/${encodeURIComponent(id)}/egress`, options);
  }

  /** @returns the memory and CPU time of a submission that has ended, over the time of its run. */
  async usage(id: string, options: CallOptions = {}): Promise<Usage> {
    return await this.#get(`/api/result/${encodeURIComponent(id)}/usage`, options);
  }

  /** @returns the events of a submission up to its end, with its output if it was submitted with `stream`. */
  events(id: string, { signal }: CallOptions = {}): AsyncGenerator<SubmissionEvent, void, undefined> {
    return submissionEvents(this.#transport, `/api/result/${encodeURIComponent(id)}/events`, signal);
  }

  /**
   * Sends input to the program of a submission with `live_input`. This request is not repeated, because the program would get the input
   * twice.
   */
  async sendInput(id: string, input: Content, options: CallOptions = {}): Promise<LiveInputAccepted> {
    return await this.#post(`/api/result/${encodeURIComponent(id)}/input`, options, { body: { input } });
  }

  /** Ends the input of the program of a submission with `live_input`. */
  async endInput(id: string, options: CallOptions = {}): Promise<LiveInputAccepted> {
    return await this.#post(`/api/result/${encodeURIComponent(id)}/input/end`, options, { isRepeatable: true });
  }

  /** Sends a signal to the program of a submission with `live_input`. This request is not repeated. */
  async sendSignal(id: string, signal: Signal, options: CallOptions = {}): Promise<LiveInputAccepted> {
    return await this.#post(`/api/result/${encodeURIComponent(id)}/signal`, options, { body: { signal } });
  }

  /** Cancels a submission. One that has ended does not change. @returns its final record. */
  async cancel(id: string, options: CallOptions = {}): Promise<SubmissionRecord> {
    return await this.#post(`/api/result/${encodeURIComponent(id)}/cancel`, options, { isRepeatable: true });
  }

  /** @returns a page of submissions, newest first. */
  async submissions(query: SubmissionsQuery = {}, options: CallOptions = {}): Promise<Submissions> {
    return await this.#get("/api/submissions", options, { ...query });
  }

  /**
   * Submits up to 50 programs. This request is not repeated, because it has no idempotency key.
   * @returns an id or an error for each program.
   */
  async batch(requests: BatchRequest, options: CallOptions = {}): Promise<Batch> {
    return await this.#post("/api/submissions/batch", options, { body: requests });
  }

  /**
   * Judges a program on up to 50 cases. If the judgement takes longer than 30 s, the call fails with status 408 and the id of the
   * judgement, which continues. This request is not repeated, because it has no idempotency key.
   */
  async judge(request: JudgeRequest, options: CallOptions = {}): Promise<Judged> {
    return await this.#post("/api/judge", options, { body: request });
  }

  /**
   * Begins a judgement without waiting for its end. If a judgement was begun before with the same idempotency key, the result is
   * for that judgement.
   */
  async createJudgement(request: JudgementRequest, options: SubmitOptions = {}): Promise<JudgementAccepted> {
    return await this.#create("/api/judgements", request, options, "false");
  }

  /** Judges a program and returns the judgement when it has ended. Repeats lost requests without judging twice. */
  async judgeAndWait(request: JudgementRequest, options: WaitOptions = {}): Promise<Judgement> {
    return await this.#ended("/api/judgements", options, (given) =>
      this.#create("/api/judgements", request, given, "true"),
    );
  }

  /** @returns the current state of a judgement. */
  async judgement(id: string, options: CallOptions = {}): Promise<Judgement> {
    return await this.#get(`/api/judgements/${encodeURIComponent(id)}`, options);
  }

  /** Waits for the end of a judgement. @returns the judgement. */
  async waitForJudgement(id: string, options: Omit<WaitOptions, "idempotencyKey"> = {}): Promise<Judgement> {
    return await this.#ended("/api/judgements", options, (given) => this.#held("/api/judgements", id, given));
  }

  /** @returns the events of a judgement up to its end. */
  judgementEvents(id: string, { signal }: CallOptions = {}): AsyncGenerator<JudgementEvent, void, undefined> {
    return judgementEvents(this.#transport, `/api/judgements/${encodeURIComponent(id)}/events`, signal);
  }

  /** Cancels a judgement and its runs. One that has ended does not change. @returns the judgement. */
  async cancelJudgement(id: string, options: CallOptions = {}): Promise<Judgement> {
    return await this.#post(`/api/judgements/${encodeURIComponent(id)}/cancel`, options, { isRepeatable: true });
  }

  /**
   * Judges the program of a judgement on the same tests again, as a new judgement. This request is not repeated, because it has no
   * idempotency key.
   */
  async rejudge(id: string, options: CallOptions = {}): Promise<JudgementAccepted> {
    return await this.#post(`/api/judgements/${encodeURIComponent(id)}/rejudge`, options, {});
  }

  /** @returns a page of judgements, newest first. */
  async judgements(query: JudgementsQuery = {}, options: CallOptions = {}): Promise<Judgements> {
    return await this.#get("/api/judgements", options, { ...query });
  }

  /** @returns the canonical names of the languages that the service offers. */
  async languages(options: CallOptions = {}): Promise<string[]> {
    return await this.#get("/api/languages", options);
  }

  async languageDetails(options: CallOptions = {}): Promise<LanguageDetails> {
    return await this.#get("/api/languages/details", options);
  }

  /** @returns the load of the service. */
  async health(options: CallOptions = {}): Promise<Health> {
    return await this.#get("/api/health", options);
  }

  /** Checks whether the service is ready. @throws AssayError with status 503 if not, without repeating the request. */
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

  /**
   * Asks until a submission or judgement has ended.
   * @param path where it is read.
   * @param first sends the first request, which the service may hold.
   */
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

/** @returns the id of a run that has not ended, from the error that says so. @throws every other error. */
function accepted(error: unknown): Ended {
  if (error instanceof AssayError && error.id !== null && isAccepted(error)) return { id: error.id, status: "pending" };
  throw error;
}
