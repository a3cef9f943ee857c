/**
 * A part of a program's text: either printable text, or the name of a control character, such as ESC or a character that changes
 * the direction of text. Line feeds and tabs count as printable.
 */
export interface TextSegment {
  readonly text: string;
  /** The code point of the control character, such as "U+001B"; absent for printable text. */
  readonly control?: string;
}

/** Control characters except tab and line feed, format characters, and the line and paragraph separators of Unicode. */
export const CONTROL = /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\t\n]]/gv;

/** The ASCII names of the code points 0 to 31. */
const NAMES =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US";
const NAMED = new Map<number, string>([...NAMES.split(" ").entries(), [0x7f, "DEL"]]);

/** Returns, for example, the name `ESC` and the title `U+001B`. A character without an ASCII name has its title as its name. */
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
