import { jsonPieces } from "../domain/json-pieces.ts";
import { DEFAULT_FIELDS, judge0Answer } from "../domain/judge0/fields.ts";
import { toJudgementRecord } from "../domain/judgement-record.ts";
import { toLongRecord } from "../domain/record.ts";
import { EventLoopTurns } from "../fairness/turn.ts";
import type { Message } from "../store/deliveries/types.ts";

/** The bytes of a body, in pieces of at most 64 KiB. */
export type Body = readonly Buffer[];

/** Shared by all attempts of this process: one piece of any body is encoded or signed per iteration of the event loop. */
const eventLoop = new EventLoopTurns();

/**
 * Encodes the body, which is identical in every attempt, because a terminal record never changes. Encoded at once, a record
 * of 12.6 MB blocked the event loop for 130 ms.
 * @param owner the account whose turns it uses.
 */
export async function bodyOf(message: Message, owner: string): Promise<Body> {
  if ("body" in message) return [message.body];
  const pieces: Buffer[] = [];
  for (const piece of jsonPieces(toJson(message))) {
    pieces.push(Buffer.from(piece, "utf8"));
    await eventLoop.turn(owner);
  }
  return pieces;
}

/** The first bytes of the body, for people. @returns `isCut`: whether there are more. */
export function beginOf(message: Message, most: number): { readonly begin: Buffer; readonly isCut: boolean } {
  const pieces: Buffer[] = [];
  let length = 0;
  for (const piece of "body" in message ? [message.body] : jsonPieces(toJson(message))) {
    pieces.push(Buffer.from(piece));
    length += Buffer.byteLength(piece);
    if (length > most) break;
  }
  return { begin: Buffer.concat(pieces).subarray(0, most), isCut: length > most };
}

/** The form of a callback, as Judge0 sends it. */
const CALLBACK = { fields: DEFAULT_FIELDS, base64: true, languageName: String };

/** The record of a submission, or the answer to its Judge0 client; for a judgement, an event with its record. */
function toJson(message: Exclude<Message, { body: Buffer }>): unknown {
  if ("judge0" in message) return judge0Answer(message.judge0, CALLBACK);
  if ("submission" in message) return toLongRecord(message.submission);
  const { judgement } = message;
  const timestamp = new Date(judgement.completedAtMs ?? 0).toISOString();
  return { type: "judgement.completed", timestamp, data: toJudgementRecord(judgement) };
}

/** The pieces of a body, one per iteration of the event loop. */
export async function* paced(body: Body, owner: string): AsyncGenerator<Buffer> {
  for (const [at, piece] of body.entries()) {
    if (at > 0) await eventLoop.turn(owner);
    yield piece;
  }
}
