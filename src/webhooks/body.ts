import { type ForeignApis, foreignApiOf } from "../domain/foreign-api.ts";
import { jsonPieces } from "../domain/json-pieces.ts";
import { toJudgementRecord } from "../domain/judgement-record.ts";
import { toLongRecord } from "../domain/record.ts";
import { EventLoopTurns } from "../fairness/turn.ts";
import type { DeliveryMessage } from "../store/deliveries/types.ts";

/** The bytes of a body, in pieces of at most 64 KiB. */
export type Body = readonly Buffer[];

/** Shared by all attempts of this process: in each iteration of the event loop, one piece of one body is encoded or signed. */
const eventLoop = new EventLoopTurns();

/**
 * Encodes the body of a message. It is identical in every attempt, because the record of an ended submission or judgement never changes.
 * Encoded at once, a record of 12.6 MB blocked the event loop for 130 ms.
 * @param owner the account. Accounts take turns on the event loop. @param apis write the bodies of callbacks.
 */
export async function bodyOf(message: DeliveryMessage, owner: string, apis: ForeignApis): Promise<Body> {
  if ("body" in message) return [message.body];
  const pieces: Buffer[] = [];
  for (const piece of jsonPieces(toJson(message, apis))) {
    pieces.push(Buffer.from(piece, "utf8"));
    await eventLoop.turn(owner);
  }
  return pieces;
}

/** The first bytes of the body of a message, for people. @returns `isCut`: whether the body is longer. */
export function beginOf(
  message: DeliveryMessage,
  most: number,
  apis: ForeignApis,
): { readonly begin: Buffer; readonly isCut: boolean } {
  const pieces: Buffer[] = [];
  let length = 0;
  for (const piece of "body" in message ? [message.body] : jsonPieces(toJson(message, apis))) {
    pieces.push(Buffer.from(piece));
    length += Buffer.byteLength(piece);
    if (length > most) break;
  }
  return { begin: Buffer.concat(pieces).subarray(0, most), isCut: length > most };
}

/**
 * For a submission, its record; for the callback of a submission, what the API of its client sends; for a judgement, an event that contains
 * its record.
 */
function toJson(message: Exclude<DeliveryMessage, { body: Buffer }>, apis: ForeignApis): unknown {
  if ("foreign" in message) return foreignApiOf(apis, message.foreign.api).callbackBody(message.foreign);
  if ("submission" in message) return toLongRecord(message.submission);
  const { judgement } = message;
  const timestamp = new Date(judgement.completedAtMs ?? 0).toISOString();
  return { type: "judgement.completed", timestamp, data: toJudgementRecord(judgement) };
}

/** The pieces of a body, at most one in each iteration of the event loop. @param owner the account, as for `bodyOf`. */
export async function* paced(body: Body, owner: string): AsyncGenerator<Buffer> {
  for (const [at, piece] of body.entries()) {
    if (at > 0) await eventLoop.turn(owner);
    yield piece;
  }
}
