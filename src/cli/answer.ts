/** Tells the operator which account a new key or project belongs to, if the command named none. */
export function noteUnnamed(account: string, made: boolean): void {
  process.stderr.write(
    made
      ? `note: created the account ${escaped(account)}; keys share results only within an account, which --account selects\n`
      : `note: joined the existing account ${escaped(account)}, whose keys share results; --account selects another one\n`,
  );
}

/** Escapes invisible characters, line ends among them, because anyone can have written the names and URLs in a database. */
export function escaped(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (mark) => `\\u{${mark.codePointAt(0)?.toString(16)}}`);
}

/** What a program printed, in a report for people: it cannot move the cursor, erase lines or write to the clipboard of a terminal. */
export function escapedOutput(text: string): string {
  return text.replaceAll(/[^\n\t]+/g, escaped);
}

/** A value as JSON. C1 control characters are escaped as well: JSON permits them, but terminals interpret them. */
export function toJson(value: unknown, indent?: number): string {
  const code = (mark: string) => mark.charCodeAt(0).toString(16).padStart(4, "0");
  return JSON.stringify(value, null, indent).replaceAll(/[\u007f-\u009f]/g, (mark) => `\\u${code(mark)}`);
}

/** Names a step of a long command while it runs. */
export function sayStep(step: string): void {
  process.stderr.write(`assay: ${escaped(step)}\n`);
}

/** Prints the result of a command: one line of JSON, or text. */
export function answer(json: boolean | undefined, value: unknown, text: () => string): void {
  process.stdout.write(`${json ? toJson(value) : text()}\n`);
}

/** Aligned columns below a header. Control characters in cells are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows.map((row) => row.map(escaped))];
  const widths = head.map((_, column) => all.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return all.map((row) => line(row).trimEnd()).join("\n");
}
