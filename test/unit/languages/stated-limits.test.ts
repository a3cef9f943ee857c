import assert from "node:assert/strict";
import { test } from "node:test";
import { CEILING_NAMES, parseCeilings } from "../../../src/domain/ceilings.ts";
import type { Language } from "../../../src/domain/language.ts";
import { PROFILE_NAMES, type RequestedLimits, type TestLimits } from "../../../src/domain/limits.ts";
import { fromPlain, loadLanguages, toPlain } from "../../../src/languages/load.ts";
import { brokenRules } from "../../../src/languages/rules.ts";
import { plan } from "../../../src/worker/plan.ts";
import { LANGUAGES, PACKS } from "../../support/languages/directory.ts";

const GIB = 1_073_741_824;
const MIB = 1_048_576;

function withCeilings(text: string, packs: readonly string[] = []) {
  const ceilings = parseCeilings(text);
  assert.ok(typeof ceilings !== "string", String(ceilings));
  return loadLanguages(LANGUAGES, packs, ceilings);
}
const languages = loadLanguages(LANGUAGES, PACKS);
const named = (name: string) => languages.resolve(name) as Language;
const execute = (stated: RequestedLimits, name = "python") =>
  languages.limitsForTest(named(name), "judge", { stated: { execute: stated } }).execute;

test("a test without stated limits has those of the profile, with more output", () => {
  for (const language of languages.list())
    for (const profile of PROFILE_NAMES) {
      const { compile, execute: run } = languages.limitsFor(language, profile);
      const expected = { ...run, stdoutBytes: 8 * MIB };
      const found = languages.limitsForTest(language, profile, {});
      assert.deepEqual([found.execute, found.compile], [expected, compile], language.name);
    }
});

test("limits that a problem states replace those of the profile, in both directions", () => {
  const { memoryBytes, addressSpaceBytes, stackBytes } = execute({ memory_bytes: 2 * GIB }, "cpp");
  assert.deepEqual([memoryBytes, addressSpaceBytes, stackBytes], [2 * GIB, 18 * GIB, GIB]);
  const withStack = execute({ memory_bytes: 2 * GIB, stack_bytes: 32 * MIB }, "cpp");
  assert.equal(withStack.stackBytes, 32 * MIB);
  // A stack that is less than half of the memory has a reason of its own.
  assert.equal(execute({ memory_bytes: 2 * GIB }).stackBytes, 16 * MIB);
  const small = execute({ memory_bytes: 64 * MIB }, "cpp");
  assert.deepEqual([small.memoryBytes, small.addressSpaceBytes, small.stackBytes], [64 * MIB, 4 * GIB, 32 * MIB]);
  assert.equal(execute({ memory_bytes: 2 * GIB }, "java").addressSpaceBytes, null);
});

test("a higher CPU time raises the wall time, up to its ceiling", () => {
  const times = (stated: RequestedLimits) => {
    const { cpuMs, wallMs } = execute(stated);
    return [cpuMs, wallMs];
  };
  assert.deepEqual(times({ cpu_time_secs: 1 }), [1_000, 10_000]);
  assert.deepEqual(times({ cpu_time_secs: 6 }), [6_000, 15_000]);
  assert.deepEqual(times({ cpu_time_secs: 20 }), [20_000, 30_000]);
  assert.deepEqual(times({ cpu_time_secs: 6, wall_time_secs: 7 }), [6_000, 7_000]);
});

test("the rules of limits hold for every default of judgements and for every ceiling that a problem states", () => {
  for (const language of languages.list()) {
    const { execute: most, compile } = languages.ceilingsFor(language, "judge");
    const highest = { memory_bytes: most.memoryBytes, cpu_time_secs: most.cpuMs / 1_000 };
    const compiled = compile && { memory_bytes: compile.memoryBytes, cpu_time_secs: compile.cpuMs / 1_000 };
    for (const limits of [
      languages.limitsForChecker(language, {}),
      languages.limitsForTest(language, "judge", {
        stated: { execute: highest, ...(compiled && { compile: compiled }) },
      }),
    ])
      assert.deepEqual(brokenRules(limits), [], language.name);
  }
});

test("what holds without a statement is bounded by the ceilings, and what is stated comes before it", () => {
  const python = named("python");
  const memoryOf = (ceilings: string, limits: TestLimits) =>
    withCeilings(ceilings).limitsForTest(python, "judge", limits).execute.memoryBytes;
  const defaults = { execute: { memory_bytes: 2 * GIB } };
  assert.equal(memoryOf("", { defaults }), 2 * GIB);
  assert.equal(memoryOf("memory_bytes=1073741824", { defaults }), GIB);
  assert.equal(memoryOf("", { defaults, stated: { execute: { memory_bytes: 64 * MIB } } }), 64 * MIB);
});

test("no CPU time is above the wall time that a problem states", () => {
  const { cpuMs, wallMs } = execute({ wall_time_secs: 1 });
  assert.deepEqual([cpuMs, wallMs], [1_000, 1_000]);
});

test("the bound of a heap is not below the memory limit of its step", () => {
  const raised = withCeilings("memory_bytes=8589934592,compile_memory_bytes=8589934592", PACKS);
  const heap = (word: string) => /^-Xmx(\d+)([gm])$/.exec(word) ?? /-size=(\d+)(m?)$/.exec(word);
  for (const language of raised.list())
    for (const [memory_bytes, most] of [
      [GIB, 2_048],
      [8 * GIB, 8_192],
    ] as const) {
      const limits = raised.limitsForTest(language, "judge", { stated: { execute: { memory_bytes } } });
      const { command } = plan(language, limits, { code: Buffer.from(""), stdin: Buffer.from("") }).execute.command;
      for (const [, amount, unit] of command.flatMap((word) => [heap(word) ?? []]))
        if (amount !== undefined) assert.equal(Number(amount) * (unit === "g" ? 1_024 : 1), most, language.name);
    }
  const java = raised.limitsForTest(named("java"), "judge", { stated: { execute: { memory_bytes: 8 * GIB } } });
  const { command } = plan(named("java"), java, { code: Buffer.from(""), stdin: Buffer.from("") }).execute.command;
  assert.ok(command.includes("-Xmx8192m"));
});

test("checkers have more time and memory than programs, and what a problem states replaces it", () => {
  const limits = languages.limitsForChecker(named("cpp"), { stated: { execute: { cpu_time_secs: 3 } } });
  assert.deepEqual(
    [limits.compile?.cpuMs, limits.compile?.memoryBytes, limits.execute.cpuMs, limits.execute.stdoutBytes],
    [60_000, 2 * GIB, 3_000, 8 * MIB],
  );
  // A thread of an import has the same limits.
  const { limitsForChecker, ceilingsFor } = fromPlain(structuredClone(toPlain(languages)));
  assert.deepEqual(limitsForChecker(named("cpp"), { stated: { execute: { cpu_time_secs: 3 } } }), limits);
  assert.deepEqual(ceilingsFor(named("cpp"), "judge"), languages.ceilingsFor(named("cpp"), "judge"));
});

test("an operator can raise and lower ceilings, and a lower one also lowers the defaults", () => {
  const raised = withCeilings("cpu_time_secs=60, wall_time_secs=90,compile_memory_bytes=4294967296,source_bytes=1000");
  const { compile, execute: run } = raised.ceilingsFor(named("rust"), "judge");
  assert.deepEqual(
    [run.cpuMs, run.wallMs, compile?.memoryBytes, raised.mostSourceBytes],
    [60_000, 90_000, 4 * GIB, 1_000],
  );
  const lowered = withCeilings("stdout_bytes=2097152,memory_bytes=536870912");
  const python = named("python");
  assert.equal(lowered.limitsForTest(python, "judge", {}).execute.stdoutBytes, 2 * MIB);
  assert.equal(lowered.limitsForChecker(python, {}).execute.memoryBytes, 512 * MIB);
  // A ceiling below a profile has no effect on that profile.
  assert.equal(withCeilings("memory_bytes=16777216").limitsForTest(python, "agent", {}).execute.memoryBytes, GIB);
});

test("wrong ceilings are refused with their reason", () => {
  for (const [text, reason] of [
    ["memory", /must be NAME=VALUE/],
    ["memory_bytes=-1", /must be NAME=VALUE/],
    ["memory=5", /memory is none of wall_time_secs, /],
    ["memory_bytes=1", /memory_bytes must be from 16777216 to/],
    ["memory_bytes=99999999999999", /must be NAME=VALUE/],
    ["stdout_bytes=25165825", /stdout_bytes must be from 1 to 25165824/],
    ["cpu_time_secs=1.5", /must be NAME=VALUE/],
    ["processes=5000", /processes must be from 1 to 4096/],
    ["source_bytes=2000000", /source_bytes must be a whole number/],
    ["cpu_time_secs=9,cpu_time_secs=9", /cpu_time_secs is given twice/],
  ] as const) {
    const parsed = parseCeilings(text);
    assert.ok(typeof parsed === "string" && reason.test(parsed), `${text}: ${JSON.stringify(parsed)}`);
  }
  assert.throws(() => withCeilings("cpu_time_secs=60"), /ASSAY_CEILINGS: with a CPU time of 60 s, .* not 30 s/);
  assert.ok(CEILING_NAMES.includes("compile_memory_bytes"));
});
