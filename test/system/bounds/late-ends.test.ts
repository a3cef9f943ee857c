import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { test } from "node:test";
import type { KeyName } from "../../../src/sandbox/protocol.ts";
import { Entries } from "../../../src/sandbox/wire.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf } from "../../support/launcher/machine.ts";
import { connected, type Raw, run, step, stepFrame } from "../launcher/raw.ts";

/** 60 processes in the longest reads that the filter allows, of a file in memory. No signal ends one. */
const LONG_READS = `
import io, mmap, os
size = (128 << 20) - 1
file = os.memfd_create("data")
area = mmap.mmap(-1, size)
os.truncate(file, size)
data = mmap.mmap(file, size)
for at in range(0, size, 4096): data[at] = area[at] = 1
for process in range(59):
    if os.fork() == 0: break
own = io.FileIO(os.open(f"/proc/self/fd/{file}", os.O_RDONLY))
view = memoryview(area)
while True:
    own.seek(0)
    assert own.readinto(view) == size
`;

const entries = step(["/usr/bin/python3", "-c", LONG_READS], {
  WALL_MS: 10_000,
  CPU_MS: 60_000,
  CPU_RLIMIT_SECS: 61,
  MEMORY_BYTES: 512 << 20,
  PROCESSES: 64,
  KERNEL_BYTES: 256 << 20,
  WALKABLE_BYTES: 512 << 20,
  FILE_BYTES: 128 << 20,
});

/** So many boxes that their ends take longer than the time after which a slot reports that a box is ending. Each needs 290 MiB. */
const BOXES = 4 * cpus().length;

/** The frames of a step up to its TEARDOWN, by name. */
async function framesOf(raw: Raw) {
  raw.send(stepFrame(entries));
  const frames = new Map<string, Entries>();
  let endings = 0;
  for (;;) {
    const frame = await raw.next();
    assert.ok(frame, "the slot is lost");
    if (frame.name === "ENDING") endings++;
    else if (frame.name.startsWith("STD")) assert.fail(frame.body.toString());
    else frames.set(frame.name, new Entries(frame));
    if (frame.name === "TEARDOWN") break;
  }
  const [ended, torn] = [frames.get("ENDED"), frames.get("TEARDOWN")];
  assert.ok(ended && torn);
  return { endings, ended, torn };
}

/** The CPU time of a slot and its own children that have ended: the helpers of the end, and the first processes of its boxes. */
function cpuSecondsOf(slot: number): number {
  const fields = readFileSync(`/proc/${slot}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

test("boxes in long system calls end late, but none is lost, and the slots do not use the CPU that they need", async (t) => {
  const launcher = await startLauncher({ slots: BOXES });
  t.after(() => launcher.stop());
  const raws = await Promise.all(Array.from({ length: BOXES }, () => connected(launcher.socket)));
  const all = await Promise.all(raws.map(framesOf));
  const boxes = all.reduce((sum, { ended }) => sum + ended.int("CPU_USEC") / 1e6, 0);
  const slots = childrenOf(launcher.pid).reduce((sum, slot) => sum + cpuSecondsOf(slot), 0);
  t.diagnostic(`CPU time: boxes ${boxes.toFixed(1)} s, slots ${slots.toFixed(1)} s`);
  for (const { ended, torn, endings } of all) {
    const endMs = ended.int("END_USEC") / 1e3;
    t.diagnostic(`the end took ${endMs} ms, with ${endings} reports`);
    const end = ["FAIL_STEP", "FAIL_OBJECT", "KILL_REASON"].map((key) => ended.text(key as KeyName));
    assert.deepEqual([...end, ended.optionalInt("EXIT_CODE")], ["", "", "wall", null]);
    assert.deepEqual(ended.texts("EVIDENCE_ERROR"), []);
    assert.equal(torn.int("REAPED"), 1);
    assert.deepEqual(torn.texts("GROUP_LEFT"), []);
    if (endMs > 8000) assert.ok(endings > 0, "the client is told that the box is ending");
  }
  assert.ok(
    all.some(({ endings }) => endings > 0),
    "no end took long: this test needs more boxes",
  );
  // Helpers that tried each millisecond used more CPU time than the boxes, and with five boxes each end took 40 s.
  assert.ok(slots < boxes / 4, `${slots} s`);
  for (const raw of raws) {
    assert.equal((await run(raw, step(["/bin/true"]))).ended.optionalInt("EXIT_CODE"), 0);
    raw.close();
  }
});
