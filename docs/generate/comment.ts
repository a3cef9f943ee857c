/**
 * A comment of C or TypeScript, in one line, or in several lines of at most 140 characters.
 * @param open `/**` for a comment that describes a declaration. @param indent blanks before each line.
 */
export function comment(
  text: string,
  { open = "/*", indent = "" }: { readonly open?: "/*" | "/**"; readonly indent?: string } = {},
): string[] {
  const width = 140 - indent.length;
  if (`${open} ${text} */`.length <= width) return [`${indent}${open} ${text} */`];
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || ` * ${last} ${word}`.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return [`${indent}${open}`, ...lines.map((line) => `${indent} * ${line}`), `${indent} */`];
}
