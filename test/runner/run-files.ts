import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import type { Counts, Failure, Results } from "./results.ts";

/**
 * Runs test files, each in a process of its own, in the given order:
 *
 *   node test/runner/run-files.ts --concurrency N --timeout MS --results FILE [--setup FILE] [--name REGEXP] FILE...
 *
 * Prints the tests as they end, and writes {@link Results} to the file. The exit code is 0 if no test failed, and 143 after a signal.
 * It is a process of its own, because it also runs on other kernels.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    concurrency: { type: "string", default: "1" },
    timeout: { type: "string", default: "Infinity" },
    results: { type: "string", default: "/dev/null" },
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

const counts: Counts = { tests: 0, suites: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0 };
const failures: Failure[] = [];
const [failed, ended] = [new Set<string>(), new Set<string>()];
let ran = 0;

const path = (file: string | undefined) => relative(process.cwd(), file ?? "");

const events = run({
  files: positionals,
  concurrency: Number(concurrency),
  timeout: Number(timeout),
  execArgv: ["--import", "./test/support/leak-guard.ts"],
  signal: interrupted.signal,
  ...(setup && { globalSetupPath: setup }),
  ...(name && { testNamePatterns: [new RegExp(name)] }),
});

events.on("test:pass", ({ name: title, skip, details, file }) => {
  // Node reports a file without matching names as a passed test.
  const isFile = path(file) === path(title);
  if (skip === undefined && details.type !== "suite" && !isFile) ran++;
});
events.on("test:fail", ({ name: title, details, file, line }) => {
  process.exitCode = 1;
  const { failureType, cause } = details.error as Error & { failureType?: string };
  failed.add(path(file ?? title));
  // A suite that failed only because of a test in it is not named.
  if (failureType === "subtestsFailed") return;
  const { message } = cause instanceof Error ? cause : { message: String(cause ?? details.error.message) };
  failures.push({ where: file && line ? `${path(file)}:${line}` : path(file ?? title), title, message });
});
events.on("test:summary", ({ file, success, counts: counted }) => {
  if (file === undefined) {
    const { tests, passed, cancelled, skipped, todo } = counted;
    Object.assign(counts, counted, { failed: tests - passed - cancelled - skipped - todo });
    return;
  }
  ended.add(path(file));
  if (!success) failed.add(path(file));
});
events.once("end", () => {
  // A file without a summary has crashed.
  const bad = positionals.map(path).filter((file) => failed.has(file) || !ended.has(file));
  writeFileSync(values.results, JSON.stringify({ counts, ran, failures, failedFiles: bad } satisfies Results));
});
events.compose(new spec()).pipe(process.stdout);
