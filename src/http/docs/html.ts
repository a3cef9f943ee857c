/** Markup, which a template takes as it is. It escapes every other value. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Piece = Html | string | number | undefined | readonly Piece[];

/** Makes markup from a template. Values other than Html are escaped, and undefined becomes an empty string. */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): Html {
  return new Html(strings.reduce((text, string, i) => `${text}${toText(values[i - 1])}${string}`));
}

function toText(piece: Piece): string {
  if (piece === undefined) return "";
  if (piece instanceof Html) return piece.text;
  if (typeof piece === "object") return piece.map(toText).join("");
  return String(piece).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Text in which backticks enclose code. */
export function prose(text: string): Html[] {
  return text.split("`").map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}
