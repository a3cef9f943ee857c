import { createWriteStream } from "node:fs";
import { run } from "node:test";
import { spec, tap } from "node:test/reporters";
import { parseArgs } from "node:util";

/**
 * Runs test files in processes of their own, for `assay test`:
 *
 *   node test/run.ts --concurrency N --timeout MS --tap FILE [--setup FILE] [--name REGEXP] FILE...
 *
 * Unlike `node --test`, it starts the files in the given order. Prints the results, and writes them to the file TAP.
 * The exit code is 0 if no test failed, and 143 after a signal.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    concurrency: { type: "string", default: "1" },
    timeout: { type: "string", default: "Infinity" },
    tap: { type: "string", default: "/dev/null" },
    setup: { type: "string" },
    name: { type: "string" },
  },
});
const { concurrency, timeout, setup, name } = values;

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => interrupted.abort());
process.once("exit", () => {
  if (interrupted.signal.aborted) process.exitCode = 143;
});

const results = run({
  files: positionals,
  concurrency: Number(concurrency),
  timeout: Number(timeout),
  execArgv: ["--import", "./test/support/leak-guard.ts"],
  signal: interrupted.signal,
  ...(setup && { globalSetupPath: setup }),
  ...(name && { testNamePatterns: [new RegExp(name)] }),
});
results.once("test:fail", () => {
  process.exitCode = 1;
});
results.compose(new spec()).pipe(process.stdout);
results.compose(tap).pipe(createWriteStream(values.tap));
