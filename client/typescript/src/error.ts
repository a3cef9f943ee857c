/** Why a call failed: the response was an error, there was no complete response, or the deadline of the caller has passed. */
export type FailureCode = "response" | "connection" | "deadline";

interface Failure {
  readonly code: FailureCode;
  readonly message: string;
  readonly status?: number;
  readonly requestId?: string | null;
  readonly retryAfterSecs?: number | null;
  readonly id?: string | null;
  readonly cause?: unknown;
}

/** The exception of every failed call. A call that is aborted by a signal of the caller throws the reason of the signal instead. */
export class AssayError extends Error {
  readonly code: FailureCode;
  /** The status of the response; 0 if there was none. */
  readonly status: number;
  /** The id of the request in the log of the service; null if there was no response of the service. */
  readonly requestId: string | null;
  /** The seconds of the header Retry-After; null if the response had none. */
  readonly retryAfterSecs: number | null;
  /**
   * With status 408 or the code `deadline`: the id of the submission or judgement, which continues; null if the service has not
   * accepted one.
   */
  readonly id: string | null;

  constructor({ code, message, status = 0, requestId = null, retryAfterSecs = null, id = null, cause }: Failure) {
    super(message, { cause });
    this.name = "AssayError";
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfterSecs = retryAfterSecs;
    this.id = id;
  }
}

/** Reads an error response; its body may be that of a proxy. */
export async function errorOf(response: Response): Promise<AssayError> {
  const text = await response.text();
  const { error, message, id } = (parse(text) ?? {}) as Readonly<Record<string, unknown>>;
  const words = [error, message].filter((one) => typeof one === "string").join(": ");
  return new AssayError({
    code: "response",
    status: response.status,
    message: `${response.status}: ${words || text.slice(0, 200) || "no text"}`,
    requestId: response.headers.get("x-request-id"),
    retryAfterSecs: readRetryAfter(response.headers.get("retry-after"), Date.now()),
    id: typeof id === "string" ? id : null,
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the body is not JSON, so it is not from the service
  }
}

/** @returns the seconds to wait, from a header with seconds or with an HTTP date; null if it has neither. */
export function readRetryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, (at - nowMs) / 1000);
}
