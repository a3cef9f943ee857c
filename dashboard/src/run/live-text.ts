/** The greatest number of characters in a snapshot. */
const MAX_CHARACTERS = 262_144;

export interface LiveTextState {
  readonly text: string;
  /** The number, in the whole stream, of the first line of `text`. */
  readonly firstLine: number;
  /** Whether earlier output was dropped. */
  readonly isCut: boolean;
}

/**
 * The newest output of a stream. Older output is dropped, so that a page does not grow with a program that never stops writing.
 */
export class LiveText {
  #parts: string[] = [];
  #length = 0;
  #firstLine = 1;
  #isCut = false;

  clear(): void {
    this.#parts = [];
    this.#length = 0;
    this.#firstLine = 1;
    this.#isCut = false;
  }

  add(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
    // The text is shortened only at twice the maximum, so that not every addition copies the whole text.
    if (this.#length > 2 * MAX_CHARACTERS) this.#shorten();
  }

  snapshot(): LiveTextState {
    if (this.#length > MAX_CHARACTERS) this.#shorten();
    const text = this.#parts.join("");
    this.#parts = [text];
    return { text, firstLine: this.#firstLine, isCut: this.#isCut };
  }

  /** Drops the oldest text up to the beginning of a line, or, if no line begins soon enough, up to a place within a line. */
  #shorten(): void {
    const text = this.#parts.join("");
    const most = text.length - MAX_CHARACTERS;
    const lineEnd = text.indexOf("\n", most - 1);
    const from = lineEnd === -1 || lineEnd - most > MAX_CHARACTERS / 2 ? most : lineEnd + 1;
    this.#firstLine += text.slice(0, from).split("\n").length - 1;
    this.#isCut = true;
    this.#parts = [text.slice(from)];
    this.#length = text.length - from;
  }
}
