/**
 * What a program wrote, in pieces: those that a reader sees as they are, and characters that would control something, such as
 * a terminal or the direction of reading, which are shown by name. Line feeds and tabs are what they are everywhere.
 */
export interface Piece {
  readonly text: string;
  /** Which character it stands for; undefined: none but what is read. */
  readonly control?: string;
}

/** Controls, characters that only format others, and separators that no editor counts as lines. */
const CONTROL = /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\t\n]]/gv;

/** The first 32, as everybody who writes of them calls them. */
const NAMES =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US";
const NAMED = new Map<number, string>([...NAMES.split(" ").entries(), [0x7f, "DEL"]]);

export function showControlCharacters(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { index, 0: found } of text.matchAll(CONTROL)) {
    if (index > from) pieces.push({ text: text.slice(from, index) });
    const code = found.codePointAt(0) ?? 0;
    const control = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    pieces.push({ text: NAMED.get(code) ?? control, control });
    from = index + found.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from) });
  return pieces;
}
