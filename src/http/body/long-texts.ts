import { clientError } from "../../domain/error.ts";

/** Characters of texts in one piece: a message of 60 MB holds the event loop for some 50 ms of CPU time, and one of a piece for 1 ms. */
export const PIECE = 1_048_576;
/** Shorter texts stay in the value: those of as many values as a body can have are 8 MB. */
const SHORT = 1_024;
/** The most bytes of all names of fields, which stay in the value. No valid body has nearly as many. */
const MOST_NAMES = 1_048_576;

/** The next part of some long texts. */
export type Piece = readonly { readonly path: readonly string[]; readonly text: string }[];

/**
 * Takes the long texts out of a value of JSON.
 * @returns the rest, and the texts in pieces. @throws ClientError for a value with too long names.
 */
export function inPieces(value: unknown): { readonly rest: unknown; readonly pieces: Generator<Piece> } {
  const root = { value };
  const long: { readonly path: readonly string[]; readonly text: string }[] = [];
  let names = 0;
  const visit = (holder: Record<string, unknown>, path: readonly string[]) => {
    for (const [key, one] of Object.entries(holder)) {
      if (!Array.isArray(holder)) names += key.length;
      if (names > MOST_NAMES) throw clientError("invalidRequest", ["body", "the names of its fields are too long"]);
      if (typeof one === "string" && one.length > SHORT) {
        long.push({ path: [...path, key], text: one });
        holder[key] = "";
      } else if (typeof one === "object" && one !== null) visit(one as Record<string, unknown>, [...path, key]);
    }
  };
  visit(root, []);
  return { rest: root.value, pieces: piecesOf(long) };
}

function* piecesOf(long: Piece): Generator<Piece> {
  let piece: { path: readonly string[]; text: string }[] = [];
  let left = PIECE;
  for (const { path, text } of long)
    for (let at = 0; at < text.length; ) {
      const part = text.slice(at, at + left);
      piece.push({ path, text: part });
      at += part.length;
      left -= part.length;
      if (left > 0) continue;
      yield piece;
      [piece, left] = [[], PIECE];
    }
  if (piece.length > 0) yield piece;
}

/** Puts the texts back, one piece after the other. */
export class Joined {
  readonly #root: { readonly value: unknown };

  constructor(rest: unknown) {
    this.#root = { value: rest };
  }

  get value(): unknown {
    return this.#root.value;
  }

  add(piece: Piece): void {
    for (const { path, text } of piece) {
      const [last = "", ...above] = path.toReversed();
      let holder = this.#root as Record<string, unknown>;
      for (const key of above.reverse()) holder = holder[key] as Record<string, unknown>;
      holder[last] += text;
    }
  }
}
