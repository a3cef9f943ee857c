import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Language } from "../../../src/domain/language.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { plan } from "../../../src/worker/plan.ts";
import { runSteps } from "../../../src/worker/run-steps.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { seedOf } from "../../support/sandbox/math-random.ts";
import { park } from "../../support/sandbox/parked.ts";

/**
 * No two processes, threads or runs get the same number from any source of random numbers, however the language's runtime was
 * started. The programs print a line for each number: who has drawn it from which source, a tab, and the number.
 */
const languages = loadLanguages(LANGUAGES);
const PROGRAMS = new URL("../../programs/random/", import.meta.url);

let launcher: Launcher;
let slot: Slot;
before(async () => {
  launcher = await startLauncher({ slots: 1 });
  slot = await Slot.open(launcher.socket);
});
after(async () => {
  slot?.close();
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

/** A longer time limit, because the programs start many others. It makes no difference to the way in which a runtime starts. */
const patient = (step: Step): Step => ({ ...step, limits: { ...step.limits, wallMs: 90_000, cpuMs: 60_000 } });
/** A stack limit that no runtime was frozen with, so that it starts by itself. */
const anew = (step: Step): Step => ({
  ...step,
  limits: { ...step.limits, stackBytes: step.limits.stackBytes + 65_536 },
});

const LONG = { timeout: 400_000 * PATIENCE };

/** Languages that are not tested, because they run no program of their own, or a program in another language. */
const OTHERS = ["executable", "multifile", "plaintext"];

/** Programs of compiled languages start by themselves, so that a plain run does not need them. */
const STARTED = ["c", "cpp", "go", "rust"];

const isTested = ({ name }: Language) => !OTHERS.includes(name) && !(SKIPS_LONG && STARTED.includes(name));

for (const language of languages.list().filter(isTested)) {
  test(`${language.name}: every random number is a new one`, LONG, async () => {
    const code = readFileSync(new URL(language.source, PROGRAMS));
    const stdin = Buffer.from("program");
    const { compile, execute } = plan(language, languages.limitsFor(language, "judge"), { code, stdin });
    const steps = { ...(compile && { compile: patient(compile) }), execute: patient(execute) };
    const starts = {
      new: { ...(steps.compile && { compile: anew(steps.compile) }), execute: anew(steps.execute) },
      frozen: steps,
      "frozen, again": steps,
      parked: steps,
      "parked, again": steps,
    };
    const first = new Map<string, string>();
    const repeated: string[] = [];
    const counts = new Set<number>();
    for (const [start, planned] of Object.entries(starts)) {
      if (start.startsWith("parked")) await park(slot, planned);
      const { compile, execute } = await runSteps(slot, planned);
      assert.equal(execute?.exitCode, 0, `${start}: ${execute?.killReason} ${compile?.stderr} ${execute?.stderr}`);
      const lines = String(execute.stdout).trimEnd().split("\n");
      counts.add(lines.length);
      for (const line of lines) {
        const [source, number] = line.split("\t");
        assert.ok(source && number, line);
        const before = first.get(number);
        if (before) repeated.push(`${number}: ${before}, and ${start}: ${source}`);
        else first.set(number, `${start}: ${source}`);
      }
    }
    assert.deepEqual(repeated, []);
    assert.equal(counts.size, 1, "every start draws as many");
  });
}

/** One in 16 million seeds of 64 bits is smaller than two to the power of 40; every seed of 31 bits is. */
const LARGE = 2n ** 40n;
const RUNS = SKIPS_LONG ? 24 : 200;

/** Both languages have the same runtime. */
for (const language of SKIPS_LONG ? ["javascript"] : ["javascript", "typescript"]) {
  const drawn = async (code: string, isParked = false) => {
    const resolved = languages.resolve(language);
    assert.ok(resolved);
    const limits = languages.limitsFor(resolved, "judge");
    const planned = plan(resolved, limits, { code: Buffer.from(`// @ts-nocheck\n${code}`), stdin: Buffer.alloc(0) });
    const steps = { ...planned, execute: patient(planned.execute) };
    if (isParked) await park(slot, steps);
    const { execute } = await runSteps(slot, steps);
    assert.equal(execute?.exitCode, 0, String(execute?.stderr));
    const lines = String(execute.stdout).trimEnd().split("\n");
    return lines.map((line) => seedOf(JSON.parse(line)));
  };

  test(`${language}: Math.random() of each context has a seed of 64 bits that no other run has`, LONG, async () => {
    const code = `const draw = "JSON.stringify(Array.from({ length: 64 }, Math.random))";
      console.log(eval(draw));
      console.log(require("node:vm").runInNewContext(draw));`;
    const seeds: bigint[] = [];
    for (let i = 0; i < RUNS; i++) seeds.push(...(await drawn(code, i < 5)));
    assert.equal(seeds.length, 2 * RUNS);
    assert.equal(new Set(seeds).size, seeds.length, "a seed is repeated");
    assert.deepEqual(seeds.filter((seed) => seed < LARGE).length, 0, "seeds have less than 40 bits");
  });

  test(`${language}: so have the contexts of its worker threads and children`, LONG, async () => {
    const code = `const draw = "JSON.stringify(Array.from({ length: 64 }, Math.random))";
      const all = \`
        console.log(\${draw});
        console.log(require("node:vm").runInNewContext(\${JSON.stringify(draw)}));\`;
      const { spawnSync } = require("node:child_process");
      const { Worker } = require("node:worker_threads");
      for (let i = 0; i < 2; i++) spawnSync("node", ["-e", all], { stdio: "inherit" });
      for (let i = 0; i < 2; i++) new Worker(all, { eval: true });`;
    const seeds = [...(await drawn(code)), ...(await drawn(code)), ...(await drawn(code, true))];
    assert.equal(seeds.length, 3 * 4 * 2);
    assert.equal(new Set(seeds).size, seeds.length, "a seed is repeated");
    assert.deepEqual(seeds.filter((seed) => seed < LARGE).length, 0, "seeds have less than 40 bits");
  });
}
