import { ATTEMPT_TIMEOUT_MS, type Attempt, type Headers } from "../domain/delivery.ts";
import type { ForeignApis } from "../domain/foreign-api.ts";
import type { Sealer } from "../domain/sealer.ts";
import type { HostPort } from "../domain/transport.ts";
import type { DeliveryClaim } from "../store/deliveries/types.ts";
import type { Body } from "./body.ts";
import type { HttpResponse, PostTo } from "./post.ts";
import { sign } from "./sign.ts";
import { BlockedError, parseTarget } from "./target.ts";

export interface SendOptions {
  readonly sealer: Sealer;
  /** Receivers that may have any address. */
  readonly allowed: readonly HostPort[];
  /** Sends the requests: in a service, in threads of their own (threaded-post.ts). */
  readonly post: PostTo;
  /** What writes the bodies of callbacks (src/compat/apis.ts). */
  readonly foreignApis: ForeignApis;
  /** The header `user-agent`, such as `Assay/1.2.3`. */
  readonly userAgent: string;
  readonly timeoutMs?: number;
  readonly now?: () => number;
}

export interface Sent {
  readonly attempt: Attempt;
  /** `again`: another attempt may succeed. `never`: another attempt would fail in the same way. */
  readonly result: "delivered" | "again" | "never";
}

/**
 * Makes one attempt. It has a new timestamp and a new signature; the id of the message is the same in all attempts.
 * @param stop aborts the attempt, whose result is then unknown.
 * @throws only the reason of `stop`; all other errors are in the result.
 */
export async function send(claim: DeliveryClaim, body: Body, options: SendOptions, stop: AbortSignal): Promise<Sent> {
  const { now = Date.now, timeoutMs = ATTEMPT_TIMEOUT_MS } = options;
  const { endpoint, callbackUrl, messageId, accountId: owner } = claim;
  const atMs = now();
  const began = performance.now();
  let sentHeaders: Headers | null = null;
  const sent = (result: Sent["result"], seen: Seen): Sent => ({
    result,
    attempt: { atMs, latencyMs: Math.round(performance.now() - began), ...seen, sentHeaders },
  });
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(new Error(`no response within ${timeoutMs / 1000} s`)), timeoutMs);
  try {
    const target = parseTarget(callbackUrl ?? endpoint.url, options.allowed);
    const signed = await signatureOf(claim, { id: messageId, atMs, body, owner }, options.sealer);
    const length = body.reduce((sum, piece) => sum + piece.length, 0).toString();
    const headers = {
      "content-type": "application/json",
      "user-agent": options.userAgent,
      ...signed,
      "content-length": length,
    };
    sentHeaders = [["host", target.url.host], ...Object.entries(headers)];
    const signal = AbortSignal.any([time.signal, stop]);
    const method = callbackUrl === null ? "POST" : "PUT";
    const answer = await options.post({ method, target, headers, body }, { signal, accountId: owner });
    return sent(resultOf(answer.status), seenIn(answer));
  } catch (error) {
    if (stop.aborted) throw stop.reason;
    if (error instanceof BlockedError) sentHeaders = null;
    const seen = { status: null, error: words(error), answer: null, answerHeaders: null };
    return sent(error instanceof BlockedError ? "never" : "again", seen);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Signs the message. If that fails, nothing is sent. Another attempt may succeed, because it reads the secrets again, which may have been
 * resealed.
 */
async function signatureOf({ endpoint }: DeliveryClaim, message: Parameters<typeof sign>[0], sealer: Sealer) {
  try {
    const secrets = endpoint.secrets.map((secret) => sealer.open(endpoint.id, secret));
    return await sign(message, secrets, endpoint.signing);
  } catch (error) {
    throw new Error(`the message cannot be signed: ${words(error)}`);
  }
}

/** The result of a status. Redirects are not followed, and an error of the client (4xx) is expected to stay in another attempt. */
function resultOf(status: number): Sent["result"] {
  if (status >= 200 && status < 300) return "delivered";
  return status >= 500 ? "again" : "never";
}

/** What is known about the response. */
type Seen = Pick<Attempt, "status" | "error" | "answer" | "answerHeaders">;

function seenIn({ status, headers, begin, broken }: HttpResponse): Seen {
  const error = broken === null ? null : `the response was interrupted: ${words(broken)}`;
  return { status, error, answer: begin, answerHeaders: headers };
}

/**
 * The most characters of an error. A certificate can have thousands of names, and the error for a wrong name would repeat all of them in
 * the log and the database.
 */
const MAX_WORDS = 500;

const UNKNOWN_AUTHORITY = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);
const NAME_AUTHORITY = "if the receiver is yours, start the service with --webhook-ca FILE";

/** The text of an error. If the connection was tried with several addresses, it is the error of the first address. */
function words(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return words(error.errors[0]);
  if (!(error instanceof Error)) return String(error).slice(0, MAX_WORDS);
  const { code = "" } = error as NodeJS.ErrnoException;
  if (UNKNOWN_AUTHORITY.has(code)) return `the certificate is from no known authority (${code}): ${NAME_AUTHORITY}`;
  return (error.message || code || error.name).slice(0, MAX_WORDS);
}
