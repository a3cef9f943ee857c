import assert from "node:assert/strict";
import { test } from "node:test";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, eventually, read } from "../../support/launcher/machine.ts";
import { connected, run, step } from "./raw.ts";

const MiB = 1 << 20;

test("a large file of the slot is complete, and a sparse file of a program takes only the pages that it uses", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  const byteOfEachMiB = `
import mmap, os
file = os.open("sparse", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, ${6 * MiB})
view = mmap.mmap(file, ${6 * MiB})
for at in range(0, ${6 * MiB}, ${MiB}): view[at] = 1
print(os.fstat(file).st_blocks * 512, os.stat("large").st_size, sum(open("large", "rb").read()))
print(*(line.split(" - ")[1] for line in open("/proc/self/mountinfo") if " /box " in line))`;
  const data = Buffer.alloc(3 * MiB + 5, 1);
  const { stdout, stderr } = await run(raw, [
    ...step(["/usr/bin/python3", "-c", byteOfEachMiB]),
    ["FILE_NAME", "large"],
    ["FILE_DATA", data],
  ]);
  assert.equal(stderr, "");
  const [sizes = "", mounted = ""] = stdout.split("\n");
  assert.equal(sizes, `${6 * 4096} ${data.length} ${data.length}`);
  assert.doesNotMatch(mounted, /huge=(always|within_size|advise)/);
  raw.close();
});

test("each step gets its own copy of files that a slot keeps, and no process of a box maps them", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  const size = 3 * MiB;
  const file = (text: string) => [["FILE_NAME", "dir/file"] as const, ["FILE_DATA", text.padEnd(size)] as const];
  const look = "cut -c1-5 dir/file; rm -f dir/file; echo other > dir/file";
  const at = (place: number) => step(["/bin/sh", "-c", look], { KEEP_FILES: place });
  for (let place = 1; place <= 4; place++) await run(raw, [...at(place), ...file(`file${place}`)]);
  for (const place of [1, 4, 2, 2, 3]) assert.equal((await run(raw, at(place))).stdout, `file${place}\n`);
  await run(raw, [...at(2), ...file("newer")]);
  assert.equal((await run(raw, at(2))).stdout, "newer\n");
  assert.equal((await run(raw, at(3))).stdout, "file3\n");
  assert.equal((await run(raw, step(["/bin/ls", "-A", "/box"]))).stdout, "");
  const [slot = 0] = childrenOf(launcher.pid);
  const areasOf = (pid: number) => read(`/proc/${pid}/smaps`).split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const kibOf = (area: string) => Number(/^Size: +(\d+) kB$/m.exec(area)?.[1]);
  const isPrivate = (area: string) => /^VmFlags:.* dc/m.test(area);
  const kept = areasOf(slot).filter((area) => isPrivate(area) && kibOf(area) * 1024 >= size);
  const keptKib = kept.reduce((sum, area) => sum + kibOf(area), 0) - 4 * (size / 1024 + 4);
  assert.ok(keptKib >= 0 && keptKib <= 4 * 64, `${keptKib} KiB more than the files`); // frames and state of the slot, next to them
  const copied = areasOf(slot).filter((area) => /^VmFlags: rd wr mr/m.test(area) && !isPrivate(area));
  const copiedKib = copied.reduce((sum, area) => sum + Number(/^Anonymous: +(\d+) kB$/m.exec(area)?.[1]), 0);
  assert.ok(copiedKib < 192, `each fork of the slot copies ${copiedKib} KiB`);
  await eventually("a parked box", () => childrenOf(slot).length > 0);
  const boxes = childrenOf(slot);
  const places = new Set(kept.map((area) => area.split(" ")[0]));
  for (const pid of boxes)
    assert.deepEqual(
      areasOf(pid).filter((area) => places.has(area.split(" ")[0])),
      [],
      `${pid}`,
    );
  raw.close();
});
