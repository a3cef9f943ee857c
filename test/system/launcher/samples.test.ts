import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MAX_SAMPLES, type Sample } from "../../../src/domain/samples.ts";
import { decodeSamples } from "../../../src/sandbox/report.ts";
import type { Entries } from "../../../src/sandbox/wire.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, read } from "../../support/launcher/machine.ts";
import { connected, type Entry, type Raw, run, step } from "./raw.ts";

const MiB = 1 << 20;
/** The share of the run time that a slot may spend for samples. */
const SAMPLES_SHARE = 0.03;
/** The additional share for searches of a box with enough kernel memory for page tables that matter (launcher/supervise/kill.c). */
const SEARCH_SHARE = 0.05;

/** A program that allocates a MiB every 4 ms. */
const EATS = `
import time
taken = []
while True:
    taken.append(bytearray(b"x") * (1 << 20))
    time.sleep(0.004)`;
/** A program of 31 processes and threads that start new ones all the time. */
const MANY = `
import os, threading, time
for n in range(20):
    try: child = os.fork()
    except BlockingIOError: break # the threads of the others are quicker
    if child == 0:
        while True:
            t = threading.Thread(target=lambda: None)
            try: t.start()
            except RuntimeError: pass
time.sleep(60)`;

const python = (source: string, changed: Parameters<typeof step>[1] = {}) =>
  step(["/usr/bin/python3", "-I", "-S", "-c", source], changed);

let launcher: Launcher;
let raw: Raw;
before(async () => {
  launcher = await startLauncher({ slots: 1 });
  raw = await connected(launcher.socket);
});
after(async () => {
  raw.close();
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

async function sampled(entries: readonly Entry[]): Promise<{ ended: Entries; samples: Sample[] }> {
  const { ended } = await run(raw, entries);
  return { ended, samples: decodeSamples(ended.bytes("SAMPLES")) };
}

describe("the course of a run", () => {
  test("memory rises to the limit that ends the program", async () => {
    const limit = 64 * MiB;
    const { ended, samples } = await sampled(python(EATS, { MEMORY_BYTES: limit }));
    assert.ok(ended.int("OOM_KILLS") > 0);
    const memory = samples.map(({ memoryBytes }) => memoryBytes);
    assert.ok(Math.max(...memory) <= limit);
    assert.ok((memory.at(-1) ?? 0) > limit * 0.9, `the last of ${memory}`);
    assert.ok((memory[0] ?? limit) < limit / 2, `the first of ${memory}`);
  });

  test("a program that sleeps uses time, but no CPU time", async () => {
    const { samples } = await sampled(step(["/bin/sleep", "0.6"]));
    const [first, last] = [samples[0], samples.at(-1)];
    assert.ok(first && last && samples.length >= 10, `${samples.length} samples`);
    assert.ok(last.atUsec > 450_000 && last.atUsec < 10_000_000, `the last at ${last.atUsec} us`);
    assert.ok(last.cpuUsec - first.cpuUsec < 2_000, `${first.cpuUsec} us grew to ${last.cpuUsec} us`);
  });

  test("a busy program's CPU time grows to that of its evidence", async () => {
    const { ended, samples } = await sampled(step(["/bin/sh", "-c", "while :; do :; done"], { CPU_MS: 500 }));
    const last = samples.at(-1)?.cpuUsec ?? 0;
    assert.equal(ended.text("KILL_REASON"), "cpu");
    assert.ok(last > 400_000 && last <= ended.int("CPU_USEC"), `${last} of ${ended.int("CPU_USEC")} us`);
  });

  test("a run that ends before the first sample has none, and SAMPLE_MS 0 takes none", async () => {
    for (let tries = 0; ; tries++) {
      const { ended } = await run(raw, step(["/bin/true"]));
      assert.ok(tries < 100, "each run took 10 ms");
      if (ended.int("WALL_NS") >= 9_000_000) continue; // on a busy machine
      assert.equal(ended.optionalText("SAMPLES"), null);
      break;
    }
    const { ended } = await run(raw, step(["/bin/sleep", "0.2"], { SAMPLE_MS: 0 }));
    assert.equal(ended.optionalText("SAMPLES"), null);
  });
});

describe("samples are bounded", () => {
  test("a run of 2,500 intervals has as many as there is space for, from its begin to its end", async (t) => {
    const { ended, samples } = await sampled(step(["/bin/sleep", "2.5"], { SAMPLE_MS: 1 }));
    const wallUsec = ended.int("WALL_NS") / 1e3;
    t.diagnostic(`${samples.length} samples in ${wallUsec} us`);
    assert.ok(samples.length > MAX_SAMPLES / 2 && samples.length <= MAX_SAMPLES, `${samples.length} samples`);
    assert.ok((samples[0]?.atUsec ?? wallUsec) < wallUsec / 10);
    assert.ok((samples.at(-1)?.atUsec ?? 0) > wallUsec * 0.9);
  });

  for (const [what, most, entries] of [
    ["that waits", SAMPLES_SHARE, step(["/bin/sleep", "2"])],
    ["with many processes and threads", SAMPLES_SHARE + SEARCH_SHARE, python(MANY, { WALL_MS: 2_000, CPU_MS: 60_000 })],
  ] as const)
    test(`those of a program ${what} use little CPU time of the slot`, async (t) => {
      const slots = childrenOf(launcher.pid);
      const before = slots.map(cpuNs);
      const { ended, samples } = await sampled(entries);
      const spentNs = slots.reduce((sum, pid, i) => sum + cpuNs(pid) - (before[i] ?? 0), 0);
      const share = spentNs / ended.int("WALL_NS");
      t.diagnostic(`${samples.length} samples, ${(share * 100).toFixed(2)} % of the time of the run`);
      // About 80 on a machine that does nothing else.
      assert.ok(samples.length > 10, `${samples.length} samples in ${ended.int("WALL_NS")} ns`);
      assert.ok(share < most, `${share} of a CPU`);
    });
});

/** CPU time of a process with one thread. */
function cpuNs(pid: number): number {
  return Number(read(`/proc/${pid}/schedstat`).split(" ")[0]);
}
