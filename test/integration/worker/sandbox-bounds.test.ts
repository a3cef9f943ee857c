import assert from "node:assert/strict";
import { test } from "node:test";
import { SandboxRefused } from "../../../src/domain/sandboxes/sandbox.ts";
import { SNAPSHOTS_AT_ONCE } from "../../../src/worker/sandboxes/snapshots.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { keeperOf, temporarySnapshots } from "../../support/sandboxes/keeper.ts";
import { MemoryEngine } from "../../support/sandboxes/memory-engine.ts";
import { addKey, temporaryStore } from "../../support/store/temporary.ts";

/* Rows of the table of work of the service in docs/security.md#sandboxes that no other file tries. */

const MIB = 1_048_576;
const PIECE = "y".repeat(MIB); // of which many cost little time

test("all terminals of an account together pass 16 MiB a second, and those of another account are not slowed", async (t) => {
  const { store, clock } = await temporaryStore(t);
  clock.nowMs = Date.now();
  const engine = new MemoryEngine(async ({ write }) => {
    for (let n = 0; n < 6; n++) await write(PIECE);
    return {};
  });
  const keeper = keeperOf(t, { engine, store });
  const terminal = { terminal: { rows: 24, cols: 80 } };
  /** Runs terminals of an account at the same time, of which each writes 6 MiB. @returns how long that takes. */
  const run = async (name: string, terminals: number): Promise<number> => {
    const key = await addKey(store, name);
    const { id, accountId } = await keeper.create(sandboxRequest(), callerOf(key), null);
    const living = await keeper.find(id, accountId);
    const beganMs = performance.now();
    const runs = Array.from({ length: terminals }, () => living.execute(shellRequest("yes", terminal)));
    await Promise.all(runs.map(async (one) => (await one).ended));
    return performance.now() - beganMs;
  };
  // 72 MiB, of which 4 MiB pass at once, and the others at 16 MiB/s. Each terminal alone would take 1.25 s.
  const [manyMs, oneMs] = await Promise.all([run("many", 12), run("one", 1)]);
  assert.ok(manyMs >= 4_100, `${manyMs} ms`);
  assert.ok(oneMs < manyMs, `${oneMs} ms next to ${manyMs} ms`);
});

test("accounts share 16 places for snapshots that are taken and sandboxes that begin with one", async (t) => {
  const { store } = await temporaryStore(t);
  const snapshots = await temporarySnapshots(store, 16 * MIB);
  const full = (error: unknown) => SandboxRefused.is(error, "snapshotsFull");
  const half = SNAPSHOTS_AT_ONCE / 2;
  const held = [];
  for (let n = 0; n < half; n++) held.push(await snapshots.place("one"));
  const beyondHalf = assert.rejects(snapshots.place("one"), full, "an account leaves as many free as it has");
  for (let n = 0; n < half; n++) held.push(await snapshots.place(`other ${n}`));
  await Promise.all([beyondHalf, assert.rejects(snapshots.place("late"), full)]);
  const waits = snapshots.place("next");
  held[0]?.();
  (await waits)();
});
