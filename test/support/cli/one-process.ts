import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";
import type { Printed } from "./command-runner.ts";

/**
 * Runs commands as `assay` of processes.ts does, but all commands of a test file in one process, because the start of a process takes
 * 0.3 s of CPU time. Tests of what a process does, such as its user, its signals and its environment, need a process for each command.
 */
export function command(...args: string[]): Promise<Printed> {
  const ended = last.then(() => run(args));
  last = ended.catch(() => {});
  return ended;
}

const RUNNER = new URL("command-runner.ts", import.meta.url);
let last: Promise<unknown> = Promise.resolve();
let runner: ChildProcess | null = null;
let exited: Promise<unknown[]> = Promise.resolve([]);

async function run(args: readonly string[]): Promise<Printed> {
  if (!runner) {
    runner = fork(RUNNER, { execArgv: [], stdio: "inherit" });
    exited = once(runner, "exit");
  }
  runner.send(args);
  const [message] = await Promise.race([
    once(runner, "message"),
    exited.then((how) => assert.fail(`the process of the commands ended with ${how} in: ${args.join(" ")}`)),
  ]);
  return message as Printed;
}

after(async () => {
  runner?.disconnect();
  // A command that leaves something open would not end as a process either: the test file then hangs, and fails.
  assert.deepEqual(runner && (await exited), runner && [0, null]);
});
