import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import fc from "fast-check";
import { addKey, onEachDatabase, START_MS, type Temporary } from "../../support/store/temporary.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Backward steps of the clock, from a day to a second. */
const STEPS = [-24 * 60 * MINUTE, -60 * MINUTE, -MINUTE, -10 * SECOND, -SECOND];

onEachDatabase((temporaryStore) => {
  test("Retry-After is exact: a request passes after it, and is rejected a second earlier", async (t) => {
    const { store, clock } = await temporaryStore(t);
    await addKey(store, "a");
    await addKey(store, "b");
    const at = (ms: number) => {
      clock.nowMs = START_MS + ms;
    };
    assert.equal(await store.quota.take("a", 2), 0);
    at(10_500);
    assert.equal(await store.quota.take("a", 2), 0);
    at(20_000);
    assert.equal(await store.quota.take("a", 2), 40);
    at(59_000);
    assert.equal(await store.quota.take("a", 2), 1);
    at(60_000);
    assert.equal(await store.quota.take("a", 2), 0);
    assert.equal(await store.quota.take("a", 2), 11);
    assert.equal(await store.quota.take("b", 2), 0, "another key is not affected");
  });

  test("requests never exceed the limit in any minute, and pass after the returned wait", async (t) => {
    const { store, clock } = await temporaryStore(t);
    let keys = 0;
    const step = fc.record({
      gapMs: fc.nat(25_000),
      limit: fc.integer({ min: 1, max: 6 }),
      amount: fc.integer({ min: 1, max: 4 }),
    });
    const history = fc.array(step, { minLength: 5, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const key = `key ${keys++}`;
        await addKey(store, key);
        const passed: number[] = [];
        const recent = () => passed.filter((ms) => ms > clock.nowMs - MINUTE).length;
        for (const { gapMs, limit, amount } of steps) {
          clock.nowMs += gapMs;
          const { waitSecs: wait, used, resetSecs } = await store.quota.count(key, limit, { amount });
          const counted = recent() + (wait === 0 ? amount : 0);
          const ended = passed.filter((ms) => ms <= clock.nowMs - MINUTE);
          const oldest = passed[ended.length] ?? clock.nowMs;
          assert.equal(Math.min(used, limit), Math.min(counted, limit), "requests in the window");
          if (counted > 0 && counted <= limit)
            assert.equal(resetSecs, Math.ceil((oldest + MINUTE - clock.nowMs) / SECOND));
          const fits = recent() + amount <= limit;
          assert.equal(wait === 0, fits, `${amount} with limit ${limit} and ${recent()} in the last minute`);
          if (amount > limit) {
            assert.equal(wait, 60, "never admitted");
            continue;
          }
          if (wait > 0) {
            clock.nowMs += (wait - 1) * SECOND;
            assert.notEqual(await store.quota.take(key, limit, { amount }), 0, "a second earlier");
            clock.nowMs += SECOND;
            assert.equal(await store.quota.take(key, limit, { amount }), 0, "after the returned wait");
          }
          for (let one = 0; one < amount; one++) passed.push(clock.nowMs);
          assert.ok(recent() <= limit);
        }
      }),
      { numRuns: 30 },
    );
  });

  test("a raised limit applies at once, and a lowered limit counts earlier requests", async (t) => {
    const { store, clock } = await temporaryStore(t);
    await addKey(store, "a");
    for (let i = 0; i < 5; i++) {
      assert.equal(await store.quota.take("a", 5), 0);
      clock.nowMs += SECOND;
    }
    assert.equal(await store.quota.take("a", 5), 55);
    assert.equal(await store.quota.take("a", 6), 0);
    assert.equal(await store.quota.take("a", 2), 59, "the last but one must be a minute old");
    clock.nowMs += 59 * SECOND;
    assert.equal(await store.quota.take("a", 2), 0);
    assert.equal(await store.quota.take("a", 0), 60, "a limit of zero");
  });

  test("concurrent requests never exceed the limit, and rejected requests do not count", async (t) => {
    const { store, clock } = await temporaryStore(t);
    await addKey(store, "a");
    const take = (count: number) => Promise.all(Array.from({ length: count }, () => store.quota.take("a", 20)));
    assert.equal((await take(100)).filter((wait) => wait === 0).length, 20);
    assert.ok((await take(50)).every((wait) => wait === 60));
    clock.nowMs += MINUTE;
    assert.equal((await take(100)).filter((wait) => wait === 0).length, 20);
  });

  test("of two large requests that do not fit together, one is admitted, and the other leaves the rest to others", async (t) => {
    const { store } = await temporaryStore(t);
    await addKey(store, "a");
    const large = () => store.quota.take("a", 50, { amount: 30 });
    assert.deepEqual((await Promise.all([large(), large()])).sort(), [0, 60]);
    const small = await Promise.all(Array.from({ length: 21 }, () => store.quota.take("a", 50)));
    assert.equal(small.filter((wait) => wait === 0).length, 20);
  });

  test("many concurrent requests that count as hundreds are counted, however many rows that takes", async (t) => {
    const { store } = await temporaryStore(t);
    const keys = Array.from({ length: 80 }, (_, at) => `key ${at}`);
    for (const key of keys) await addKey(store, key);
    const waits = await Promise.all(keys.map((key) => store.quota.take(key, 1_000, { amount: 400 })));
    assert.ok(waits.every((wait) => wait === 0));
    for (const key of keys) assert.equal((await store.quota.count(key, 1_000, { amount: 600 })).used, 1_000);
  });

  test("a large request that was refused is admitted when it is repeated after the returned wait", async (t) => {
    const { store, clock } = await temporaryStore(t);
    await addKey(store, "a");
    const attempt = async () => {
      const wait = await store.quota.take("a", 10); // before its size is known
      return wait || (await store.quota.take("a", 10, { amount: 5, counted: 1 }));
    };
    for (let i = 0; i < 5; i++) {
      assert.equal(await store.quota.take("a", 10), 0);
      clock.nowMs += SECOND;
    }
    // Five requests count, and this attempt as one. If it is repeated as one and then as five, two of the first five must be a
    // minute old, which the second is at 61 s.
    assert.equal(await attempt(), 56);
    clock.nowMs += 55 * SECOND;
    assert.notEqual(await store.quota.take("a", 10, { amount: 6 }), 0, "a second earlier");
    clock.nowMs += SECOND;
    assert.equal(await attempt(), 0);
  });

  test("an unknown key is rejected by the database without failing concurrent requests", async (t) => {
    const { store } = await temporaryStore(t);
    await addKey(store, "a");
    const [good, bad] = await Promise.allSettled([store.quota.take("a", 5), store.quota.take("nobody's", 5)]);
    assert.deepEqual(good, { status: "fulfilled", value: 0 });
    assert.ok(bad?.status === "rejected" && /foreign key/i.test(String(bad.reason)), String(bad));
  });

  test("a backward clock step neither blocks a key for over a minute nor exceeds its limit", async (t) => {
    const { store, clock } = await temporaryStore(t);
    for (const [i, step] of STEPS.entries()) {
      const key = `key ${i}`;
      await addKey(store, key);
      for (let n = 0; n < 3; n++) {
        assert.equal(await store.quota.take(key, 3), 0);
        clock.nowMs += SECOND;
      }
      clock.nowMs += step;
      const wait = await store.quota.take(key, 3);
      assert.ok(wait >= 57 && wait <= 65, `${step}: ${wait}`);
      clock.nowMs += (wait - 1) * SECOND;
      assert.equal(await store.quota.take(key, 3), 1, String(step));
      clock.nowMs += SECOND;
      assert.equal(await store.quota.take(key, 3), 0, String(step));
      clock.nowMs += MINUTE;
    }
  });

  test("requests are counted if the clock is slightly behind that of another process", async (t) => {
    const { store, clock } = await temporaryStore(t);
    await addKey(store, "a");
    for (const skewMs of [0, -300, 200, -1_000, 800]) {
      clock.nowMs += skewMs;
      assert.equal(await store.quota.take("a", 5), 0);
    }
    const wait = await store.quota.take("a", 5);
    clock.nowMs += wait * SECOND - SECOND;
    assert.notEqual(await store.quota.take("a", 5), 0);
    clock.nowMs += SECOND;
    assert.equal(await store.quota.take("a", 5), 0);
  });

  test("several processes share one count", async (t) => {
    const temporary = await temporaryStore(t);
    await addKey(temporary.store, "a");
    const passed = await takers(temporary, 3, 40);
    assert.equal(
      passed.reduce((sum, count) => sum + count),
      50,
    );
    assert.equal(await temporary.store.quota.take("a", 50), 60);
    assert.equal(await temporary.store.quota.take("a", 51), 0);
  });

  test("several processes share one count of requests that count as several, of which none is admitted in part", async (t) => {
    const temporary = await temporaryStore(t);
    await addKey(temporary.store, "a");
    const passed = await takers(temporary, 3, 40, 7);
    assert.equal(
      passed.reduce((sum, count) => sum + count),
      7,
    );
    assert.equal(await temporary.store.quota.take("a", 50), 0);
    assert.equal(await temporary.store.quota.take("a", 50), 60);
  });

  test("expired counts are deleted, and counting continues", async (t) => {
    const { store, clock } = await temporaryStore(t);
    await addKey(store, "a");
    for (let i = 0; i < 4; i++) await store.quota.take("a", 4);
    clock.nowMs += 30 * SECOND;
    await store.quota.take("a", 5);
    await store.quota.forget();
    assert.equal(await store.quota.take("a", 5), 30, "no request that counts is deleted");
    clock.nowMs += 10 * MINUTE;
    await store.quota.forget();
    await store.quota.forget();
    for (let i = 0; i < 4; i++) assert.equal(await store.quota.take("a", 4), 0);
    assert.equal(await store.quota.take("a", 4), 60);
  });
});

/** Starts processes that make concurrent requests with a limit of 50. @returns the admitted requests of each. */
async function takers({ database, clock }: Temporary, processes: number, count: number, amount = 1): Promise<number[]> {
  const script = new URL("./quota-taker.ts", import.meta.url).pathname;
  const args = [script, JSON.stringify({ database }), "a", "50", String(count), String(clock.nowMs), String(amount)];
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] }),
  );
  await Promise.all(children.map(({ stdout }) => once(stdout, "data")));
  const outputs = children.map(async ({ stdout }) => Number(String((await once(stdout, "data"))[0])));
  for (const { stdin } of children) stdin.write("go\n");
  return await Promise.all(outputs);
}
