import assert from "node:assert/strict";
import { arch } from "node:os";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { loadLanguages } from "../../../src/languages/load.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { type Plan, plan } from "../../../src/worker/plan.ts";
import { runSteps } from "../../../src/worker/run-steps.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { COLD, park } from "../../support/sandbox/parked.ts";

/** Runtimes report their start and their age right, also if they have waited or continue from a state that is older still. */
const LIMIT = { timeout: 60_000 * PATIENCE, skip: COLD && "no runtime waits" };
const WAIT_MS = 4_000;
const languages = loadLanguages(LANGUAGES);

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

function planOf(name: string, code: string, stackBytes = 0): Plan {
  const language = languages.resolve(name);
  assert.ok(language);
  const { compile, execute } = plan(language, languages.limitsFor(language, "judge"), {
    code: Buffer.from(code),
    stdin: Buffer.alloc(0),
  });
  const limits = { ...execute.limits, stackBytes: execute.limits.stackBytes + stackBytes };
  return { ...(compile && { compile }), execute: { ...execute, limits } };
}

interface Told {
  readonly [name: string]: number;
}

/** The output of the program, and the moments at which its run began and ended on this clock. */
async function told(steps: Plan): Promise<{ told: Told; began: number; ended: number }> {
  const began = Date.now();
  const { compile, execute } = await runSteps(slot, steps);
  assert.equal(execute?.exitCode, 0, `${compile?.stderr} ${execute?.stderr}`);
  return { told: JSON.parse(String(execute.stdout)) as Told, began, ended: Date.now() };
}

const JAVA = `import java.lang.management.ManagementFactory;
  public class Main {
    public static void main(String[] args) throws Exception {
      var runtime = ManagementFactory.getRuntimeMXBean();
      long uptime = runtime.getUptime(), now = System.currentTimeMillis();
      var process = ProcessHandle.current();
      var child = new ProcessBuilder("/bin/sleep", "10").start();
      long started = process.info().startInstant().get().toEpochMilli(), childStarted = child.info().startInstant().get().toEpochMilli();
      child.destroy();
      System.out.printf("{\\"uptime\\": %d, \\"start\\": %d, \\"now\\": %d, \\"started\\": %d, \\"child\\": %d, \\"name\\": %s, \\"own\\": %d, \\"self\\": %s}%n",
          uptime, runtime.getStartTime(), now, started, childStarted, runtime.getName().split("@")[0], process.pid(),
          java.nio.file.Files.readSymbolicLink(java.nio.file.Path.of("/proc/self")));
      Thread.sleep(20);
      if (runtime.getUptime() < uptime + 20) throw new IllegalStateException("the JVM does not grow older");
    }
  }`;

/** The second in which the machine started is rounded down. */
const ROUNDED_MS = 1_000;

for (const [how, stackBytes] of [
  ["frozen", 0],
  ["that has started before the step", 65_536],
] as const) {
  test(`a JVM ${how} is as old as its start was long`, LIMIT, async () => {
    const steps = planOf("java", JAVA, stackBytes);
    const alone = await told(steps);
    await park(slot, steps);
    await setTimeout(WAIT_MS);
    const waited = await told(steps);
    for (const { told: t, began, ended } of [alone, waited]) {
      const text = JSON.stringify({ ...t, began, ended });
      assert.ok((t.now ?? 0) >= began && (t.now ?? 0) <= ended, text);
      assert.deepEqual([t.name, t.own], [t.self, t.self], text);
      // The start is the moment at which the JVM was complete, as in every JVM.
      assert.ok((t.start ?? 0) <= (t.now ?? 0) && (t.start ?? 0) >= (t.now ?? 0) - (t.uptime ?? 0), text);
      assert.ok((t.uptime ?? 0) > 0, text);
    }
    const more = (waited.told.uptime ?? 0) - (waited.ended - waited.began) - (alone.told.uptime ?? 0);
    assert.ok(more < WAIT_MS / 2, `${more} ms older after a wait of ${WAIT_MS} ms`);
  });
}

test("a frozen JVM knows when processes have started", {
  ...LIMIT,
  skip: LIMIT.skip || (arch() !== "x64" && "only on x86-64"),
}, async () => {
  const steps = planOf("java", JAVA);
  const { told: t, began, ended } = await told(steps);
  const text = JSON.stringify({ ...t, began, ended });
  for (const started of [t.started ?? 0, t.child ?? 0])
    assert.ok(started >= began - ROUNDED_MS && started <= ended, text);
  assert.ok((t.child ?? 0) >= (t.started ?? 0), text);
});

test("Node and Python are as old as their start was long", LIMIT, async () => {
  const node = `const { timeOrigin, nodeTiming } = performance;
    const now = Date.now(), uptime = process.uptime() * 1000;
    console.log(JSON.stringify({ now, uptime, performance: performance.now(), start: timeOrigin, started: nodeTiming.nodeStart,
      complete: nodeTiming.bootstrapComplete, cpu: process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000 }));`;
  const python = `import json, time, os
cpu = time.process_time() * 1000
with open("/proc/self/stat") as file:
    started = int(file.read().rpartition(") ")[2].split()[19]) * 1000 / os.sysconf("SC_CLK_TCK")
print(json.dumps({"now": time.time() * 1000, "cpu": cpu, "uptime": time.clock_gettime(time.CLOCK_BOOTTIME) * 1000 - started,
    "performance": time.perf_counter() * 1000 - time.monotonic() * 1000}))`;
  for (const [name, code] of [
    ["javascript", node],
    ["python", python],
  ] as const) {
    const steps = planOf(name, code);
    const alone = await told(steps);
    await park(slot, steps);
    await setTimeout(WAIT_MS);
    const waited = await told(steps);
    for (const { told: t, began, ended } of [alone, waited]) {
      const text = `${name} ${JSON.stringify({ ...t, began, ended })}`;
      assert.ok((t.now ?? 0) >= began - 1 && (t.now ?? 0) <= ended + 1, text);
      assert.ok((t.cpu ?? -1) >= 0 && (t.cpu ?? 0) < ended - began + 1_000, text);
    }
    if (name === "python") continue;
    for (const key of ["uptime", "performance"]) {
      const more = (waited.told[key] ?? 0) - (waited.ended - waited.began) - (alone.told[key] ?? 0);
      assert.ok(more < WAIT_MS / 2, `${key}: ${more} ms older after a wait of ${WAIT_MS} ms`);
      assert.ok((waited.told[key] ?? 0) > 0);
    }
    assert.ok(Math.abs((waited.told.now ?? 0) - (waited.told.start ?? 0) - (waited.told.performance ?? 0)) < 1_000);
  }
});
