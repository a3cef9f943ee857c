import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { arch } from "node:os";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { StepReports } from "../../../src/domain/report.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import type { Artifact } from "../../../src/worker/artifacts.ts";
import { type Plan, plan } from "../../../src/worker/plan.ts";
import { preparations } from "../../../src/worker/preparations.ts";
import { runSteps } from "../../../src/worker/run-steps.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";

const LIMIT = { timeout: 60_000 };
const FROZEN = { ...LIMIT, skip: arch() !== "x64" && "interpreters are frozen only on x86-64" };
const STDIN = "one\ntwo\n";
const languages = loadLanguages(LANGUAGES);
const PROGRAMS = new URL("../../programs/parked/", import.meta.url);

let launcher: Launcher;
let slot: Slot;
before(async () => {
  launcher = await startLauncher({ slots: 1, lockImage: true });
  slot = await Slot.open(launcher.socket);
});
after(async () => {
  slot?.close();
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

function planOf(name: string, code: string | Buffer, stdin = STDIN): Plan {
  const language = languages.resolve(name);
  assert.ok(language);
  const program = { code: Buffer.from(code), stdin: Buffer.from(stdin) };
  return plan(language, languages.limitsFor(language, "judge"), program);
}

async function park({ compile, execute }: Plan): Promise<void> {
  for (const step of compile ? [compile, execute] : [execute]) {
    const { waiting, bytes } = await slot.park(step);
    assert.equal(waiting, step.command.park !== undefined, launcher.stderr());
    assert.ok(bytes > 0);
  }
}

/** Everything that a client sees of a run, without times, amounts of memory and numbers that differ by chance. */
function seen({ compile, execute }: StepReports) {
  return [compile, execute].map(
    (report) =>
      report && {
        failure: report.failure,
        ended: [report.exitCode, report.signal, report.killReason, report.survivors],
        stdout: String(report.stdout),
        stderr: String(report.stderr).replaceAll(/0x[0-9a-f]{6,}/g, "0x"),
        controls: [report.controls, report.controlsMissing],
        rlimits: report.rlimits,
        limits: [report.memoryLimitBytes, report.processLimit, report.forksRefused, report.oomKills],
      },
  );
}

const sources = readdirSync(PROGRAMS).flatMap((name) =>
  readdirSync(new URL(`${name}/`, PROGRAMS)).map((file) => ({ name, file })),
);

/** The plan with a stack limit that no interpreter was frozen with, so that the interpreter starts by itself. */
function startedAnew({ compile, execute }: Plan): Plan {
  const changed = (step: Step): Step => ({
    ...step,
    limits: { ...step.limits, stackBytes: step.limits.stackBytes + 65_536 },
  });
  return { ...(compile && { compile: changed(compile) }), execute: changed(execute) };
}

for (const { name, file } of sources) {
  test(
    `${name}/${file} does the same from its frozen state and in a parked runtime as in a new one`,
    LIMIT,
    async () => {
      const steps = planOf(name, readFileSync(new URL(`${name}/${file}`, PROGRAMS)));
      const anew = await runSteps(slot, startedAnew(steps));
      const frozen = await runSteps(slot, steps);
      if (steps.compile?.command.park ?? steps.execute.command.park) await park(steps);
      const parked = await runSteps(slot, steps);
      const withoutLimits = (reports: StepReports) => seen(reports).map((step) => step && { ...step, rlimits: [] });
      assert.deepEqual(withoutLimits(frozen), withoutLimits(anew));
      assert.deepEqual(seen(parked), seen(frozen));
      for (const [step, report] of [[steps.compile, parked.compile] as const, [steps.execute, parked.execute] as const])
        if (report) assert.equal(report.parkedRuntime, step?.command.park !== undefined);
      assert.deepEqual(buildOutcome(parked).result, buildOutcome(anew).result);
    },
  );
}

test("the assembler of C and C++ continues from its frozen state, as a program of its own", FROZEN, async () => {
  const code = `#include <cstdio>
    extern "C" const char exe[], exe_end[];
    __asm__(".data; .globl exe, exe_end; exe: .incbin \\"/proc/self/exe\\"; exe_end:");
    int main() { printf("%ld", (long)(exe_end - exe)); }`;
  for (const [name, source] of [
    ["cpp", code],
    ["c", code.replace("cstdio", "stdio.h").replace('"C"', "")],
  ] as const) {
    const { execute } = await runSteps(slot, planOf(name, source));
    assert.ok(Number(execute?.stdout) > 0 && Number(execute?.stdout) < 100_000, `${name}: ${execute?.stdout} bytes`);
  }
});

test("Java continues from its frozen state, and two runs have other random numbers", FROZEN, async () => {
  const code = `public class Main {
    public static void main(String[] args) throws Exception {
      System.out.println(new java.io.File("/proc/self/exe").getCanonicalPath());
      System.out.println(java.util.concurrent.ThreadLocalRandom.current().nextLong() + " " + Math.random());
      System.out.println(new java.util.Random().nextLong() + " " + java.util.UUID.randomUUID());
    }
  }`;
  const lines = async () => String((await runSteps(slot, planOf("java", code))).execute?.stdout).split("\n");
  const [first, second] = [await lines(), await lines()];
  assert.equal(first[0], "/usr/bin/java");
  const numbers = [first, second].flatMap((lines) => lines.slice(1, 3).join(" ").split(" "));
  assert.equal(new Set(numbers).size, 8, String(numbers));
});

test("Node continues from its frozen state, as a new process with other random numbers", FROZEN, async () => {
  const code = `// @ts-nocheck
  const { readlinkSync } = require("node:fs");
  const { randomUUID } = require("node:crypto");
  const { Worker } = require("node:worker_threads");
  const random = [Math.random(), require("node:vm").runInNewContext("Math.random()"), randomUUID()];
  const { timeOrigin } = performance;
  const times = [performance.now(), process.uptime() * 1000, Date.now() - timeOrigin, performance.nodeTiming.nodeStart];
  const worker = new Worker("require('node:worker_threads').parentPort.postMessage(Math.random())", { eval: true });
  worker.on("message", (number) => {
    const program = readlinkSync("/proc/self/exe");
    const isMine = String(process.pid) === readlinkSync("/proc/self");
    console.log(JSON.stringify({ program, isMine, times, random: [...random, number] }));
  });`;
  for (const name of ["javascript", "typescript"]) {
    const steps = planOf(name, code);
    const printed = async () => JSON.parse(String((await runSteps(slot, steps)).execute?.stdout));
    const before = await printed();
    await park(steps);
    await setTimeout(500);
    const runs = [before, await printed(), await printed()];
    for (const { program, isMine, times } of runs) {
      assert.equal(program, `/opt/assay/node/${name}`);
      assert.ok(isMine);
      for (const ms of times) assert.ok(ms >= 0 && ms < 450, `${ms} ms after its start`);
    }
    const numbers = runs.flatMap(({ random }) => random);
    assert.equal(new Set(numbers).size, 12, String(numbers));
  }
});

test("Node writes synchronously to a full pipe after it has waited", LIMIT, async () => {
  const steps = planOf("javascript", "require('node:fs').writeSync(1, 'x'.repeat(1_000_000));");
  for (const waiting of [steps, startedAnew(steps)]) {
    await park(waiting);
    const { execute } = await runSteps(slot, waiting);
    assert.deepEqual([execute?.exitCode, execute?.stdout.length], [0, 1_000_000], String(execute?.stderr));
  }
});

const WHICH = 'import os; print(os.readlink("/proc/self/exe"))';

test("Python continues from its frozen state, and starts by itself if anything differs", FROZEN, async () => {
  const steps = planOf("python", WHICH);
  const { execute } = steps;
  const { command } = execute;
  const cases: [Plan, string][] = [
    [steps, "python3"],
    [startedAnew(steps), "python3.13"],
    [{ execute: { ...execute, command: { ...command, env: { ...command.env, A: "b" } } } }, "python3.13"],
    [{ execute: { ...execute, command: { ...command, command: [...command.command, "argument"] } } }, "python3.13"],
  ];
  for (const [plan, program] of cases)
    assert.equal(String((await runSteps(slot, plan)).execute?.stdout), `/usr/bin/${program}\n`);
});

test("the same command starts the interpreter if a program gives it other descriptors or signals", FROZEN, async () => {
  const code = `import os, signal, subprocess, sys
if sys.stdin.read() != "outer":
    print(os.readlink("/proc/self/exe"))
    sys.exit()
def start(**options):
    print(subprocess.run([sys.executable, "main.py"], capture_output=True, text=True, **options).stdout, end="")
with open("input", "w+") as file:
    start(stdin=file)
    start(input="inner")
    start(stdin=file, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    start(stdin=file, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1}))
    file.write("text")
    file.flush()
    start(stdin=file)
`;
  const { execute } = await runSteps(slot, planOf("python", code, "outer"));
  const programs = ["python3", ...Array<string>(4).fill("python3.13")].map((name) => `/usr/bin/${name}\n`);
  assert.equal(String(execute?.stdout), programs.join(""), String(execute?.stderr));
});

test("times, memory and the CPU budget begin with the step", LIMIT, async () => {
  const steps = startedAnew(planOf("java", languages.resolve("java")?.smokeTest.code ?? ""));
  // Other programs on the machine only add to a time, so the shortest of some runs shows what a run itself needs.
  const shortest = { cold: { cpuUsec: Infinity, wallNs: Infinity }, parked: { cpuUsec: Infinity, wallNs: Infinity } };
  for (let runs = 0; runs < 3; runs++) {
    const cold = await runSteps(slot, steps);
    await park(steps);
    const parked = await runSteps(slot, steps);
    for (const [kind, { compile }] of Object.entries({ cold, parked }) as ["cold" | "parked", typeof cold][])
      for (const value of ["cpuUsec", "wallNs"] as const)
        shortest[kind][value] = Math.min(shortest[kind][value], compile?.[value] ?? 0);
    assert.ok((parked.execute?.memoryPeakBytes ?? 0) > 1_048_576);
  }
  for (const value of ["cpuUsec", "wallNs"] as const) {
    const [mine, other] = [shortest.parked[value], shortest.cold[value]];
    assert.ok(mine > 0 && mine < 0.6 * other, `${value}: ${mine} of ${other}`);
  }
});

test("a runtime serves only a step with its command, environment and limits", LIMIT, async () => {
  const { execute } = planOf("python", "print(open('main.py').read())");
  const changes = [
    { limits: { ...execute.limits, memoryBytes: execute.limits.memoryBytes / 2 } },
    { command: { ...execute.command, env: { ...execute.command.env, A: "b" } } },
    { command: { ...execute.command, command: [...execute.command.command, "argument"] } },
  ];
  for (const change of changes) {
    await park({ execute });
    assert.equal((await slot.run({ ...execute, ...change })).parkedRuntime, false);
  }
  await park({ execute });
  assert.equal((await slot.run(execute)).parkedRuntime, true);
  const again = await slot.run(execute);
  assert.deepEqual([again.parkedRuntime, again.exitCode], [false, 0], "it serves one step");
});

test("every preparation of a worker serves the submissions that it is for", { timeout: 120_000 }, async () => {
  const artifacts = new Map<string, Artifact>();
  for (const { kind, language, steps } of preparations(languages).values()) {
    if (!kind.startsWith(`${language} judge`)) continue;
    const keeps = kind.endsWith(" cached");
    const cache = {
      owner: "",
      get: () => (keeps ? artifacts.get(language) : undefined),
      put: (_: Step, artifact: Artifact) => void artifacts.set(language, artifact),
    };
    for (const step of steps) await slot.park(step);
    const { code = "", stdout } = languages.resolve(language)?.smokeTest ?? {};
    const { compile, execute, compileCached = false } = await runSteps(slot, planOf(language, code), { cache });
    const waited = [!compileCached && compile?.parkedRuntime, execute?.parkedRuntime].filter((did) => did).length;
    const wanted = steps.filter(({ command }) => command.park).length;
    assert.deepEqual([kind, compileCached, waited, String(execute?.stdout)], [kind, keeps, wanted, stdout]);
  }
  assert.deepEqual([...artifacts.keys()].sort(), ["java", "typescript"]);
});

test("a runtime that has ended or cannot start is replaced by a new one", LIMIT, async () => {
  const { execute } = planOf("python", "print('ran')");
  for (const park of [["-c", "import os; os._exit(0)"], ["-c", "print('output')"], ["--no-such-option"]]) {
    const broken = { ...execute, command: { ...execute.command, park } };
    assert.equal((await slot.park(broken)).waiting, false);
    const { stdout, exitCode, parkedRuntime } = await slot.run(execute);
    assert.deepEqual([String(stdout), exitCode, parkedRuntime], ["ran\n", 0, false]);
  }
});

test("a parked runtime can be replaced by one of another step, and by none", LIMIT, async () => {
  const python = planOf("python", "print('python')");
  const node = planOf("javascript", "console.log('node')");
  await park(python);
  await park(node);
  assert.equal(String((await slot.run(node.execute)).stdout), "node\n");
  await park(python);
  const { park: _, ...command } = python.execute.command;
  assert.equal((await slot.park({ ...python.execute, command })).waiting, false);
  assert.equal((await slot.run(python.execute)).parkedRuntime, false);
});

test("a slot is not idle while a runtime starts in it", LIMIT, async () => {
  const { execute } = planOf("python", "print('ran')");
  const parking = slot.park(execute);
  await assert.rejects(slot.park(execute), { name: "SandboxError" });
  await assert.rejects(slot.run(execute), { name: "SandboxError" });
  assert.equal((await parking).waiting, true);
  assert.equal((await slot.run(execute)).exitCode, 0);
});
