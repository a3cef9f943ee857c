import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { type TestContext, test } from "node:test";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, programsOf } from "../../support/launcher/machine.ts";
import { connected, type Entry, parkFrame, type Raw, run, step } from "./raw.ts";

/** A service that was taken over can start any program as a runtime. */

const READY = "printf '\\1\\0\\0\\0\\0\\0\\0\\0' >&4";
const WAIT = "head -c 8 <&3 > /dev/null; exec 3<&- 4>&-";

/** A shell that does what the script says before its step, which only prints a word. */
function runtime(script: string, changed: Parameters<typeof step>[1] = {}): { park: Entry[]; entries: Entry[] } {
  const entries = step(["/bin/sh", "-c", "echo step"], { CPUS: 1, ...changed });
  const park = ["/bin/sh", "-c", script, "sh"].map((arg): Entry => ["PARK_ARG", arg]);
  return { park: [...entries, ...park], entries };
}

async function open(t: TestContext): Promise<{ raw: Raw; launcher: Launcher }> {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  t.after(() => raw.close());
  return { raw, launcher };
}

async function park(raw: Raw, entries: readonly Entry[]): Promise<boolean> {
  raw.send(parkFrame(entries));
  return (await raw.expect("PARKED")).int("WAITING") === 1;
}

const shells = (launcher: Launcher, word: string) =>
  programsOf(launcher).filter(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word);
    } catch {
      return false; // it has ended
    }
  });

test("a runtime has the CPUs of its step, and waits for longer than its CPU time", async (t) => {
  const { raw, launcher } = await open(t);
  const { park: request, entries } = runtime(`${READY}; ${WAIT}; exec "$@"`, { CPU_MS: 100 });
  assert.equal(await park(raw, request), true);
  const [shell] = shells(launcher, "printf");
  const allowed = /^Cpus_allowed_list:\s+(.*)$/m.exec(readFileSync(`/proc/${shell?.pid}/status`, "utf8"))?.[1];
  if (cpus().length > 1) assert.match(allowed ?? "", /^\d+$/);
  await new Promise((resolve) => setTimeout(resolve, 2_500)); // the slot checks it twice in this time
  assert.equal(shells(launcher, "printf").length, 1);
  await run(raw, entries);
});

for (const [what, script, limits] of [
  ["more CPU time", `${READY}; while :; do :; done`, { CPU_MS: 300 }],
  [
    "more kernel memory",
    `${READY}; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 60 & done; ${WAIT}`,
    { KERNEL_BYTES: 1 << 20 },
  ],
] as const) {
  test(`a runtime that uses ${what} than its step may is removed while it waits`, async (t) => {
    const { raw, launcher } = await open(t);
    const { park: request } = runtime(script, limits);
    assert.equal(await park(raw, request), true);
    await eventually("its end", () => shells(launcher, "printf").length === 0);
    const { stdout } = await run(raw, step(["/bin/echo", "still here"]));
    assert.equal(stdout, "still here\n");
  });
}

test("runtimes count as steps on a work directory", async (t) => {
  const { raw } = await open(t);
  await run(raw, step(["/bin/true"], { MORE: 1 }));
  const { park: request } = runtime(`${READY}; ${WAIT}; exec "$@"`, { KEEP_WORK: 1 });
  const parked: boolean[] = [];
  for (let time = 0; time < 17; time++) parked.push(await park(raw, request));
  assert.deepEqual(parked.slice(0, 15), Array(15).fill(true));
  assert.deepEqual(parked.slice(15), [false, false]);
});
