/** Prints the account of a new object if the command did not name one. */
export function noteUnnamed(account: string, made: boolean): void {
  process.stderr.write(
    made
      ? `note: created the account ${escaped(account)}; keys share results only within an account, which --account selects\n`
      : `note: joined the existing account ${escaped(account)}, whose keys share results; --account selects another one\n`,
  );
}

/** Names and URLs in a database can come from any of its writers. */
export function escaped(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (mark) => `\\u{${mark.codePointAt(0)?.toString(16)}}`);
}

/** Names a step of a long command while it runs. */
export function sayStep(step: string): void {
  process.stderr.write(`assay: ${escaped(step)}\n`);
}

/** Prints the result of a command: one line of JSON, or text. */
export function answer(json: boolean | undefined, value: unknown, text: () => string): void {
  process.stdout.write(`${json ? JSON.stringify(value) : text()}\n`);
}

/** Aligned columns below a header. Control characters in cells are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows.map((row) => row.map(escaped))];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return all.map((row) => line(row).trimEnd()).join("\n");
}
