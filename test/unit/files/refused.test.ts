import assert from "node:assert/strict";
import { test } from "node:test";
import { FileError } from "../../../src/domain/sandboxes/files.ts";
import { FileClient } from "../../../src/files/client.ts";
import type { FileProgram } from "../../../src/files/program.ts";

/** Programs that end without a word. Those before `begins` were not let begin. */
function ending(begins: number) {
  let started = 0;
  const start = async (): Promise<FileProgram> => {
    const wasRefused = ++started < begins;
    return {
      output: { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }) },
      write: async () => {},
      kill: () => {},
      wasRefused: async () => wasRefused,
    };
  };
  return { start, started: () => started };
}

const isStopped = (error: unknown) => error instanceof FileError && error.code === "stopped";

test("a request is made again as long as its program was not let begin, and not after that", async () => {
  const programs = ending(3);
  const client = new FileClient(programs.start);
  await assert.rejects(client.stat("a"), isStopped);
  assert.equal(programs.started(), 3);
  await assert.rejects(client.read("a", null), isStopped);
  assert.equal(programs.started(), 4);
  client.close();
});

test("the body of a request is not read before a program has begun", async () => {
  const programs = ending(5);
  const client = new FileClient(programs.start);
  let isRead = false;
  const body = async function* () {
    isRead = true;
    yield Buffer.from("a");
  };
  await assert.rejects(client.write("a", body(), {}), isStopped);
  assert.deepEqual([programs.started(), isRead], [5, false]);
  client.close();
});

test("a sandbox that never lets a program begin gets no endless requests", async () => {
  const programs = ending(Number.POSITIVE_INFINITY);
  const client = new FileClient(programs.start);
  await assert.rejects(client.remove("a", false), isStopped);
  assert.equal(programs.started(), 100);
  client.close();
});
