import type { Judgement, SubmissionRecord } from "./types.ts";

export interface SignedMessage {
  /** The body that was received, not parsed and serialised again. */
  readonly body: string | Uint8Array;
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface Verification {
  /** The secret of the endpoint (`whsec_…`), or several secrets, one of which must have signed the message. */
  readonly secret: string | readonly string[];
  /** `raw` if the endpoint was created with `--signing raw`; by default `standard`. */
  readonly signing?: "standard" | "raw";
  /** How many seconds the time of the message may differ from the clock of this machine; by default 300. */
  readonly toleranceSecs?: number;
}

/** A verified message. `id` is the same in every attempt to deliver the message, so it identifies duplicates. */
export type WebhookMessage =
  | { readonly type: "submission"; readonly id: string; readonly record: SubmissionRecord }
  | { readonly type: "judgement"; readonly id: string; readonly judgement: Judgement };

/** The message lacks a header, has no valid signature, or its time is not within the tolerance. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

const PREFIX = "whsec_";

/**
 * Verifies a message of the service by its signature and time.
 * @throws WebhookError if the message is not valid, and TypeError if a secret is malformed.
 */
export async function verifyWebhook(message: SignedMessage, how: Verification): Promise<WebhookMessage> {
  const { secret, signing = "standard", toleranceSecs = 300 } = how;
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    read(message.headers, name),
  ) as [string, string, string];
  const age = Date.now() / 1000 - Number(timestamp);
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(age) > toleranceSecs)
    throw new WebhookError("the time of the message is not within the tolerance");
  const body = typeof message.body === "string" ? new TextEncoder().encode(message.body) : message.body;
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  if (!(await isSigned(signed, signatures, [secret].flat(), signing)))
    throw new WebhookError("no signature of the message is valid");
  const value = JSON.parse(new TextDecoder().decode(body));
  if (value.type === "judgement.completed") return { type: "judgement", id, judgement: value.data };
  return { type: "submission", id, record: value };
}

async function isSigned(
  signed: Uint8Array<ArrayBuffer>,
  signatures: string,
  secrets: readonly string[],
  signing: "standard" | "raw",
): Promise<boolean> {
  const given = signatures.split(" ").flatMap((one) => (one.startsWith("v1,") ? (decode(one.slice(3)) ?? []) : []));
  let valid = false;
  for (const secret of secrets) {
    const bytes = keyOf(secret, signing);
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    // `verify` compares in constant time.
    for (const signature of given) valid = (await crypto.subtle.verify("HMAC", key, signature, signed)) || valid;
  }
  return valid;
}

function keyOf(secret: string, signing: "standard" | "raw"): Uint8Array<ArrayBuffer> {
  const key =
    signing === "raw"
      ? new TextEncoder().encode(secret)
      : secret.startsWith(PREFIX) && decode(secret.slice(PREFIX.length));
  // An empty key is refused, because anyone could sign with it.
  if (!key || key.length === 0) throw new TypeError("the secret is not whsec_ followed by base64");
  return key;
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined; // not base64
  }
}

function concat(head: Uint8Array, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(head.length + body.length);
  all.set(head);
  all.set(body, head.length);
  return all;
}

function read(headers: SignedMessage["headers"], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value !== "string") throw new WebhookError(`the message has no header ${name}`);
  return value;
}
