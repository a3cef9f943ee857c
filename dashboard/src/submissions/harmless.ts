/**
 * What a program wrote, in pieces: those that a reader sees as they are, and characters that would control something, such as
 * a terminal or the direction of reading, which are shown by name. Line feeds and tabs are what they are everywhere.
 */
export interface Piece {
  readonly text: string;
  /** Which character it stands for; undefined: none but what is read. */
  readonly control?: string;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** The first 32, as everybody who writes of them calls them. */
const NAMES =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US";
const NAMED = new Map<number, string>([...NAMES.split(" ").entries(), [0x7f, "DEL"]]);

export function harmless(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { index, 0: found } of text.matchAll(CONTROL)) {
    if (index > from) pieces.push({ text: text.slice(from, index) });
    const code = found.charCodeAt(0);
    const control = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    pieces.push({ text: NAMED.get(code) ?? control, control });
    from = index + 1;
  }
  if (from < text.length) pieces.push({ text: text.slice(from) });
  return pieces;
}
