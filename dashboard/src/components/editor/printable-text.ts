import { type Coloured, readColours } from "./ansi.ts";
import { CONTROL, nameOf } from "./control-characters.ts";

/** A text of a program as it is shown: with the names of control characters instead of the characters. */
export interface PrintableText extends Coloured {
  /** Starts of the names in `text`, ascending. */
  readonly names: readonly number[];
  /** The code points of the named characters, in the same order. */
  readonly codes: readonly number[];
}

/** Reads the output of a program, with the colours of a terminal. */
export function readOutput(text: string): PrintableText {
  return nameControls(readColours(text));
}

/** Reads a source or an input, in which control sequences select no colours. */
export function readInput(text: string): PrintableText {
  return nameControls({ text, starts: [], styles: [] });
}

/**
 * Replaces control characters by their names in the text itself. Widgets of the editor would have two faults: the editor takes
 * quadratic time for many widgets, and the characters would still change the direction of the text.
 */
function nameControls({ text, starts: before, styles }: Coloured): PrintableText {
  const parts: string[] = [];
  const names: number[] = [];
  const codes: number[] = [];
  const starts: number[] = [];
  let [from, growth] = [0, 0];
  for (const { index, 0: found } of text.matchAll(CONTROL)) {
    for (let next = before[starts.length]; next !== undefined && next <= index; next = before[starts.length])
      starts.push(next + growth);
    const code = found.codePointAt(0) ?? 0;
    const { name } = nameOf(code);
    names.push(index + growth);
    codes.push(code);
    parts.push(text.slice(from, index), name);
    from = index + found.length;
    growth += name.length - found.length;
  }
  for (const next of before.slice(starts.length)) starts.push(next + growth);
  return { text: parts.join("") + text.slice(from), starts, styles, names, codes };
}
