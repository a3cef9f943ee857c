/**
 * A part of a program's text: printable text as it is, or the name of a control character, for example one for terminals or for
 * the direction of text. Line feeds and tabs are printable.
 */
export interface TextSegment {
  readonly text: string;
  /** The code point of a control character; undefined for printable text. */
  readonly control?: string;
}

/** Controls, formatting characters, and separators that editors do not count as line ends. */
export const CONTROL = /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\t\n]]/gv;

/** The ASCII names of the first 32. */
const NAMES =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US";
const NAMED = new Map<number, string>([...NAMES.split(" ").entries(), [0x7f, "DEL"]]);

/** `ESC` and `U+001B`. */
export function nameOf(code: number): { readonly name: string; readonly title: string } {
  const title = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  return { name: NAMED.get(code) ?? title, title };
}

export function showControlCharacters(text: string): TextSegment[] {
  const segments: TextSegment[] = [];
  let from = 0;
  for (const { index, 0: found } of text.matchAll(CONTROL)) {
    if (index > from) segments.push({ text: text.slice(from, index) });
    const { name, title } = nameOf(found.codePointAt(0) ?? 0);
    segments.push({ text: name, control: title });
    from = index + found.length;
  }
  if (from < text.length) segments.push({ text: text.slice(from) });
  return segments;
}
