import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ClientError } from "../../../src/domain/error.ts";
import { WorkTurns } from "../../../src/fairness/turn.ts";

test("runs two at once, queues three in order and rejects more; a failure counts no longer", async () => {
  const bounded = new WorkTurns({ atOnce: { total: 2 }, queue: { perOwner: 3, full: "tooManySignIns" } });
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const asked = Array.from({ length: 6 }, (_, n) =>
    bounded.run("one", async () => {
      begun.push(n);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (n === 0) throw new Error("failed");
      return n;
    }),
  );
  const all = Promise.allSettled(asked);
  await assert.rejects(asked[5] as Promise<number>, (error) => error instanceof ClientError && error.status === 429);
  assert.deepEqual(begun, [0, 1]);
  for (let n = 0; n < 5; n++) {
    ends[n]?.();
    await new Promise(setImmediate);
    assert.deepEqual(
      begun,
      Array.from({ length: Math.min(n + 3, 5) }, (_, at) => at),
    );
  }
  assert.deepEqual(
    (await all).map((one) => (one.status === "fulfilled" ? one.value : "failed")),
    ["failed", 1, 2, 3, 4, "failed"],
  );
  assert.equal(await bounded.run("one", async () => "free again"), "free again");
});

/** A clock by which each piece of work that runs alone takes a millisecond. */
const ticks = () => {
  let ms = 0;
  return () => ms++;
};

test("owners take turns, and a full queue rejects only the work of its owner", async () => {
  const bounded = new WorkTurns({ atOnce: { total: 1 }, queue: { perOwner: 3, full: "tooManySignIns" } }, ticks());
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (owner: string, name: string) =>
    bounded.run(owner, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
  const flood = Array.from({ length: 10 }, (_, n) => run("strangers", `s${n}`));
  const known = [run("ada", "a0"), run("ada", "a1"), run("bob", "b0")];
  const all = Promise.allSettled([...flood, ...known]);
  while (begun.length < 7) {
    ends[begun.length - 1]?.();
    await new Promise(setImmediate);
  }
  ends.at(-1)?.();
  assert.deepEqual(begun, ["s0", "a0", "b0", "s1", "a1", "s2", "s3"]);
  const refused = (await all).map(({ status }) => status === "rejected");
  assert.deepEqual(refused, [...Array(4).fill(false), ...Array(6).fill(true), false, false, false]);
});

test("an owner runs no more than its own limit, leaves the rest to others, and what does not fit is rejected", async () => {
  const bounded = new WorkTurns({ atOnce: { total: 2, perOwner: 1 }, queue: { perOwner: 2, full: "queueFull" } });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (owner: string, name: string) =>
    bounded.run(owner, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const all = [run("ada", "a0"), run("ada", "a1"), run("ada", "a2"), run("ada", "a3"), run("bob", "b0")];
  const settled = Promise.allSettled(all);
  assert.deepEqual(begun, ["a0", "b0"]);
  await assert.rejects(all[3] as Promise<void>, (error) => error instanceof ClientError && error.status === 503);
  for (const [name, next] of Object.entries({
    b0: ["a0", "b0"],
    a0: ["a0", "b0", "a1"],
    a1: ["a0", "b0", "a1", "a2"],
  })) {
    ends.get(name)?.();
    await new Promise(setImmediate);
    assert.deepEqual(begun, next);
  }
  ends.get("a2")?.();
  await settled;
});

test("runs the work of one owner in order, also after a failure; other owners do not wait", async () => {
  const turns = new WorkTurns({ atOnce: { perOwner: 1 } });
  const events: string[] = [];
  const work = (name: string, ms: number, error?: Error) => async () => {
    events.push(`${name} begins`);
    await sleep(ms);
    events.push(`${name} ends`);
    if (error) throw error;
    return name;
  };
  const all = await Promise.allSettled([
    turns.run("a", work("first", 30, new Error("lost"))),
    turns.run("a", work("second", 1)),
    turns.run("b", work("other", 1)),
  ]);
  assert.deepEqual(
    all.map(({ status }) => status),
    ["rejected", "fulfilled", "fulfilled"],
  );
  const others = events.filter((one) => !one.startsWith("other"));
  assert.deepEqual(others, ["first begins", "first ends", "second begins", "second ends"]);
  assert.ok(events.indexOf("other ends") < events.indexOf("first ends"));
});

test("who holds nothing is next, before owners whose queues waited longer but whose work is in progress", async () => {
  const bounded = new WorkTurns({ atOnce: { total: 2 } }, ticks());
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (owner: string, name: string) =>
    bounded.run(owner, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const all = [run("a", "a0"), run("b", "b0"), run("a", "a1"), run("b", "b1"), run("newcomer", "n0")];
  for (const name of ["a0", "n0", "b0", "a1", "b1"]) {
    await new Promise(setImmediate);
    ends.get(name)?.();
  }
  await Promise.all(all);
  assert.deepEqual(begun.slice(0, 3), ["a0", "b0", "n0"]);
});

test("an owner of long work waits for others with short work", async () => {
  let ms = 0;
  const bounded = new WorkTurns({ atOnce: { total: 1 } }, () => ms);
  const begun: string[] = [];
  const run = (owner: string, name: string, takesMs: number) =>
    bounded.run(owner, async () => {
      begun.push(name);
      await new Promise(setImmediate);
      ms += takesMs;
    });
  const long = ["l0", "l1", "l2"].map((name) => run("long", name, 100));
  const short = ["s0", "s1", "s2", "s3"].map((name) => run("short", name, 10));
  await Promise.all([...long, ...short]);
  assert.deepEqual(begun, ["l0", "s0", "s1", "s2", "s3", "l1", "l2"]);
});

/** Work of many owners, two at once, on a clock that only work advances. */
function twoAtOnce(takesMs: (owner: string) => number) {
  let ms = 0;
  const bounded = new WorkTurns({ atOnce: { total: 2, perOwner: 1 } }, () => ms);
  const begun: string[] = [];
  const run = (owner: string, expectedMs = 0) =>
    bounded.run(
      owner,
      async () => {
        begun.push(owner);
        await new Promise(setImmediate);
        ms += takesMs(owner);
      },
      { expectedMs },
    );
  return { run, begun };
}

test("owners of long work that send more as soon as it has ended do not delay a newcomer", async () => {
  const owners = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const { run, begun } = twoAtOnce(() => 100);
  let isOver = false;
  const again = async (owner: string) => {
    while (!isOver) await run(owner);
  };
  const flood = owners.map(again);
  while (begun.length < 30) await new Promise(setImmediate);
  const before = begun.length;
  await run("newcomer");
  isOver = true;
  await Promise.all(flood);
  const passed = begun.slice(before).indexOf("newcomer");
  assert.ok(passed <= 1, `${passed} were served before it`);
  for (const owner of owners) assert.ok(begun.filter((one) => one === owner).length >= 3, begun.join(""));
});

test("work that is expected to be short comes before that of owners who wait with longer work", async () => {
  const { run, begun } = twoAtOnce((owner) => (owner === "short" ? 1 : 100));
  const long = ["a", "b", "c", "d", "e"].map((owner) => run(owner, 50));
  await Promise.all([...long, run("short", 1)]);
  assert.deepEqual(begun, ["a", "b", "short", "c", "d", "e"]);
});

test("owners of short work that send more as soon as it has ended do not keep an owner of long work from being served", async () => {
  const { run, begun } = twoAtOnce((owner) => (owner === "long" ? 100 : 10));
  let isOver = false;
  const again = async (owner: string) => {
    while (!isOver) await run(owner);
  };
  const short = ["u", "v", "w", "x", "y", "z"].map(again);
  const long = run("long", 100);
  for (let n = 0; n < 1_000 && !begun.includes("long"); n++) await new Promise(setImmediate);
  isOver = true;
  assert.ok(begun.includes("long"), "it was never served");
  await Promise.all([...short, long]);
});

test("short work of a newcomer comes before long work that has waited since before others were served", async () => {
  const { run, begun } = twoAtOnce((owner) => (owner === "short" ? 1 : 100));
  const long = ["a", "b", "c", "d", "e", "f", "g"].map((owner) => run(owner, 20));
  while (begun.length < 4) await new Promise(setImmediate);
  await Promise.all([...long, run("short", 1)]);
  assert.ok(begun.indexOf("short") <= 5, String(begun));
});

test("work that is no longer needed leaves the queue at once", async () => {
  const bounded = new WorkTurns({ atOnce: { total: 1 }, queue: { perOwner: 1, full: "queueFull" } });
  let end = () => {};
  const first = bounded.run("a", () => new Promise<void>((resolve) => (end = resolve)));
  const gone = new AbortController();
  const second = bounded.run("a", () => assert.fail("it was run"), { signal: gone.signal });
  gone.abort(new Error("gone"));
  await assert.rejects(second, /gone/);
  await assert.rejects(
    bounded.run("a", () => assert.fail("it was run"), { signal: AbortSignal.abort() }),
    /aborted/,
  );
  const third = bounded.run("a", async () => "run");
  end();
  assert.equal((await Promise.all([first, third]))[1], "run");
});
