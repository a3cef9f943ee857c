import { clientError } from "../../domain/error.ts";

/** The most characters of a piece. A message with a piece occupies the event loop for 1 ms, and one of 60 MB for some 50 ms. */
export const PIECE = 1_048_576;
/** Texts with no more characters than this stay in the value. All such texts of a body together have at most 8 MB. */
const SHORT = 1_024;
/** The most characters of all names of fields together, which stay in the value. No valid body has nearly as many. */
const MOST_NAMES = 1_048_576;

/** Parts of long texts that are sent in one message, each with the path of its text in the value. */
export type Piece = readonly { readonly path: readonly string[]; readonly text: string }[];

/**
 * Takes the long texts out of a value of JSON: in the value, an empty text replaces each of them.
 * @returns the changed value, and the texts in pieces. @throws ClientError invalidRequest if the names of fields are too long.
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

/** Puts the long texts back into the value, one piece after the other. */
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
