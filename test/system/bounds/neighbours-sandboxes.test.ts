import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { describe as described, execution, hold, output } from "../../support/launcher/sandbox.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { connected } from "../launcher/raw.ts";
import { buildNeighbours, JUDGE, modeFrame } from "./neighbours.ts";

const SANDBOXES = 100;
const MIB = 1_048_576;
const LIMITS = { memoryBytes: 48 * MIB, processes: 12, diskBytes: 8 * MIB, inodes: 256 };
const RUN = { memoryBytes: 24 * MIB, processes: 10, openFiles: 64, wallMs: 120_000, cpuMs: 120_000 };
/** As in neighbours.test.ts, and circles of sockets, which threads of the kernel collect, get the same exception. */
const MOST = 1.25;
const MOST_CIRCLES = 3;
const TRIES = 3;
const MORE_TRIES = 12;
/** Time for the programs of all sandboxes to start. */
const WARM_UP_MS = 2_000;
const HOSTILE = [
  ...["busy-60", "circles", "fork-and-exit"],
  ...(SKIPS_LONG
    ? []
    : ["pass-a-byte", "pass-a-futex", "vfork-and-exec", "threads-that-exit", "change-protection", "signals", "timers"]),
  ...(SKIPS_LONG ? [] : ["touch-and-drop", "files", "look-ups", "read-image"]),
];

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

describe(`a submission next to programs in ${SANDBOXES} sandboxes`, () => {
  let launcher: Launcher;
  let program: Buffer;
  const boxes: HeldSandbox[] = [];
  const slots: AttachedSlot[] = [];
  before(async () => {
    program = buildNeighbours();
    launcher = await startLauncher({
      slots: 1,
      sandboxes: SANDBOXES,
      sandboxMemory: 2 * SANDBOXES * LIMITS.memoryBytes,
    });
    for (let n = 0; n < SANDBOXES; n++) {
      const box = await hold(launcher, LIMITS, n % 4); // four accounts
      boxes.push(box);
      const slot = await box.attach();
      slots.push(slot);
      await output(slot, "cat > neighbours && chmod 700 neighbours", { stdin: program });
    }
  });
  after(async () => {
    for (const box of boxes) assert.equal((await box.end()).reaped, true);
    assert.equal(await launcher.stop(), 0);
  });

  /** How long a submission takes while the program of each sandbox runs in this mode, in milliseconds. */
  async function beside(mode: string): Promise<number> {
    const neighbours = slots.map((slot) => slot.run(execution(["./neighbours", mode], { limits: RUN })));
    const ended = neighbours.map((one) => one.then(() => {}));
    await sleep(WARM_UP_MS);
    const own = await connected(launcher.socket);
    try {
      own.send(modeFrame(program, "compute", JUDGE));
      const { entries } = await own.until("ENDED");
      assert.equal(entries.optionalInt("EXIT_CODE"), 0, mode);
      return Number(entries.big("WALL_NS")) / 1e6;
    } finally {
      own.close();
      for (const slot of slots) slot.kill();
      await Promise.all(ended);
      for (const [at, box] of boxes.entries()) slots[at] = await box.attach();
    }
  }

  for (const mode of HOSTILE)
    test(`${mode}: at most ${mode === "circles" ? MOST_CIRCLES : MOST} times as long as next to busy ones`, async (t) => {
      const ratios: number[] = [];
      const most = mode === "circles" ? MOST_CIRCLES : MOST;
      for (let tries = 0; tries < TRIES || (median(ratios) > most && tries < TRIES + MORE_TRIES); tries++) {
        const floor = await beside("busy");
        ratios.push((await beside(mode)) / floor);
      }
      t.diagnostic(`median ${median(ratios).toFixed(2)} of ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")}`);
      assert.ok(median(ratios) <= most, `the median of ${ratios.length} tries is above the bound`);
    });

  test("each sandbox still answers", async () => {
    for (const slot of slots) {
      const report = await slot.run(execution("echo lives"));
      assert.equal(report.stdout.toString(), "lives\n", described(report));
    }
  });
});
