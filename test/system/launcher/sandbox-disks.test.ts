import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SandboxError } from "../../../src/sandbox/refusal.ts";
import { type DiskDirectory, diskDirectory, NO_DISKS } from "../../support/launcher/disks.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, tracesLeft } from "../../support/launcher/machine.ts";
import { describe as described, execution, hold, output, REMOVED } from "../../support/launcher/sandbox.ts";

const MIB = 1_048_576;
const GIB = 1024 * MIB;
const DISK = { storage: "disk", diskBytes: GIB, inodes: GIB / 16_384 } as const;
/** Of all disks together: two of the smaller ones. */
const ALL_BYTES = 2 * GIB;
/** A file may have all of the disk. */
const LARGE = { limits: { fileBytes: 2 * GIB, wallMs: 600_000 } };
/** Bytes of the disk that the file system takes for itself, at most. */
const OVERHEAD = GIB / 24;

describe("a disk of a sandbox", { skip: NO_DISKS }, () => {
  let disks: DiskDirectory;
  let launcher: Launcher;
  before(async () => {
    disks = diskDirectory(ALL_BYTES);
    launcher = await startLauncher({
      slots: 1,
      sandboxes: 4,
      disks: { directory: disks.directory, bytes: ALL_BYTES },
    });
  });
  after(async () => {
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
    await eventually("no disk is left", () => disks.devices() === 0);
    disks.remove();
  });

  test("has more files than the sandbox has memory, and they are not charged as memory", async () => {
    const box = await hold(launcher, DISK);
    const slot = await box.attach();
    const script = `dd if=/dev/urandom of=a bs=1M count=400 2>&1 && sha256sum <a >/tmp/sum && sync a && sha256sum <a | cmp - /tmp/sum`;
    const report = await slot.run(execution(script, LARGE));
    assert.deepEqual([report.exitCode, report.oomKills], [0, 0], described(report));
    const { diskBytes, inodes, memoryBytes, oomKills } = await box.measure();
    assert.ok(diskBytes > 400 * MIB && diskBytes < 500 * MIB, String(diskBytes));
    assert.ok(inodes > 5 && inodes < 100, String(inodes));
    assert.ok(memoryBytes <= 256 * MIB, String(memoryBytes));
    assert.equal(oomKills, 0);
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("lets no execution use memory for what earlier ones have read and written", async () => {
    const box = await hold(launcher, DISK);
    const slot = await box.attach();
    // More executions than there are leaves in the pool, each of which leaves pages of files in its leaf.
    for (let n = 0; n < 20; n++) await output(slot, `dd if=/dev/zero of=f${n} bs=1M count=16 2>/dev/null`);
    const limits = { memoryBytes: 64 * MIB };
    const over = await slot.run(execution(["python3", "-c", "x = bytearray(80 << 20)"], { limits }));
    assert.equal(over.oomKills, 1, described(over));
    const within = await slot.run(execution(["python3", "-c", "x = bytearray(40 << 20)"], { limits }));
    assert.equal(within.exitCode, 0, described(within));
    assert.ok(within.memoryPeakBytes > 40 * MIB && within.memoryPeakBytes <= 64 * MIB, String(within.memoryPeakBytes));
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("is as large as it was promised and not larger, in bytes and in files", async () => {
    const box = await hold(launcher, DISK);
    const slot = await box.attach();
    const filled = await slot.run(
      execution("dd if=/dev/zero of=a bs=1M; stat -c %s a; stat -f -c %c /; stat -f -c '%b %S' /", LARGE),
    );
    assert.match(filled.stderr.toString(), /No space left on device/, described(filled));
    const [bytes, inodes, [blocks, blockBytes]] = filled.stdout
      .toString()
      .trim()
      .split("\n")
      .map((line) => line.split(" ").map(Number)) as [number[], number[], number[]];
    assert.ok(Number(bytes) < GIB && Number(bytes) > GIB - OVERHEAD, String(bytes));
    assert.deepEqual(inodes, [DISK.inodes]);
    assert.ok(Number(blocks) * Number(blockBytes) <= GIB - 2 * MIB, "no file has the end of the device");
    await output(slot, "rm a; echo there is room again > b; cat b");
    const program = `
import os
made = 0
try:
    while True:
        if made % 4096 == 0: os.mkdir(f"d{made}")
        os.mknod(f"d{made - made % 4096}/{made}"); made += 1
except OSError as error:
    print(error.errno)
print(made)`;
    const many = await output(slot, ["python3", "-c", program], {
      limits: { memoryBytes: 200 * MIB, cpuMs: 300_000, wallMs: 600_000 },
    });
    const [errno, made] = many.trim().split("\n").map(Number);
    assert.equal(errno, 28);
    assert.ok(Number(made) < DISK.inodes && Number(made) > DISK.inodes - 100, String(made));
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("is made of a file system without an index of directories, a journal, and a name of the machine", () => {
    const [template = ""] = readdirSync(disks.directory);
    const asked = ["-h", join(disks.directory, template)];
    const header = execFileSync("dumpe2fs", asked, { stdio: ["ignore", "pipe", "ignore"] }).toString();
    assert.doesNotMatch(header, /dir_index|has_journal|metadata_csum/);
    assert.match(header, /UUID: *00000000-0000-4000-8000-000000000001/);
  });

  test("ends at once, whatever its programs have still to write", async () => {
    const box = await hold(launcher, DISK);
    const slot = await box.attach();
    // Pages at random places, which a disk would take its time for.
    const program =
      "import mmap, random\nf = open('a', 'w+b'); f.truncate(900 << 20); m = mmap.mmap(f.fileno(), 0)\nprint('ready', flush=True)\nwhile True: m[random.randrange(900 << 20)] = 1";
    const writes = slot.run(execution(["python3", "-c", program], LARGE)).catch(() => {});
    while ((await box.measure()).diskBytes < 64 * MIB) await sleep(100);
    assert.deepEqual(await box.end(), REMOVED);
    await writes;
  });

  test("ends soon also if its file is in many pieces", async () => {
    const box = await hold(launcher, DISK);
    const slot = await box.attach();
    const script = `python3 -c '
import os
fd = os.open("pieces", os.O_RDWR | os.O_CREAT)
os.posix_fallocate(fd, 0, 400 << 20)
for page in range(0, 102400, 2):
    os.pwrite(fd, bytes(4096), page * 4096)
os.fsync(fd)'`;
    const report = await slot.run(execution(script, LARGE));
    assert.equal(report.exitCode, 0, described(report));
    // The holder waits for the end of the file for a time in which the pieces could not be freed one by one, where the machine discards each of them.
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("shows nothing of the machine, and has neither devices nor programs with rights of others", async () => {
    const box = await hold(launcher, DISK);
    const slot = await box.attach();
    const mounts = await output(slot, "cat /proc/self/mountinfo");
    assert.doesNotMatch(mounts, /loop|ext4|assay-disks/);
    assert.match(mounts, / \/ rw,nosuid,nodev[^\n]* overlay /);
    const names = await output(slot, "ls /; ls -d /lost+found 2>&1; ls -A /tmp; ls /dev");
    assert.doesNotMatch(names, /^lost\+found|loop/m);
    assert.match(names, /cannot access/);
    assert.deepEqual(await box.end(), REMOVED);
  });

  test("takes its space at once, and gives it back at its end, however that comes", async () => {
    const free = () =>
      Number(statfsSync(disks.directory, { bigint: true }).bfree * statfsSync(disks.directory, { bigint: true }).bsize);
    const beforeBytes = free();
    const box = await hold(launcher, DISK);
    assert.ok(beforeBytes - free() > GIB / 2, "the space is reserved");
    assert.equal(disks.devices(), 1);
    const slot = await box.attach();
    const writes = slot.run(execution("while :; do dd if=/dev/zero of=a bs=1M count=64 2>/dev/null; done", LARGE));
    while ((await box.measure()).diskBytes < 32 * MIB) await sleep(100);
    assert.deepEqual(await box.end(), REMOVED);
    await writes.catch(() => {});
    assert.equal(disks.devices(), 0);
    await eventually("the space is free again", () => beforeBytes - free() < GIB / 2);
  });

  test("is refused beyond what all disks may have together, and is there again after an end", async () => {
    const boxes = [await hold(launcher, DISK), await hold(launcher, DISK)];
    await assert.rejects(
      hold(launcher, DISK),
      (error) => error instanceof SandboxError && /all disks together/.test(error.message),
    );
    const inMemory = await hold(launcher);
    assert.deepEqual(await inMemory.end(), REMOVED);
    assert.deepEqual(await boxes[0]?.end(), REMOVED);
    const another = await hold(launcher, DISK);
    for (const box of [another, boxes[1]]) assert.deepEqual(await box?.end(), REMOVED);
  });

  test("has one of the sizes for which there is a template, and the files that follow from it", async () => {
    for (const [limits, why] of [
      [{ ...DISK, diskBytes: GIB + 4096, inodes: Math.floor((GIB + 4096) / 16_384) }, /no template/],
      [{ ...DISK, inodes: 4096 }, /an inode for each/],
    ] as const)
      await assert.rejects(hold(launcher, limits), (error) => error instanceof SandboxError && why.test(error.message));
    assert.equal(disks.devices(), 0);
  });

  test("is stopped and continued with its sandbox, and outlives a client that has said so", async () => {
    const box = await hold(launcher, DISK);
    const slot = await box.attach();
    await output(slot, "echo kept > a");
    await box.pause();
    await box.resume();
    await box.freeze();
    const reader = await box.attach();
    const frozen = await reader.run(execution("cat a; echo more >> a", { whileFrozen: true }));
    assert.equal(frozen.stdout.toString(), "kept\n", described(frozen));
    await box.thaw();
    assert.equal(await output(slot, "cat a"), "kept\nmore\n");
    assert.deepEqual(await box.end(), REMOVED);
  });
});

describe("a launcher with disks", { skip: NO_DISKS }, () => {
  test("that is killed leaves none, and the next one has its space again", async () => {
    const disks = diskDirectory(GIB);
    const options = { slots: 1, sandboxes: 2, disks: { directory: disks.directory, bytes: GIB } };
    const first = await startLauncher(options);
    const box = await hold(first, DISK);
    const slot = await box.attach();
    const running = slot.run(execution("sleep 600 & cat /dev/zero > a; sleep 600", LARGE)).catch(() => {});
    assert.equal(disks.devices(), 1);
    await first.kill();
    await running;
    await eventually("the disk is gone", () => disks.devices() === 0);
    const second = await startLauncher({ ...options, after: first });
    assert.deepEqual(await (await hold(second, DISK)).end(), REMOVED);
    assert.equal(await second.stop(), 0);
    disks.remove();
  });

  test("does not start with a directory that others can read", async () => {
    // The socket is there before the launcher looks at the directory.
    const launcher = await startLauncher({ slots: 1, sandboxes: 1, disks: { directory: "/tmp", bytes: GIB } });
    await eventually("it says why", () => /others than root can read \/tmp/.test(launcher.stderr()));
    assert.equal(await launcher.stop(), 1);
  });
});

test("a sandbox has no disk where the operator has not asked for disks", async () => {
  const launcher = await startLauncher({ slots: 1, sandboxes: 1 });
  await assert.rejects(
    hold(launcher, DISK),
    (error) => error instanceof SandboxError && /have none here/.test(error.message),
  );
  assert.equal(await launcher.stop(), 0);
});
