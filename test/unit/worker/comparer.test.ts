import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Comparer, ComparisonError } from "../../../src/worker/comparer.ts";

const LIMIT = { timeout: 20_000 };
const never = new AbortController().signal;
const text = (content: string) => Buffer.from(content);
const SLOW = [text("(a|a)*b")] as const;
const AS = text("a".repeat(60));

const regex = (comparer: Comparer, output: Buffer, answer: string, owner = "a", signal = never) =>
  comparer.compare({ type: "regex" }, output, [text(answer)], { owner, signal });

test("expressions and long texts are compared in a process, which is used again", LIMIT, async () => {
  const comparer = new Comparer();
  assert.equal((await regex(comparer, text("12\n"), "\\d+")).passed, true);
  assert.equal((await regex(comparer, text("12\n"), "\\d")).passed, false);
  const long = text("x y\n".repeat(50_000));
  const options = { owner: "a", signal: never };
  assert.equal((await comparer.compare({ type: "tokens" }, long, [text("no"), long], options)).passed, true);
});

test("a comparison leaves nothing behind in this process", LIMIT, async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => warnings.push(name);
  process.on("warning", onWarning);
  const comparer = new Comparer();
  for (let i = 0; i < 20; i++) await regex(comparer, text("1"), "1");
  await sleep(50);
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []); // of Node, for more than ten listeners
});

test("an expression that is invalid, slow or too large is an error, and the next one is compared", LIMIT, async () => {
  const comparer = new Comparer();
  for (const answer of ["(", "[z-a]", String(SLOW[0]), "((?:a?){9999}){9999}"]) {
    await assert.rejects(regex(comparer, AS, answer), ComparisonError, answer.slice(0, 20));
    assert.equal((await regex(comparer, text("1"), "1")).passed, true);
  }
  // Errors of the process that arrive after its end are not uncaught exceptions of this process.
  await sleep(100);
});

test("an expression that V8 cannot stop building leaves no process", LIMIT, async () => {
  const children = () =>
    readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean).length;
  const before = children();
  const comparer = new Comparer();
  const endless = "(?:(?:\\p{L}{2,3}){2,3}){2,3}".repeat(140);
  await assert.rejects(regex(comparer, text("x"), endless), ComparisonError);
  assert.equal((await regex(comparer, text("1"), "1")).passed, true);
  await sleep(200);
  assert.equal(children(), before + 1, "only the process of the last comparison is left");
});

test("accounts take turns", LIMIT, async () => {
  const comparer = new Comparer();
  const ended: string[] = [];
  const slow = Array.from({ length: 3 }, () =>
    regex(comparer, AS, String(SLOW[0]), "busy").catch(() => void ended.push("busy")),
  );
  const other = regex(comparer, text("1"), "1", "other").then(() => void ended.push("other"));
  await Promise.all([...slow, other]);
  assert.ok(ended.indexOf("other") <= 2, String(ended)); // one of the account was under way, and one was next
});

test("accounts share the time, not the number of comparisons", LIMIT, async () => {
  const comparer = new Comparer();
  const ended: string[] = [];
  const compare = (owner: string, output: Buffer, answer: string) =>
    regex(comparer, output, answer, owner)
      .catch(() => {})
      .then(() => void ended.push(owner));
  // One after the other, as a judgement with few slots: it never has two in the queue.
  const slow = async () => {
    for (let i = 0; i < 3; i++) await compare("busy", AS, String(SLOW[0]));
  };
  await Promise.all([slow(), ...Array.from({ length: 20 }, () => compare("other", text("1"), "1"))]);
  assert.deepEqual(ended.slice(0, 21), ["busy", ...Array(20).fill("other")]);
});

test("an account that begins while the last comparison of another is under way owes it nothing", LIMIT, async () => {
  const comparer = new Comparer();
  const ended: string[] = [];
  const slow = (owner: string) => regex(comparer, AS, String(SLOW[0]), owner).catch(() => void ended.push(owner));
  const before = [slow("busy"), slow("busy"), slow("busy")];
  await before[1];
  const begun = [slow("new"), slow("new"), slow("new")];
  const next = regex(comparer, text("1"), "1", "busy").then(() => void ended.push("busy, short"));
  await Promise.all([...before, ...begun, next]);
  assert.ok(ended.indexOf("busy, short") <= 5, String(ended)); // at most two of the new account come first
});

test("an abandoned comparison ends at once, under way or waiting", LIMIT, async () => {
  const comparer = new Comparer();
  const [first, second] = [new AbortController(), new AbortController()];
  const under = regex(comparer, AS, String(SLOW[0]), "a", first.signal);
  const waiting = regex(comparer, AS, String(SLOW[0]), "a", second.signal);
  const last = regex(comparer, text("1"), "1");
  const began = performance.now();
  second.abort();
  first.abort();
  await assert.rejects(under, ComparisonError);
  await assert.rejects(waiting, ComparisonError);
  await assert.rejects(regex(comparer, AS, "a", "a", first.signal), ComparisonError);
  assert.ok(performance.now() - began < 900);
  assert.equal((await last).passed, true);
});
