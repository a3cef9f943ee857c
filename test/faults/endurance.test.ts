import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Slot } from "../../src/sandbox/slot.ts";
import { conclude } from "../../src/verdict/conclude.ts";
import { useEngine } from "../engine/engine.ts";
import { shell } from "../sandbox/steps.ts";
import { type Footprint, footprint } from "./footprint.ts";
import { HOSTILE_STEPS } from "./hostile-steps.ts";

/** bench/README.md has the figures of 20,000. */
const RUNS = Number(process.env.ASSAY_TEST_RUNS ?? 600);
const SAMPLES = 20;
/** One of so many goes through the whole service, and one of so many clients hangs up in the middle of its run. */
const SERVED = 20;
const HANGS_UP = 25;
const DIRECT = 2;
const MIB = 1 << 20;

/**
 * How much more the last quarter may have than the first, in the middle of each. Whatever is counted may not grow at all;
 * memory may, by what allocators keep: with 20,000 runs, 1 MiB is 52 bytes a run.
 */
const MAY_GROW: Readonly<Record<string, number>> = {
  launcherBytes: MIB / 4,
  slotBytes: MIB,
  serviceBytes: 40 * MIB,
  /** Connections of clients that come and go. */
  serviceDescriptors: 4,
  /** Those of the last few boxes, until the kernel is done with them: a leak would be one a run. */
  dyingGroups: 16,
};
const OF_MACHINE = /OfMachine$/;

const engine = useEngine({ workers: 1, moreSlots: DIRECT });

/** Two slots beside those of the service, each opened again when its client has hung up. */
class Direct {
  readonly seen = new Map<string, number>();
  #slot: Slot | undefined;

  async run(number: number): Promise<void> {
    const { launcher } = engine();
    while (!this.#slot?.alive) this.#slot = await Slot.open(launcher.socket).catch(() => void sleep(5));
    if (number % HANGS_UP === 0) return await this.#hangUp(this.#slot);
    const { name, verdict, step } = HOSTILE_STEPS[number % HOSTILE_STEPS.length] as (typeof HOSTILE_STEPS)[number];
    const report = await this.#slot.run(step).catch((cause: unknown) => {
      throw new Error(`${name}: the slot was lost: ${launcher.stderr()}`, { cause });
    });
    const { judgement, evidence } = conclude({ execute: report });
    assert.equal(judgement.verdict, verdict, `${name}: ${JSON.stringify(judgement)}`);
    assert.equal(evidence?.teardown.cleanupVerified, true, name);
    this.seen.set(verdict, (this.seen.get(verdict) ?? 0) + 1);
  }

  async #hangUp(slot: Slot): Promise<void> {
    const running = slot.run(shell("sleep 600 & sleep 600"));
    await sleep(5);
    slot.close();
    await assert.rejects(running, { name: "SandboxError" });
    this.seen.set("hung up", (this.seen.get("hung up") ?? 0) + 1);
  }

  close(): void {
    this.#slot?.close();
  }
}

async function serve(number: number): Promise<void> {
  const { run } = engine();
  const programs = [
    "print(1)",
    "raise SystemExit(3)",
    "import os\nif os.fork() == 0: os.setsid(); os.pause()",
  ] as const;
  const record = (await run("python", programs[Math.floor(number / SERVED) % programs.length] ?? "")) as {
    status: string;
  };
  assert.equal(record.status, "completed");
}

const middle = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

test(`${RUNS} mixed runs, most of them hostile, leave launcher, slots and service as they were`, {
  timeout: 3_600_000,
}, async (t) => {
  const clients = Array.from({ length: DIRECT }, () => new Direct());
  const samples: Footprint[] = [];
  let next = 0;
  const begun = performance.now();
  for (let sample = 1; sample <= SAMPLES; sample++) {
    const until = Math.round((RUNS * sample) / SAMPLES);
    const work = async (client: Direct) => {
      for (let number = next++; number < until; number = next++) {
        if (number % SERVED === SERVED - 1) await serve(number);
        else await client.run(number);
      }
    };
    await Promise.all(clients.map(work));
    next = until;
    // The slot of whoever hung up last is opened again, and every box is parked.
    for (const client of clients) await client.run(1);
    await sleep(200);
    samples.push(footprint(engine().launcher, engine().service.process.pid ?? 0));
  }
  const seconds = (performance.now() - begun) / 1000;
  for (const client of clients) client.close();
  const all = Object.fromEntries(
    [...new Set(clients.flatMap(({ seen }) => [...seen.keys()]))]
      .toSorted()
      .map((key) => [key, clients.reduce((sum, { seen }) => sum + (seen.get(key) ?? 0), 0)]),
  );
  t.diagnostic(`${RUNS} runs in ${seconds.toFixed(0)} s: ${JSON.stringify(all)}`);
  assert.deepEqual(Object.keys(all), ["AC", "FSE", "MLE", "PLE", "RE", "SIG", "TLE", "hung up"]);

  const quarter = Math.ceil(SAMPLES / 4);
  // What the first runs bring about, once and for all (compiled code, kept buffers), is over in the first sample.
  const [first, last] = [samples.slice(1, 1 + quarter), samples.slice(-quarter)];
  const grown: string[] = [];
  for (const name of Object.keys(samples[0] ?? {}) as (keyof Footprint)[]) {
    const [before, after] = [middle(first.map((one) => one[name])), middle(last.map((one) => one[name]))];
    const peak = Math.max(...samples.map((one) => one[name]));
    t.diagnostic(`${name}: ${before} in the first quarter, ${after} in the last, ${peak} at most`);
    if (!OF_MACHINE.test(name) && after > before + (MAY_GROW[name] ?? 0)) grown.push(`${name}: ${before} to ${after}`);
  }
  assert.deepEqual(grown, []);
});
