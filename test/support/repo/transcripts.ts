/** A block of code of a document. */
export interface Block {
  /** What follows the fence; empty if nothing does. */
  readonly language: string;
  readonly text: string;
}

/** The blocks of code of a document, in order. */
export function blocks(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\S*)\n([\s\S]*?)^```$/gm)].map(([, language = "", text = ""]) => ({
    language,
    text,
  }));
}

/** Commands that a document shows, and what they print according to it. */
export interface Shown {
  readonly commands: string;
  readonly output: string;
}

/** The blocks of `sh`, each with what it prints: the block without a language that follows it with nothing between the two. */
export function shown(markdown: string): Shown[] {
  return [...markdown.matchAll(/^```sh\n([\s\S]*?)^```\n(?:\n```\n([\s\S]*?)^```$)?/gm)].map(
    ([, commands = "", output = ""]) => ({ commands, output }),
  );
}

/** An expression for an output in which `…` stands for any text of one line. */
export function outputPattern(output: string): RegExp {
  return new RegExp(`^${output.split("…").map(literal).join(".*")}$`);
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
