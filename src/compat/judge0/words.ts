/** A line has a quote that is not closed. */
export class UnclosedQuoteError extends Error {
  override readonly name = "UnclosedQuoteError";
}

/** A part of a word: a quoted text, a character after a backslash, or plain characters. */
const PART = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)/y;

/** The words of a line as a shell would split them, without any of its expansions. @throws UnclosedQuoteError */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  for (let at = 0; at < line.length; ) {
    PART.lastIndex = at;
    const match = PART.exec(line);
    if (match) {
      const [whole, single, double, escaped, plain] = match;
      word = (word ?? "") + (single ?? double?.replaceAll(/\\(["\\$`])/g, "$1") ?? escaped ?? plain ?? "");
      at += whole.length;
    } else if (/\s/.test(line.charAt(at))) {
      if (word !== null) words.push(word);
      word = null;
      at++;
    } else throw new UnclosedQuoteError();
  }
  return word === null ? words : [...words, word];
}
