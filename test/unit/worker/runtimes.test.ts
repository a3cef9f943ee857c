import assert from "node:assert/strict";
import { test } from "node:test";
import { loadLanguages } from "../../../src/languages/load.ts";
import type { ParkedRuntime, Slot } from "../../../src/sandbox/slot.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { kindOf, preparations } from "../../../src/worker/preparations.ts";
import { Runtimes } from "../../../src/worker/runtimes.ts";
import { SubmissionMix } from "../../../src/worker/submission-mix.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";

const MIB = 1_048_576;
const ALL = preparations(loadLanguages(LANGUAGES));
const PYTHON = kindOf("python", "judge", false);
const NODE = kindOf("javascript", "judge", false);
const JAVA = kindOf("java", "judge", false);

/** A fake slot that records the steps for which it was prepared. */
function fakeSlot(parked: ParkedRuntime = { waiting: true, bytes: 10 * MIB }) {
  const steps: Step[] = [];
  const park = async (step: Step) => {
    steps.push(step);
    return step.command.park ? parked : { waiting: false, bytes: 0 };
  };
  return { steps, park } as unknown as Slot & { steps: Step[] };
}

/** Starts runtimes in the free slots until none is worth it. @returns their kinds. */
async function fill(runtimes: Runtimes, free: readonly Slot[], idle = true): Promise<string[]> {
  const kinds: string[] = [];
  for (let next = runtimes.next(free, idle); next; next = runtimes.next(free, idle)) {
    await runtimes.start(next.slot, next.preparation);
    kinds.push(next.preparation.kind);
    assert.ok(kinds.length < 50, "it does not end");
  }
  return kinds;
}

const slots = (amount: number) => Array.from({ length: amount }, () => fakeSlot());

test("every language with a runtime can be prepared, also after its artifact is cached", () => {
  const kinds = [...ALL.keys()].filter((kind) => kind.includes("judge")).sort();
  assert.deepEqual(kinds, [
    "java judge",
    "java judge cached",
    "javascript judge",
    "python judge",
    "typescript judge",
    "typescript judge cached",
  ]);
  assert.deepEqual(
    ALL.get(JAVA)?.steps.map(({ work }) => work),
    ["fresh", "keep"],
  );
  assert.equal(ALL.get(JAVA)?.costly, true);
  const [cached] = ALL.get(kindOf("java", "judge", true))?.steps ?? [];
  assert.deepEqual([cached?.work, cached?.limits.workBytes], ["fresh", ALL.get(JAVA)?.steps[0]?.limits.workBytes]);
});

test("without submissions, one of each kind of the profile judge waits", async () => {
  const runtimes = new Runtimes(ALL, 1024 * MIB);
  const kinds = await fill(runtimes, slots(4));
  assert.deepEqual([...kinds].sort(), ["java judge", "javascript judge", "python judge", "typescript judge"]);
  assert.deepEqual([runtimes.amount, runtimes.bytes], [4, 50 * MIB]);
});

test("a runtime whose start is costly starts only in an idle worker", async () => {
  const kinds = await fill(new Runtimes(ALL, 1024 * MIB), slots(3), false);
  assert.equal(kinds.includes(JAVA), false);
  assert.equal(kinds.length, 3);
});

test("the numbers follow the recent submissions", async () => {
  const runtimes = new Runtimes(ALL, 1024 * MIB);
  const free = slots(6);
  for (let times = 0; times < 20; times++) runtimes.take([...free], PYTHON, "one");
  for (let times = 0; times < 10; times++) runtimes.take([...free], NODE, "one");
  const kinds = await fill(runtimes, free);
  assert.deepEqual(
    [kinds.filter((kind) => kind === PYTHON).length, kinds.filter((kind) => kind === NODE).length],
    [4, 2],
  );
});

test("at most two runtimes of a costly kind wait", async () => {
  const runtimes = new Runtimes(ALL, 1024 * MIB);
  for (let times = 0; times < 50; times++) runtimes.take(slots(1), JAVA, "one");
  const kinds = await fill(runtimes, slots(6));
  assert.equal(kinds.filter((kind) => kind === JAVA).length, 2);
});

test("a burst of one kind leaves a runtime of each that was submitted recently", async () => {
  const runtimes = new Runtimes(ALL, 1024 * MIB);
  const free = slots(4);
  runtimes.take([...free], NODE, "one");
  for (let times = 0; times < 500; times++) runtimes.take([...free], PYTHON, "one");
  const kinds = await fill(runtimes, free);
  assert.deepEqual([...kinds].sort(), [NODE, PYTHON, PYTHON, PYTHON]);
});

test("slots without a runtime remain for the recent submissions that have none", async () => {
  const runtimes = new Runtimes(ALL, 1024 * MIB);
  const free = slots(4);
  for (let times = 0; times < 10; times++) runtimes.take([...free], "c judge cached", "one");
  assert.equal((await fill(runtimes, free)).length, 0);
  for (let times = 0; times < 10; times++) runtimes.take([...free], PYTHON, "one");
  assert.deepEqual(await fill(runtimes, free), [PYTHON, PYTHON]);
  assert.deepEqual(await fill(runtimes, free.slice(0, 2)), [], "not while others need the slots");
});

test("a waiting runtime is replaced if another one is more useful", async () => {
  const runtimes = new Runtimes(ALL, 1024 * MIB);
  const [first, second] = [fakeSlot(), fakeSlot()];
  await runtimes.start(first, ALL.get(NODE) as never);
  await runtimes.start(second, ALL.get(PYTHON) as never);
  assert.deepEqual(await fill(runtimes, [first, second]), [], "equally useful");
  for (let times = 0; times < 5; times++) runtimes.take(slots(1), PYTHON, "one");
  assert.deepEqual(await fill(runtimes, [first, second]), [PYTHON]);
});

test("the budget of memory is kept, and 0 disables runtimes", async () => {
  const runtimes = new Runtimes(ALL, 100 * MIB);
  for (let times = 0; times < 20; times++) runtimes.take(slots(1), PYTHON, "one");
  const large = Array.from({ length: 6 }, () => fakeSlot({ waiting: true, bytes: 40 * MIB }));
  await fill(runtimes, large);
  assert.ok(runtimes.bytes <= 100 * MIB, `${runtimes.bytes}`);
  assert.equal(runtimes.amount, 2);
  assert.deepEqual(await fill(new Runtimes(ALL, 0), slots(3)), []);
});

test("a submission gets the slot with its runtime, else one without, else the least useful", async () => {
  const runtimes = new Runtimes(ALL, 1024 * MIB);
  const [python, node, plain] = [fakeSlot(), fakeSlot(), fakeSlot()];
  await runtimes.start(python, ALL.get(PYTHON) as never);
  await runtimes.start(node, ALL.get(NODE) as never);
  assert.equal(runtimes.take([plain, node, python], PYTHON, "one"), python);
  await runtimes.start(python, ALL.get(PYTHON) as never);
  assert.equal(runtimes.take([node, python, plain], "c judge", "one"), plain);
  assert.equal(runtimes.take([python, node], "c judge", "one"), node, "Python was submitted before");
  assert.equal(runtimes.take([], PYTHON, "one"), undefined);
  assert.equal(runtimes.amount, 1);
});

test("a slot whose runtime does not start, or that is lost, has none", async () => {
  const runtimes = new Runtimes(ALL, 1024 * MIB);
  await runtimes.start(fakeSlot({ waiting: false, bytes: 0 }), ALL.get(PYTHON) as never);
  const lost = { park: async () => Promise.reject(new Error("lost")) } as unknown as Slot;
  await runtimes.start(lost, ALL.get(PYTHON) as never);
  const slot = fakeSlot();
  await runtimes.start(slot, ALL.get(PYTHON) as never);
  runtimes.lost(slot);
  assert.deepEqual([runtimes.amount, runtimes.starting, runtimes.bytes], [0, 0, 0]);
});

test("a kind whose runtime does not start is not tried again at once", async () => {
  const runtimes = new Runtimes(ALL, 1024 * MIB);
  const broken = Array.from({ length: 3 }, () => fakeSlot({ waiting: false, bytes: 0 }));
  const kinds = await fill(runtimes, broken);
  assert.equal(new Set(kinds).size, kinds.length);
  assert.deepEqual([runtimes.amount, runtimes.next(broken, true)], [0, undefined]);
});

test("the mix forgets half in a minute", () => {
  const mix = new SubmissionMix();
  mix.add("one", "a", 0);
  assert.deepEqual([mix.of("a", 0), mix.of("a", 60_000), mix.of("b", 0)], [1, 0.5, 0]);
  assert.deepEqual([mix.recency("a", 60_000), mix.recency("b", 0)], [0.5, 0]);
  mix.add("one", "b", 60_000);
  const sum = mix.of("a", 60_000) + mix.of("b", 60_000);
  assert.ok(Math.abs(mix.of("b", 60_000) - 2 / 3) < 1e-9 && Math.abs(sum - 1) < 1e-9, "the newer one counts twice");
});

test("in the mix, a thousand submissions of one account weigh as much as one of another", () => {
  const mix = new SubmissionMix();
  for (let times = 0; times < 1_000; times++) mix.add("hostile", "a", times);
  mix.add("honest", "b", 1_000);
  const [a, b] = [mix.of("a", 1_000), mix.of("b", 1_000)];
  assert.ok(Math.abs(a - b) < 0.01 && b === 1, `${a} and ${b}`);
});

test("the mix forgets accounts beyond a thousand, and their weights with them", () => {
  const mix = new SubmissionMix();
  for (let at = 0; at < 5_000; at++) mix.add(`account ${at}`, `kind ${at % 2_500}`, 0);
  const weights = Array.from({ length: 2_500 }, (_, at) => mix.of(`kind ${at}`, 0));
  assert.equal(weights.filter((weight) => weight > 0).length, 1_000);
  assert.ok(Math.abs(weights.reduce((sum, one) => sum + one, 0) - 1_000) < 1e-6);
});

test("an account that submits in every other language leaves a runtime for the one of another account", async () => {
  const runtimes = new Runtimes(ALL, 1024 * MIB);
  const free = slots(4);
  const others = [...ALL.keys()].filter((kind) => kind !== PYTHON);
  let cold = 0;
  for (let round = 0; round < 20; round++) {
    const waits = free.filter((slot) => runtimes.kindOf(slot) === PYTHON).length;
    if (waits === 0) cold++;
    runtimes.take([...free], PYTHON, "honest");
    await fill(runtimes, free);
    for (let times = 0; times < 50; times++) {
      runtimes.take([...free], others[times % others.length] ?? "", "hostile");
      await fill(runtimes, free);
    }
  }
  assert.ok(cold <= 1, `${cold} of 20 submissions found no runtime`);
});
