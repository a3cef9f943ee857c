/** A text for a terminal, split into the characters and their styles. */
export interface Coloured {
  readonly text: string;
  /** Positions in `text` at which styles begin, ascending. A style ends where the next one begins. */
  readonly starts: readonly number[];
  /**
   * The style at each of `starts`: a bit for each of STYLES, and above these bits 0 for no colour, or 1 plus the index in
   * COLOURS.
   */
  readonly styles: readonly number[];
}

/**
 * The styles, one for each bit. Concealed text and colours of the background are ignored, because they could hide text: a background
 * can have the colour of the text.
 */
export const STYLES = ["bold", "faint", "italic", "underline", "strike"] as const;
export const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

const COLOUR_SHIFT = STYLES.length;
const STYLE_BITS = (1 << COLOUR_SHIFT) - 1;

/**
 * A control sequence that selects styles, if its parameters are short. Any other control sequence is shown as text, with the name of
 * the control character ESC.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it begins with one
const SELECT = /\x1b\[([\d;:]{0,64})m/y;

/** Separates a text from its styles. The time is linear in the length of the text, whatever the text is. */
export function readColours(text: string): Coloured {
  const parts: string[] = [];
  const starts: number[] = [];
  const styles: number[] = [];
  let [length, from, style] = [0, 0, 0];
  for (let at = text.indexOf("\x1b["); at !== -1; at = text.indexOf("\x1b[", at)) {
    SELECT.lastIndex = at;
    const found = SELECT.exec(text);
    if (!found) {
      at += 2;
      continue;
    }
    parts.push(text.slice(from, at));
    length += at - from;
    at = from = SELECT.lastIndex;
    const next = select(style, found[1] ?? "");
    if (next === style) continue;
    style = next;
    // No text has the previous style if both begin at this position.
    if (starts.at(-1) === length) styles[styles.length - 1] = style;
    else {
      starts.push(length);
      styles.push(style);
    }
  }
  parts.push(text.slice(from));
  return { text: parts.join(""), starts, styles };
}

/** The names of a style: some of STYLES, and at most one of COLOURS. */
export function styleNames(style: number): readonly string[] {
  const colour = COLOURS[(style >> COLOUR_SHIFT) - 1];
  return [...STYLES.filter((_, bit) => style & (1 << bit)), ...(colour ? [colour] : [])];
}

/** The index in `starts` of the style at a position; -1 before the first style. */
export function styleAt(starts: readonly number[], position: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function select(before: number, parameters: string): number {
  const codes = parameters.split(/[;:]/).map(Number);
  let style = before;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) style = 0;
    else if (code in ON) style |= 1 << (ON[code] ?? 0);
    else if (code === 22) style &= ~3;
    else if (code in OFF) style &= ~(1 << (OFF[code] ?? 0));
    else if (code >= 30 && code <= 37) style = inColour(style, code - 30);
    else if (code >= 90 && code <= 97) style = inColour(style, code - 90);
    else if (code === 39) style &= STYLE_BITS;
    else if (code === 38 || code === 48 || code === 58) {
      const [colour, taken] =
        codes[i + 1] === 5 ? [ofPalette(codes[i + 2] ?? 0), 2] : [ofRgb(codes.slice(i + 2, i + 5)), 4];
      if (code === 38) style = inColour(style, colour);
      i += taken;
    }
  }
  return style;
}

/** The bit of STYLES for each code that switches a style on (ON) or off (OFF). */
const ON: Readonly<Record<number, number>> = { 1: 0, 2: 1, 3: 2, 4: 3, 9: 4 };
const OFF: Readonly<Record<number, number>> = { 23: 2, 24: 3, 29: 4 };

function inColour(style: number, colour: number | null): number {
  return (style & STYLE_BITS) | (colour === null ? 0 : (colour + 1) << COLOUR_SHIFT);
}

/** The nearest of COLOURS for a colour of the palette of 256; null for greys. All of COLOURS are readable in both themes. */
function ofPalette(code: number): number | null {
  if (code < 16) return code % 8;
  if (code > 231) return null; // greys
  const cube = code - 16;
  return ofRgb([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((level) => level * 51));
}

/** The nearest of COLOURS; null for greys. */
function ofRgb([red = 0, green = 0, blue = 0]: readonly number[]): number | null {
  const [least, most] = [Math.min(red, green, blue), Math.max(red, green, blue)];
  if (most - least < 40) return null;
  const middle = (least + most) / 2;
  return (red > middle ? 1 : 0) | (green > middle ? 2 : 0) | (blue > middle ? 4 : 0);
}
