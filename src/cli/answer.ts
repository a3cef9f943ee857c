/** Says which account something new belongs to when the command did not name one. */
export function noteUnnamed(account: string, made: boolean): void {
  process.stderr.write(
    made
      ? `note: made the account ${escaped(account)} for it; only keys of one account see the same results, and --account names an account\n`
      : `note: joined the existing account ${escaped(account)}, whose keys see each other's records; another one is named with --account\n`,
  );
}

/** The names and URLs of a database may be from whoever could write to it. */
export function escaped(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (mark) => `\\u{${mark.codePointAt(0)?.toString(16)}}`);
}

/** Prints what a command answers: a value as one line of JSON, or the text for a person. */
export function answer(json: boolean | undefined, value: unknown, text: () => string): void {
  process.stdout.write(`${json ? JSON.stringify(value) : text()}\n`);
}

/** Columns for a person; a head alone when there are no rows. Nothing in a cell moves the cursor or ends its line. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows.map((row) => row.map(escaped))];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return all.map((row) => line(row).trimEnd()).join("\n");
}
