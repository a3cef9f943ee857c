import assert from "node:assert/strict";
import { cpus, loadavg } from "node:os";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { CPU_LATE_RATIO, CPU_LATE_USEC } from "../../../src/domain/causes.ts";
import { PROFILE_NAMES } from "../../../src/domain/limits.ts";
import type { StepReport } from "../../../src/domain/report.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { chosenPacks } from "../../../src/languages/packs.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { PLAIN_PACKS } from "../../runner/plan.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { BUSY_PACK_SOURCES, BUSY_SOURCES, multiFile } from "./compilers.ts";
import { buildNeighbours } from "./neighbours.ts";

/**
 * The compile step of Judge0's language 89 is a script of the program. It therefore shows what is possible if a compiler runs code of
 * the program. Pairs of processes that pass a byte back and forth, and are not bound to a CPU, starve every other task of the machine
 * for seconds, even slots of the highest priority and processes that are being killed: a box used 7.9 s of CPU time instead of 2 s,
 * and another box ended 18 s late.
 */

const CPU_MS = 1_000;
const WALL_MS = 2_000;
const END_MS = 250;
/** Twice as many boxes as CPUs: each slot shares its CPU with its own box and with another one. */
const SLOTS = 2 * cpus().length;
const ROUNDS = 2;
const MODES = ["pass-a-byte", "pass-a-futex", "fork-and-exit", "vfork-and-exit", "change-protection"];

const loadFactor = () => Math.max(1, (loadavg()[0] ?? 0) / cpus().length);
const languages = installedLanguages();

describe("a compile step that runs code of the program, on a machine full of them", () => {
  let launcher: Launcher;
  let program: Buffer;
  before(async () => {
    program = buildNeighbours();
    launcher = await startLauncher({ slots: SLOTS });
  });
  after(() => launcher.stop());

  /** Slots that are closed after the test. The launcher accepts a new slot a moment after an old one has ended. */
  async function slotsFor(t: TestContext, count: number): Promise<Slot[]> {
    const slots: Slot[] = [];
    t.after(() => {
      for (const slot of slots) slot.close();
    });
    while (slots.length < count) {
      const slot = await Slot.open(launcher.socket).catch(() => sleep(20, null));
      if (slot) slots.push(slot);
    }
    return slots;
  }

  for (const profile of PROFILE_NAMES) {
    test(`${profile}: is bound to one CPU`, async (t) => {
      const [slot] = (await slotsFor(t, 1)) as [Slot];
      const step = multiFile("sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status", [], profile);
      const { stdout } = await slot.run(step);
      assert.match(stdout.toString(), /^\d+\n$/);
    });
  }

  for (const mode of MODES) {
    test(`${mode}: its CPU limit and its end are met`, async (t) => {
      const slots = await slotsFor(t, SLOTS);
      const reports: StepReport[] = [];
      const hostile = async (slot: Slot) => {
        const step = multiFile(`./neighbours ${mode}`, [{ name: "neighbours", data: program }], "judge");
        for (let round = 0; round < ROUNDS; round++)
          reports.push(await slot.run({ ...step, limits: { ...step.limits, cpuMs: CPU_MS } }));
      };
      await Promise.all(slots.map(hostile));
      t.diagnostic(reports.map(({ cpuUsec, endUsec }) => `${cpuUsec / 1e3} ms, end ${endUsec / 1e3}`).join("; "));
      assert.equal(reports.length, SLOTS * ROUNDS);
      for (const { cpuUsec, endUsec, killReason } of reports) {
        assert.equal(killReason, "cpu");
        assert.ok(cpuUsec <= CPU_MS * 1e3 * CPU_LATE_RATIO + CPU_LATE_USEC, `${cpuUsec} us of CPU time`);
        assert.ok(endUsec / 1e3 < END_MS * loadFactor(), `ended ${endUsec / 1e3} ms after the kill`);
      }
    });
  }

  test("its deadline of wall time and its end are met", async (t) => {
    const slots = await slotsFor(t, SLOTS);
    const step = multiFile("./neighbours pass-a-byte", [{ name: "neighbours", data: program }], "judge");
    const limits = { ...step.limits, wallMs: WALL_MS };
    const reports = await Promise.all(slots.map((slot) => slot.run({ ...step, limits })));
    for (const { wallNs, endUsec, killReason } of reports) {
      assert.equal(killReason, "wall");
      const late = wallNs / 1e6 - WALL_MS + endUsec / 1e3;
      assert.ok(late < END_MS * loadFactor(), `ended ${late} ms after its deadline`);
    }
  });
});

test("no step of any language, pack or profile gets more CPUs than one", () => {
  const known = loadLanguages(LANGUAGES, chosenPacks(LANGUAGES, "all"));
  for (const language of known.list())
    for (const profile of PROFILE_NAMES)
      for (const [step, limits] of Object.entries(known.limitsFor(language, profile)))
        assert.equal(limits.cpus, 1, `${language.name}, ${profile}, ${step}`);
});

test("the table of neighbours has a source for each compiler of the plain run, and its other packs have compilers", () => {
  const known = loadLanguages(LANGUAGES, [...new Set([...PLAIN_PACKS.split(","), ...Object.keys(BUSY_PACK_SOURCES)])]);
  const own = new Set(languages.list().map(({ name }) => name));
  const compiled = known.list().filter(({ name, compile }) => compile && name !== "multifile");
  const names = (which: boolean) => compiled.map(({ name }) => name).filter((name) => own.has(name) === which);
  assert.deepEqual(names(true), Object.keys(BUSY_SOURCES));
  assert.deepEqual(names(false).sort(), Object.keys(BUSY_PACK_SOURCES).sort());
});
