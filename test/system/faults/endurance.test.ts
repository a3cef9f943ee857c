import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Slot } from "../../../src/sandbox/slot.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { useProduct } from "../../support/programs/product.ts";
import { shell } from "../../support/sandbox/steps.ts";
import { type Footprint, footprint, openFiles } from "./footprint.ts";
import { HOSTILE_STEPS } from "./hostile-steps.ts";

/** bench/README.md has the results for 20,000. */
const RUNS = Number(process.env.ASSAY_TEST_RUNS ?? 600);
const SAMPLES = 20;
/** One in SERVED runs goes through the whole service. One in HANGS_UP clients disconnects during its run. */
const SERVED = 20;
const HANGS_UP = 25;
const DIRECT = 2;
const MIB = 1 << 20;

/**
 * Allowed growth from the first quarter to the last, by median. Counts may not grow. Memory may grow by what allocators
 * keep: for 20,000 runs, 1 MiB is 52 bytes a run.
 */
const MAY_GROW: Readonly<Record<string, number>> = {
  launcherBytes: MIB / 4,
  slotBytes: MIB,
  serviceBytes: 40 * MIB,
  /** Connections of clients that come and go. */
  serviceDescriptors: 4,
  /** Groups of the last few boxes, until the kernel frees them. A leak would be one for each run. */
  dyingGroups: 16,
};
const OF_MACHINE = /OfMachine$/;

const product = useProduct({ workers: 1, moreSlots: DIRECT });

/** A client with a direct slot, which is reopened after each disconnection. */
class Direct {
  readonly seen = new Map<string, number>();
  #slot: Slot | undefined;

  async run(number: number): Promise<void> {
    const { launcher } = product();
    while (!this.#slot?.alive) this.#slot = await Slot.open(launcher.socket).catch(() => void sleep(5));
    if (number % HANGS_UP === 0) return await this.#hangUp(this.#slot);
    const { name, verdict, step } = HOSTILE_STEPS[number % HOSTILE_STEPS.length] as (typeof HOSTILE_STEPS)[number];
    const report = await this.#slot.run(step).catch((cause: unknown) => {
      throw new Error(`${name}: the slot was lost: ${launcher.stderr()}`, { cause });
    });
    const { result, evidence } = buildOutcome({ execute: report });
    assert.equal(result.verdict, verdict, `${name}: ${JSON.stringify(result)}`);
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
  const { run } = product();
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

/** Waits until the service has its reading connection, which it opens when a read first waits for a transaction, and keeps. */
async function openReader(): Promise<void> {
  const reading = () => openFiles(product().service.process.pid ?? 0, "assay.sqlite") > 1;
  for (let tries = 0; !reading(); tries++) {
    assert.ok(tries < 20, "the service opened no reading connection");
    await Promise.all(Array.from({ length: 20 }, () => serve(0)));
  }
}

const middle = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

test(`launcher, slots and service do not grow over ${RUNS} mixed, mostly hostile runs`, {
  timeout: 3_600_000,
}, async (t) => {
  await openReader();
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
    // Reopens the slots of clients that disconnected last, and lets every slot park its box.
    for (const client of clients) await client.run(1);
    await sleep(200);
    samples.push(footprint(product().launcher, product().service.process.pid ?? 0));
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
  // One-time costs of the first runs (compiled code, kept buffers) are in the first sample, which does not count.
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
