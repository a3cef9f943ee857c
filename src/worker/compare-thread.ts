import { parentPort } from "node:worker_threads";
import { type Checker, type Compared, check } from "../domain/check.ts";

/** A comparison for the thread; its buffers arrive as Uint8Array. */
export interface Comparison {
  readonly checker: Checker;
  readonly output: Uint8Array;
  readonly answers: readonly Uint8Array[];
}

parentPort?.on("message", ({ checker, output, answers }: Comparison) => {
  const bytes = (view: Uint8Array) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  const compared: Compared = check(checker, bytes(output), answers.map(bytes));
  parentPort?.postMessage(compared);
});
