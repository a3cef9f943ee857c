import { type Checker, type Compared, check } from "../domain/check.ts";

/** A comparison for the process. */
export interface Comparison {
  readonly checker: Checker;
  readonly output: Uint8Array;
  readonly answers: readonly Uint8Array[];
}

const bytes = (view: Uint8Array) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

/** @returns null for an answer that is no regular expression. */
function compare({ checker, output, answers }: Comparison): Compared | null {
  try {
    return check(checker, bytes(output), answers.map(bytes));
  } catch (error) {
    if (error instanceof SyntaxError) return null; // its message repeats the expression
    throw error;
  }
}

process.on("message", (comparison: Comparison) => process.send?.(compare(comparison)));
process.send?.("ready");
