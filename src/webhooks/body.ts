import { jsonPieces } from "../domain/json-pieces.ts";
import { Pace } from "../domain/pace.ts";
import { toLongRecord } from "../domain/record.ts";
import type { Message } from "../store/port.ts";

/** The bytes of a body, in pieces of at most 64 KiB. */
export type Body = readonly Buffer[];

/** Of all attempts of this process: of however many bodies are made or signed, one piece in each turn of the event loop. */
const pace = new Pace();

/**
 * The same bytes for every attempt, because a terminal record never changes. A record of 12.6 MB took the event loop 130 ms
 * when it was made at once.
 * @param owner whose turn it is.
 */
export async function bodyOf(message: Message, owner: string): Promise<Body> {
  if ("body" in message) return [message.body];
  const pieces: Buffer[] = [];
  for (const piece of jsonPieces(toLongRecord(message.submission))) {
    pieces.push(Buffer.from(piece, "utf8"));
    await pace.turn(owner);
  }
  return pieces;
}

/** The pieces of a body, one in each turn of the event loop. */
export async function* paced(body: Body, owner: string): AsyncGenerator<Buffer> {
  for (const [at, piece] of body.entries()) {
    if (at > 0) await pace.turn(owner);
    yield piece;
  }
}
