import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../../../src/domain/check.ts";
import { Comparer, ComparerLost, ComparisonError, CPU_MS_PER_BYTE } from "../../../src/worker/comparer.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";

const LIMIT = { timeout: 300_000 };
/** These depend on the speed of the CPU, or take long. test/unit/fairness/turn.test.ts has the rule of turns without processes. */
const SLOWLY = { ...LIMIT, skip: SKIPS_LONG };
const never = new AbortController().signal;
const text = (content: string) => Buffer.from(content);
const OPTIONS = { owner: "a", signal: never };
const SLOW = [text("(a|a)*b")] as const;
const AS = text("a".repeat(60));

const regex = (comparer: Comparer, output: Buffer, answer: string, owner = "a", signal = never) =>
  comparer.compare({ type: "regex" }, output, [text(answer)], { owner, signal });

test("expressions and long texts are compared in a process, which is used again", LIMIT, async () => {
  const comparer = new Comparer();
  assert.equal((await regex(comparer, text("12\n"), "\\d+")).passed, true);
  assert.equal((await regex(comparer, text("12\n"), "\\d")).passed, false);
  const long = text("x y\n".repeat(50_000));
  const spaced = text("x  y \n".repeat(50_000));
  assert.equal((await comparer.compare({ type: "tokens" }, long, [text("no"), spaced], OPTIONS)).passed, true);
});

test("a comparison leaves nothing behind in this process", LIMIT, async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => warnings.push(name);
  process.on("warning", onWarning);
  const comparer = new Comparer();
  for (let i = 0; i < 20; i++) await regex(comparer, text("1"), "1");
  await sleep(50);
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []); // Node would warn of more than ten listeners
});

test("an expression that is invalid or too large is an error, and the next one is compared", LIMIT, async () => {
  const comparer = new Comparer();
  for (const answer of ["(", "[z-a]", "((?:a?){9999}){9999}"]) {
    await assert.rejects(regex(comparer, AS, answer), ComparisonError, answer.slice(0, 20));
    assert.equal((await regex(comparer, text("1"), "1")).passed, true);
  }
  // Errors of the process that arrive after its end are not uncaught exceptions of this process.
  await sleep(100);
});

test("an output with which an expression backtracks for too long is wrong, and no error", LIMIT, async () => {
  const comparer = new Comparer();
  const slow = await regex(comparer, AS, String(SLOW[0]));
  assert.deepEqual(slow, {
    passed: false,
    message: "the output does not match the expression within 1 s of CPU time",
  });
  // The same expression still accepts the right output.
  assert.equal((await regex(comparer, text(`${"a".repeat(60)}b`), String(SLOW[0]))).passed, true);
});

test("a long output that is one of the answers passes every checker for texts, without a process", LIMIT, async () => {
  await untilThereAre(0);
  const comparer = new Comparer();
  const long = text("nan -0 1e400 x  y \n\n".repeat(50_000));
  const types = ["exact", "lines", "tokens", "floats", "unordered_lines"] as const;
  for (const type of types) {
    const compared = await comparer.compare({ type }, long, [text("no"), Buffer.from(long)], OPTIONS);
    assert.deepEqual(compared, check({ type }, long, [text("no"), long]));
    assert.equal(compared.passed, true, type);
  }
  await untilThereAre(0);
});

test(
  "a long output that is not exactly an answer is wrong without a process, with the same message",
  LIMIT,
  async () => {
    await untilThereAre(0);
    const long = text("1 2 3\n".repeat(150_000));
    const answers = [text(`${long}4\n`), text("no"), Buffer.concat([long.subarray(1), text("x")])];
    const compared = await new Comparer().compare({ type: "exact" }, long, answers, OPTIONS);
    assert.deepEqual(compared, { passed: false, message: "byte 900001, in line 150001, differs" });
    assert.deepEqual(children(), []);
    assert.deepEqual(compared, check({ type: "exact" }, long, answers));
  },
);

/** CPU time of the children of this process that have ended. */
function endedCpuMs(): number {
  const stat = readFileSync("/proc/self/stat", "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

test("a long comparison in a new process leaves the quick queue after its CPU time there", LIMIT, async () => {
  await untilThereAre(0);
  await sleep(100);
  const atFirst = endedCpuMs();
  await regex(new Comparer(), text("1"), "1");
  await untilThereAre(0);
  while (endedCpuMs() === atFirst) await sleep(20);
  const startMs = endedCpuMs() - atFirst;
  const before = endedCpuMs();
  const comparer = new Comparer();
  await new Promise<void>((resolve) => {
    const options = { owner: "a", signal: never, onSlow: resolve };
    void comparer.compare({ type: "regex" }, AS, SLOW, options);
  });
  while (endedCpuMs() === before) await sleep(20);
  const usedMs = endedCpuMs() - before;
  assert.ok(usedMs < startMs + 250, `${usedMs} ms, of which the start of a process takes ${startMs} ms`);
});

test("an expression that V8 cannot stop building leaves no process", LIMIT, async () => {
  await untilThereAre(0);
  const comparer = new Comparer();
  const endless = "(?:(?:\\p{L}{2,3}){2,3}){2,3}".repeat(140);
  await assert.rejects(regex(comparer, text("x"), endless), ComparisonError);
  assert.equal((await regex(comparer, text("1"), "1")).passed, true);
  await untilThereAre(1); // that of the last comparison
});

/** Comparing processes of this test, which have no other children. */
const children = () =>
  readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);

/** Ends the idle processes of earlier tests. */
async function untilThereAre(number: number): Promise<void> {
  if (number === 0) for (const pid of children()) process.kill(pid, "SIGKILL");
  while (children().length !== number) await sleep(20);
}

const LONG = text("1.5 2\n".repeat(50_000));
const CLOSE = text("1.50 2.0\n".repeat(50_000));
const compareLong = (comparer: Comparer, signal = never) =>
  comparer.compare({ type: "floats" }, LONG, [text("x"), CLOSE], { owner: "a", signal });

test("a right output is right, however long the process is kept from running", LIMIT, async () => {
  await untilThereAre(0);
  // On a slow machine, the comparison would otherwise leave the quick queue, and thereby its process.
  const comparer = new Comparer(30_000, 10_000);
  assert.equal((await compareLong(comparer)).passed, true);
  const [pid = 0] = children();
  process.kill(pid, "SIGSTOP");
  const compared = compareLong(comparer);
  await sleep(3_000); // three times the former limit of wall time
  process.kill(pid, "SIGCONT");
  assert.deepEqual(await compared, { passed: true, message: null });
  assert.deepEqual(children(), [pid]);
});

test("a process that makes no progress or ends is replaced, and the output is right", LIMIT, async () => {
  await untilThereAre(0);
  const comparer = new Comparer(500);
  for (const signal of ["SIGSTOP", "SIGKILL", "SIGSEGV"] as const) {
    assert.equal((await compareLong(comparer)).passed, true);
    const [pid = 0] = children();
    process.kill(pid, "SIGSTOP");
    const compared = compareLong(comparer);
    process.kill(pid, signal);
    process.kill(pid, "SIGCONT"); // a stopped process gets no other signal than SIGKILL
    if (signal === "SIGSTOP") process.kill(pid, "SIGSTOP");
    assert.deepEqual(await compared, { passed: true, message: null }, signal);
    assert.notDeepEqual(children(), [pid]);
  }
});

test("without any process that makes progress, the platform has failed and not the output", LIMIT, async () => {
  await untilThereAre(0);
  const comparer = new Comparer(500);
  const stopping = setInterval(() => {
    for (const pid of children()) process.kill(pid, "SIGSTOP");
  }, 5);
  try {
    await assert.rejects(compareLong(comparer), ComparerLost);
  } finally {
    clearInterval(stopping);
  }
  assert.equal((await compareLong(comparer)).passed, true);
});

test("no output of the allowed size exceeds the budget of a comparison, with eight answers", LIMIT, async () => {
  const comparer = new Comparer();
  const size = 1_048_576;
  const fill = (part: string) => part.repeat(Math.ceil(size / part.length)).slice(0, size);
  for (const type of ["lines", "floats", "unordered_lines"] as const)
    for (const part of ["1.\n", "12345678\n"]) {
      const output = text(fill(part));
      const answers = Array.from({ length: 8 }, (_, at) => text(`${fill(part)} ${at}`));
      const options = { owner: "a", signal: never };
      assert.equal((await comparer.compare({ type, relative: 1e-17 }, output, answers, options)).passed, false);
    }
});

const TRIES = 5;

test("the slowest texts that are known take a quarter of the budget at most", SLOWLY, (t) => {
  const size = 262_144;
  const fill = (part: string) => text(part.repeat(size / part.length));
  // With these tolerances all numbers pass, so that none ends the comparison.
  const both = { absolute: 1.234567890123456, relative: 1.234567890123456 };
  for (const [ours, theirs, tolerances] of [
    ["1e9 ", "9e999 ", both],
    ["1e-6 ", "0 ", both],
    // The difference is that of the tolerances, but for their last digits.
    ["4 ", "7 ", { absolute: 2.9999999999999996, relative: 0.42857142857142866 }],
    ["1 ", "9 ", { absolute: 1.2345678901234568e-5, relative: 1.7976931348623157e308 }],
  ] as const) {
    const [output, answer] = [fill(ours), text(theirs.repeat(size / ours.length))];
    const compare = () => check({ type: "floats", ...tolerances }, output, [answer]);
    assert.equal(compare().passed, true, ours);
    const most = (CPU_MS_PER_BYTE * (output.length + answer.length)) / 4;
    let ms = Number.POSITIVE_INFINITY;
    // Neighbours that share the caches of the processor can only lengthen it: the shortest of several times is that of the comparison.
    for (let tries = 0; tries < TRIES && ms >= most; tries++) {
      const began = process.threadCpuUsage();
      compare();
      const { user, system } = process.threadCpuUsage(began);
      ms = Math.min(ms, (user + system) / 1e3);
    }
    t.diagnostic(`${Math.round(ms)} of ${Math.round(most)} ms for ${ours}`);
    assert.ok(ms < most, `${ms} of ${most} ms for ${ours}`);
  }
});

test("a comparison that takes long delays no other account", LIMIT, async () => {
  const comparer = new Comparer();
  const ended: string[] = [];
  const slow = Array.from({ length: 2 }, () =>
    regex(comparer, AS, String(SLOW[0]), "busy").then(() => void ended.push("busy")),
  );
  const other = regex(comparer, text("1"), "1", "other").then(() => void ended.push("other"));
  await Promise.all([...slow, other]);
  assert.equal(ended[0], "other", String(ended));
});

test("accounts share the time, not the number of comparisons", LIMIT, async () => {
  const comparer = new Comparer();
  const ended: string[] = [];
  const compare = (owner: string, output: Buffer, answer: string) =>
    regex(comparer, output, answer, owner)
      .catch(() => {})
      .then(() => void ended.push(owner));
  // The owner sends one after the other, like a judgement with few slots: it never has two in the queue.
  const slow = async () => {
    for (let i = 0; i < 2; i++) await compare("busy", AS, String(SLOW[0]));
  };
  await Promise.all([slow(), ...Array.from({ length: 20 }, () => compare("other", text("1"), "1"))]);
  assert.deepEqual(ended.slice(0, 20), Array(20).fill("other"));
});

test("an account that begins while the last comparison of another is under way owes it nothing", SLOWLY, async () => {
  const comparer = new Comparer();
  const ended: string[] = [];
  const slow = (owner: string) => regex(comparer, AS, String(SLOW[0]), owner).then(() => void ended.push(owner));
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
  second.abort();
  first.abort();
  await assert.rejects(under, ComparisonError);
  await assert.rejects(waiting, ComparisonError);
  await assert.rejects(regex(comparer, AS, "a", "a", first.signal), ComparisonError);
  assert.equal((await last).passed, true);
});
