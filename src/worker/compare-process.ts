import { type Checker, type Compared, type Comparison, comparison } from "../domain/check.ts";

/** A comparison that the process makes. */
export interface CompareWork {
  readonly checker: Checker;
  readonly output: Uint8Array;
  readonly answers: readonly Uint8Array[];
}

/** Why an answer cannot be used: it is not a regular expression, or V8 cannot build an expression of this size. */
export type BadAnswer = "invalid" | "too large";

/** `ready`: the process has started. `prepared`: the answers of the present comparison are parsed. */
export type CompareMessage =
  | "ready"
  | "prepared"
  | {
      readonly compared: Compared | BadAnswer;
      /** CPU time of the process since its previous result, or since its start. */
      readonly cpuMs: number;
    };

const bytes = (view: Uint8Array) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

function prepare({ checker, answers }: CompareWork): Comparison | BadAnswer {
  try {
    return comparison(checker, answers.map(bytes));
  } catch (error) {
    if (error instanceof SyntaxError) return "invalid"; // its message repeats the expression
    if (error instanceof RangeError) return "too large";
    throw error;
  }
}

const send = (message: CompareMessage, sent?: () => void) =>
  process.send?.(message, undefined, undefined, () => sent?.());

let before = process.cpuUsage();

function end(compared: Compared | BadAnswer): void {
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  send({ compared, cpuMs: (user + system) / 1_000 });
}

process.on("message", (work: CompareWork) => {
  const prepared = prepare(work);
  if (typeof prepared === "string") end(prepared);
  else send("prepared", () => end(prepared.run(bytes(work.output))));
});
send("ready");
