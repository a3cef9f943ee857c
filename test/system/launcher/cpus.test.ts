import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttachedSlot } from "../../../src/sandbox/held-sandbox.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { groupsOf, programsOf, read } from "../../support/launcher/machine.ts";
import { execution, hold, output, Screen } from "../../support/launcher/sandbox.ts";
import { connected, type Raw, run, step, stepFrame } from "./raw.ts";

/** Prints the allowed CPUs of a process of the box and of a process that it starts through a child. */
const ALLOWED_OF_SELF = "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status";
const ALLOWED = `${ALLOWED_OF_SELF}; (sh -c "${ALLOWED_OF_SELF}")`;

/** Parses a CPU list of the kernel, such as 0,2-3. */
function cpusOf(list: string): number[] {
  return list.split(",").flatMap((part) => {
    const [from = 0, to = from] = part.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

const OURS = cpusOf(/Cpus_allowed_list:\s+(\S+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "");

describe("the CPUs of a box", () => {
  let launcher: Launcher;
  before(async () => {
    launcher = await startLauncher({ slots: OURS.length + 1 });
  });
  after(() => launcher.stop());

  async function allowed(raw: Raw, cpus: number | bigint, after = ""): Promise<number[][]> {
    const { stdout, stderr } = await run(raw, step(["/bin/sh", "-c", `${ALLOWED}; ${after}`], { CPUS: cpus }));
    assert.equal(stderr, "");
    return stdout.trim().split("\n").map(cpusOf);
  }

  test("all boxes together have the weight of as many programs as there are CPUs, not as slots", (t) => {
    const weight = { "cpu.shares": 1024, "cpu.weight": 100 };
    const groups = groupsOf(launcher).filter((path) => path.endsWith(`/assay-${launcher.instance}`));
    const found = groups.flatMap((path) =>
      Object.entries(weight).flatMap(([file, one]) =>
        existsSync(join(path, file)) ? [Number(readFileSync(join(path, file), "utf8")) / one] : [],
      ),
    );
    if (found.length === 0) return t.skip("the host has no cpu controller");
    assert.deepEqual(found, [OURS.length]);
  });

  test("a program with a limit of one CPU and its children are bound to one CPU", async () => {
    const raw = await connected(launcher.socket);
    const [own = [], child] = await allowed(raw, 1);
    assert.equal(own.length, 1);
    assert.ok(OURS.includes(own[0] as number));
    assert.deepEqual(child, own);
    raw.close();
  });

  test("a program with a limit of all CPUs or more can use all", async () => {
    const raw = await connected(launcher.socket);
    for (const cpus of [OURS.length, 10_000]) assert.deepEqual((await allowed(raw, cpus))[0], OURS);
    raw.close();
  });

  test("a step without a CPU limit is not bound to the CPU of the step before", async () => {
    const raw = await connected(launcher.socket);
    await allowed(raw, 1);
    assert.deepEqual((await allowed(raw, OURS.length))[0], OURS);
    raw.close();
  });

  test("concurrent boxes have a CPU each if there are enough, and share evenly otherwise", async () => {
    const raws = await Promise.all(Array.from({ length: OURS.length + 1 }, () => connected(launcher.socket)));
    const taken = await Promise.all(raws.map(async (raw) => (await allowed(raw, 1, "sleep 0.5"))[0]?.[0]));
    assert.equal(new Set(taken).size, OURS.length, `${taken}`);
    for (const raw of raws) raw.close();
  });

  test("the CPU of a killed slot is free again", async () => {
    const lost = await connected(launcher.socket);
    lost.send(stepFrame(step(["/bin/sh", "-c", "kill -STOP $$; sleep 5"], { CPUS: 1 })));
    await sleep(200);
    process.kill(slotOf(launcher.pid), "SIGKILL");
    while ((await lost.next()) !== null);
    const raws = await Promise.all(OURS.map(() => connected(launcher.socket)));
    const taken = await Promise.all(raws.map(async (raw) => (await allowed(raw, 1, "sleep 0.5"))[0]?.[0]));
    assert.equal(new Set(taken).size, OURS.length, `${taken}`);
    for (const raw of raws) raw.close();
  });

  test("a slot is bound with its box and unbound afterwards", async () => {
    const raw = await connected(launcher.socket);
    const slot = slotOf(launcher.pid);
    const cpusOfSlot = () =>
      cpusOf(/Cpus_allowed_list:\s+(\S+)/.exec(readFileSync(`/proc/${slot}/status`, "utf8"))?.[1] ?? "");
    const running = allowed(raw, 1, "sleep 0.3");
    await sleep(150);
    const during = cpusOfSlot();
    const [program] = await running;
    assert.deepEqual(during, program);
    assert.deepEqual(cpusOfSlot(), OURS);
    raw.close();
  });

  /** A program of processes with 20,000 mappings each. The kernel needs about 0.2 s to end them after the kill. */
  const SLOW_TO_END = [
    "import mmap, os, time",
    "any(os.fork() == 0 for _ in range(11))",
    "held = [mmap.mmap(-1, 4096) for _ in range(20000)]",
    "time.sleep(60)",
  ].join("\n");

  /** The CPU sets of the box's processes after its kill. */
  async function cpusWhileEnding(raw: Raw): Promise<Set<string>> {
    const wallMs = 3000;
    const others = new Set(programsOf(launcher).map(({ pid }) => pid));
    const limits = { CPUS: 1, WALL_MS: wallMs, MEMORY_BYTES: 1 << 30, KERNEL_BYTES: 1 << 30, PROCESSES: 32 };
    const started = performance.now();
    let ended = false;
    const running = run(raw, step(["/usr/bin/python3", "-c", SLOW_TO_END], limits)).finally(() => {
      ended = true;
    });
    await sleep(wallMs - 500);
    const pids = programsOf(launcher).flatMap(({ pid }) => (others.has(pid) ? [] : [pid]));
    const seen = new Set<string>();
    while (!ended) {
      const lists = pids.map((pid) => /Cpus_allowed_list:\s+(\S+)/.exec(read(`/proc/${pid}/status`))?.[1]);
      if (performance.now() > started + wallMs + 20) for (const list of lists) if (list) seen.add(list);
      await sleep(2);
    }
    const { ended: facts } = await running;
    assert.equal(facts.text("KILL_REASON"), "wall");
    return seen;
  }

  test("a killed box ends on all CPUs that no other box holds", async () => {
    const raw = await connected(launcher.socket);
    const seen = [...(await cpusWhileEnding(raw))].map(cpusOf);
    assert.ok(
      seen.some((cpus) => cpus.length === OURS.length),
      JSON.stringify(seen),
    );
    assert.equal((await allowed(raw, 1))[0]?.length, 1, "the next box is not bound");
    raw.close();
  });

  test("a killed box ends on its own CPU if other boxes hold the rest", async () => {
    const raws = await Promise.all(OURS.map(() => connected(launcher.socket)));
    const [raw, ...others] = raws as [Raw, ...Raw[]];
    // They hold their CPUs until they are killed: on a busy machine the box can start seconds later than they did.
    const limits = { CPUS: 1, WALL_MS: 60_000 };
    const holding = others.map((other) => run(other, step(["/bin/sleep", "60"], limits)));
    const holders = () => programsOf(launcher).filter(({ settled }) => settled);
    while (holders().length < others.length) await sleep(20);
    const held = holders();
    const seen = [...(await cpusWhileEnding(raw))].map(cpusOf);
    for (const { pid } of held) process.kill(pid, "SIGKILL");
    await Promise.all(holding);
    assert.ok(seen.length > 0 && seen.every((cpus) => cpus.length === 1), JSON.stringify(seen));
    for (const each of raws) each.close();
  });
});

/** The launcher's youngest slot. */
function slotOf(launcher: number): number {
  const children = readFileSync(`/proc/${launcher}/task/${launcher}/children`, "utf8").trim().split(" ").map(Number);
  return children.at(-1) as number;
}

describe("the CPUs of an execution in a sandbox", () => {
  let launcher: Launcher;
  before(async () => {
    launcher = await startLauncher({ slots: OURS.length, sandboxes: 1 });
  });
  after(() => launcher.stop());

  const allowedNow = async (slot: AttachedSlot, cpus: number) =>
    (await output(slot, ALLOWED, { limits: { cpus } })).trim().split("\n").map(cpusOf);

  /** Starts a program that says on which CPUs it may run, and runs until it is killed. */
  async function waiting(slot: AttachedSlot): Promise<{ readonly cpus: number[]; end(): Promise<unknown> }> {
    const screen = new Screen();
    const running = slot.run(execution(`${ALLOWED}; echo ready; sleep 600`, { live: true }), screen.add);
    await screen.until("ready");
    return {
      cpus: cpusOf(screen.text.split("\n")[0] ?? ""),
      end: () => {
        slot.kill();
        return running;
      },
    };
  }

  test("are as many as its limit says, also for its children", async () => {
    const box = await hold(launcher);
    const slot = await box.attach();
    const [own = [], child] = await allowedNow(slot, 1);
    assert.equal(own.length, 1);
    assert.deepEqual(child, own);
    assert.deepEqual((await allowedNow(slot, OURS.length))[0], OURS);
    await box.end();
  });

  test("are those that no box has, and an execution that waits keeps no box away from a CPU", async (t) => {
    if (OURS.length < 2) return t.skip("needs two CPUs");
    const sandbox = await hold(launcher);
    const execution = await waiting(await sandbox.attach());
    const boxes: { readonly raw: Raw; readonly cpu: number }[] = [];
    for (const _ of OURS) {
      const raw = await connected(launcher.socket);
      raw.send(stepFrame(step(["/bin/sh", "-c", `${ALLOWED_OF_SELF}; sleep 600`], { CPUS: 1 })));
      const [cpu = -1] = cpusOf(String((await raw.next())?.body).trim());
      boxes.push({ raw, cpu });
    }
    assert.equal(new Set(boxes.map(({ cpu }) => cpu)).size, OURS.length, "each box has a CPU of its own");
    const beside = boxes.find(({ cpu }) => cpu !== execution.cpus[0]);
    beside?.raw.close();
    await execution.end();
    // Now one CPU has no box.
    const next = await sandbox.attach();
    for (let tries = 0; ; tries++) {
      const [cpus] = await allowedNow(next, 1);
      if (cpus?.[0] === beside?.cpu) break; // the box has ended
      assert.ok(tries < 200, "an execution does not take the CPU without a box");
    }
    for (const { raw } of boxes) raw.close();
    await sandbox.end();
  });
});
