import assert from "node:assert/strict";
import { test } from "node:test";
import { newExecution } from "../../../../src/domain/sandboxes/execution.ts";
import { newSandbox } from "../../../../src/domain/sandboxes/sandbox.ts";
import { ExecutionLog } from "../../../../src/worker/sandboxes/execution-log.ts";
import { StreamLog } from "../../../../src/worker/sandboxes/stream-log.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../../support/sandboxes/caller.ts";

const key = { keyId: "key", accountId: "account" };
const execution = newExecution(newSandbox(sandboxRequest(), callerOf(key), "here", 0), 1, shellRequest("x"), 0);

test("a stream keeps exactly the first or the last bytes, whatever the sizes of its pieces", () => {
  for (const piece of [17, 4096, 65_536, 300_000]) {
    const first = new StreamLog(100_000, "first");
    const last = new StreamLog(100_000, "last");
    const all: Buffer[] = [];
    for (let at = 0; at < 700_000; at += piece) {
      const bytes = Buffer.alloc(piece, `${at % 10}`);
      all.push(bytes);
      first.push(bytes);
      last.push(bytes);
    }
    const whole = Buffer.concat(all);
    assert.ok(first.all().equals(whole.subarray(0, 100_000)), `first of pieces of ${piece}`);
    assert.ok(last.all().equals(whole.subarray(whole.length - 100_000)), `last of pieces of ${piece}`);
    assert.deepEqual([first.start, first.end, last.end], [0, 100_000, whole.length]);
    assert.ok(last.end - last.start <= 100_000 + 2 * 65_536);
    const at = last.start + 5;
    assert.ok(last.read(at, 10).equals(whole.subarray(at, at + last.read(at, 10).length)));
  }
});

test("a reader gets both streams in the order in which they were written, then the end", async () => {
  const log = new ExecutionLog({ stdoutBytes: 1000, stderrBytes: 1000, keeps: "first" });
  const read: string[] = [];
  const reading = (async () => {
    for await (const event of log.follow({ stdout: 0, stderr: 0 }, new AbortController().signal))
      read.push(event.type === "end" ? "end" : `${event.stream} ${event.at} ${event.bytes}`);
  })();
  for (const [stream, text] of [
    ["stdout", "a"],
    ["stderr", "b"],
    ["stdout", "c"],
  ] as const)
    log.write(stream, Buffer.from(text));
  log.end(execution);
  await reading;
  assert.deepEqual(read, ["stdout 0 a", "stderr 0 b", "stdout 1 c", "end"]);
});

test("readers that begin at any offsets get the rest of both streams, however often the program changes between them", async () => {
  const log = new ExecutionLog({ stdoutBytes: 10_000, stderrBytes: 10_000, keeps: "first" });
  const texts = { stdout: "", stderr: "" };
  for (let n = 0; n < 3000; n++) {
    const stream = n % 2 === 0 ? "stdout" : "stderr";
    texts[stream] += n % 10;
    log.write(stream, Buffer.from(String(n % 10)));
  }
  log.end(execution);
  for (const from of [
    { stdout: 0, stderr: 0 },
    { stdout: 700, stderr: 1499 },
    { stdout: 9_999, stderr: 3 },
  ]) {
    const got = { stdout: "", stderr: "" };
    for await (const event of log.follow(from, new AbortController().signal))
      if (event.type === "output") got[event.stream] += event.bytes.toString();
    assert.deepEqual(got, { stdout: texts.stdout.slice(from.stdout), stderr: texts.stderr.slice(from.stderr) });
  }
});

test("a reader that is too slow for a terminal misses bytes and sees that by their offsets", async () => {
  const log = new ExecutionLog({ stdoutBytes: 100_000, stderrBytes: 1, keeps: "last" });
  const reader = log.follow({ stdout: 0, stderr: 0 }, new AbortController().signal)[Symbol.asyncIterator]();
  log.write("stdout", Buffer.alloc(1000, "a"));
  assert.equal((await reader.next()).value?.type, "output");
  for (let n = 0; n < 20; n++) log.write("stdout", Buffer.alloc(65_536, "b"));
  log.end(execution);
  let at = 1000;
  let missed = 0;
  for (let next = await reader.next(); !next.done && next.value.type === "output"; next = await reader.next()) {
    missed += next.value.at - at;
    at = next.value.at + next.value.bytes.length;
  }
  assert.deepEqual([at, missed > 0], [1000 + 20 * 65_536, true]);
});

test("a reader that goes away ends, also while nothing is written", async () => {
  const log = new ExecutionLog({ stdoutBytes: 10, stderrBytes: 10, keeps: "first" });
  const over = new AbortController();
  const reading = log.follow({ stdout: 0, stderr: 0 }, over.signal)[Symbol.asyncIterator]().next();
  over.abort();
  assert.deepEqual(await reading, { done: true, value: undefined });
});
