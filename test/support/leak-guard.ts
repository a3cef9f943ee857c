import { appendFileSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { after, beforeEach } from "node:test";
import { isMainThread } from "node:worker_threads";
import { PATIENCE } from "./programs/timeouts.ts";

/**
 * Loaded with every test file (`assay test`). A process that lives on after its tests has left something open, usually
 * in a failed test. Node would wait for it forever; here the file fails and reports what keeps the process alive.
 */
const PATIENCE_MS = 10_000 * PATIENCE;

/**
 * If tests are selected by name, Node loads files without any selected test and ends what they have not started. A file
 * whose set-up failed has not started a test either, but it did not pass.
 */
const chosen = process.execArgv.some((argument) => argument.startsWith("--test-name-pattern"));
let begun = false;

if (process.env.NODE_TEST_CONTEXT) {
  const times = process.env.ASSAY_TEST_TIMES;
  if (times && isMainThread) process.on("exit", (code) => appendFileSync(times, `${timesOfThisFile()}\t${code}\n`));
  beforeEach(() => {
    begun = true;
  });
  // The first `after` hook of all: nothing of the file itself has ended yet.
  after((context) => {
    if (chosen && !begun && "passed" in context && context.passed) process.exit(0);
    setTimeout(() => {
      console.error(`${process.argv[1]} does not end: held by ${process.getActiveResourcesInfo().join(", ")}`);
      process.exit(1);
    }, PATIENCE_MS).unref();
  });
}

/** Wall time, and CPU time with the child processes that were waited for, in seconds, and the path of the file, separated by tabs. */
function timesOfThisFile(): string {
  // utime, stime, cutime and cstime of proc_pid_stat(5), in hundredths of a second.
  const [, fields = ""] = readFileSync("/proc/self/stat", "utf8").split(") ");
  const cpu = fields.split(" ").slice(11, 15).map(Number);
  const cpuSeconds = cpu.reduce((sum, ticks) => sum + ticks, 0) / 100;
  return [process.uptime().toFixed(1), cpuSeconds.toFixed(1), relative(process.cwd(), process.argv[1] ?? "")].join(
    "\t",
  );
}
