import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { FileError } from "../../../src/domain/sandboxes/files.ts";
import { FileClient } from "../../../src/files/client.ts";
import type { HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { startFileProgram } from "../../support/files/sandbox-program.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { execution, hold, type Options, output, python } from "../../support/launcher/sandbox.ts";

const MIB = 1 << 20;

/** Everything of all files that a snapshot must keep, one line each, sorted. Directories are opened with a right that the user may have taken away. */
const LISTING = python(`
import os, stat, hashlib
links = {}
def look(path):
    s = os.lstat(path)
    kind = stat.S_IFMT(s.st_mode)
    name = path.encode('utf-8', 'surrogateescape')
    more = ''
    if kind == stat.S_IFLNK: more = os.readlink(path)
    elif kind == stat.S_IFREG:
        os.chmod(path, 0o700) if not s.st_mode & 0o400 else None
        with open(path, 'rb') as f: more = f'{s.st_size} {hashlib.sha256(f.read()).hexdigest()} {s.st_blocks}'
        os.chmod(path, stat.S_IMODE(s.st_mode)) if not s.st_mode & 0o400 else None
    if s.st_nlink > 1 and kind != stat.S_IFDIR: more += f' = {links.setdefault(s.st_ino, name)}'
    if not (path == '/tmp' or kind == stat.S_IFSOCK): print(name, oct(s.st_mode), s.st_mtime_ns, more)
    if kind == stat.S_IFDIR:
        os.chmod(path, 0o700) if s.st_mode & 0o500 != 0o500 else None
        for entry in sorted(os.listdir(path)): look(path + '/' + entry)
        os.chmod(path, stat.S_IMODE(s.st_mode)) if s.st_mode & 0o500 != 0o500 else None
look('/home/user'); look('/tmp')
`);

describe("what a snapshot contains", () => {
  let launcher: Launcher;
  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 3, sandboxMemory: 3072 * MIB });
  });
  after(async () => {
    assert.equal(await launcher.stop(), 0, launcher.stderr());
  });

  async function inBox(work: (box: HeldSandbox) => Promise<void>, limits: Parameters<typeof hold>[1] = {}) {
    const box = await hold(launcher, limits);
    try {
      await work(box);
    } finally {
      const { reaped, pidsLeft, groupsLeft, residualMounts } = await box.end();
      assert.deepEqual({ reaped, pidsLeft, groupsLeft, residualMounts }, REMOVED);
    }
  }
  const REMOVED = { reaped: true, pidsLeft: 0, groupsLeft: [], residualMounts: [] };

  async function run(box: HeldSandbox, command: string | readonly string[]): Promise<string> {
    const slot = await box.attach();
    try {
      return await output(slot, command);
    } finally {
      slot.close();
    }
  }

  /** Saves the files, and continues what ran before. */
  async function save(box: HeldSandbox, most = Number.POSITIVE_INFINITY): Promise<Buffer> {
    await box.freeze();
    const files = new FileClient(() => startFileProgram(box, { whileFrozen: true, cwd: "/" }));
    const parts: Buffer[] = [];
    let bytes = 0;
    try {
      await files.save((part) => {
        bytes += part.length;
        if (bytes > most) throw new Error("too much");
        parts.push(Buffer.from(part));
      });
    } finally {
      files.close();
      await box.thaw();
    }
    return Buffer.concat(parts);
  }

  async function restore(box: HeldSandbox, archive: Buffer, options: Options = {}): Promise<void> {
    const files = new FileClient(() => startFileProgram(box, { cwd: "/", ...options }));
    async function* body() {
      for (let at = 0; at < archive.length; at += 65_536) yield archive.subarray(at, at + 65_536);
    }
    try {
      await files.restore(body());
    } finally {
      files.close();
    }
  }

  const sha = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

  test("comes back exactly, and 20 times the same", async () => {
    let archive: Buffer = Buffer.alloc(0);
    let listing = "";
    await inBox(async (box) => {
      await run(
        box,
        python(`
import os, socket
os.chdir('/home/user')
os.rmdir('.local/bin'); os.rmdir('.local')
open('.local', 'w').write('a file in place of a directory')
for i in range(1000):
    os.makedirs(f'd{i % 30}', exist_ok=True)
    open(f'd{i % 30}/f{i}', 'wb').write(os.urandom(i))
    os.chmod(f'd{i % 30}/f{i}', i % 0o1000); os.utime(f'd{i % 30}/f{i}', ns=(1, 1_600_000_000_123_456_789 + i))
os.symlink('/etc/passwd', 'absolute'); os.symlink('missing', 'dangling'); os.symlink('x' * 4000, 'long')
os.link('d1/f1', 'second'); os.link('d1/f1', 'd2/third'); os.link('absolute', 'linked-link')
os.mkfifo('fifo', 0o610); os.link('fifo', 'fifo2')
socket.socket(socket.AF_UNIX).bind('socket')
os.makedirs('empty/in/empty'); os.mkdir('closed'); open('closed/inside', 'w').write('x'); os.link('closed/inside', 'd3/from-closed')
os.mkdir('closed/deeper'); os.chmod('closed/deeper', 0); os.chmod('closed', 0o100); os.utime('empty/in', ns=(5, -1_500_000_000))
os.mkdir('readonly'); open('readonly/file', 'w').close(); os.chmod('readonly/file', 0o4111); os.chmod('readonly', 0o2555)
with open('sparse', 'wb') as f: f.seek(50_000_000); f.write(b'end'); f.seek(5_000_000); f.write(b'middle'); f.truncate(60_000_000)
with open('hole', 'wb') as f: f.truncate(61_234_567)
with open('full', 'wb') as f: f.write(b'\\0' * 100_000)
for name in (b'new\\nline', b'\\xff\\xfe', b' ', b'=', b'a' * 255, b'\\x01\\x7f', 'é'.encode(), b'.wh.f', b'.wh..wh..opq', b'..data', b'-'):
    open(os.path.join(b'/home/user', name), 'wb').write(name)
    os.mkdir(os.path.join(b'/tmp', name))
os.makedirs('/tmp/' + '/'.join(['deep' * 5] * 150)); os.chmod('/tmp/.wh.f', 0o1777); os.chmod('.', 0o711); os.utime('.', ns=(3, 4))
`),
      );
      listing = await run(box, LISTING);
      archive = await save(box);
      assert.equal(await run(box, LISTING), listing, "a snapshot changes nothing");
      assert.equal(sha(await save(box)), sha(archive));
      assert.ok(archive.length < 4 * MIB, `${archive.length} bytes: holes are not stored`);
    }, LARGE);
    for (let i = 0; i < 20; i++)
      await inBox(async (box) => {
        await restore(box, archive);
        const again = await save(box);
        assert.equal(sha(again), sha(archive), `generation ${i}`);
        archive = again;
        if (i === 19) assert.equal(await run(box, LISTING), listing);
      }, LARGE);
  });
  const LARGE = { memoryBytes: 512 * MIB, diskBytes: 256 * MIB, inodes: 8192 };

  test("is consistent: programs stand still and then go on, without time that counts", async () => {
    await inBox(async (box) => {
      const slot = await box.attach();
      const counting = slot.run(
        execution(
          python(`
import os
for i in range(10**9):
    open('a.new', 'w').write(str(i)); open('b.new', 'w').write(str(i)); os.rename('a.new', 'a'); os.rename('b.new', 'b')
    if os.path.exists('stop'): break
`),
        ),
      );
      const sleeper = await box.attach();
      const sleeping = sleeper.run(execution("sleep 1", { limits: { wallMs: 4_000 } }));
      await run(box, "until [ -e b ]; do sleep 0.01; done");
      await box.freeze();
      await new Promise((resolve) => setTimeout(resolve, 5_000)); // longer than the limit of the sleeper
      await box.thaw();
      const report = await sleeping;
      assert.deepEqual([report.exitCode, report.killReason], [0, "none"]);
      assert.ok(report.wallNs < 4e9, String(report.wallNs));
      for (let i = 0; i < 20; i++) {
        const archive = await save(box);
        const names = ["home/user/a\0", "home/user/b\0"].map((name) => archive.indexOf(name));
        const [a, b] = names.map((at) => Number.parseInt(archive.toString("latin1", at + 512, at + 530), 10)) as [
          number,
          number,
        ];
        assert.ok(a === b || a === b + 1, `${a} and ${b} at the same moment`);
      }
      await run(box, "touch stop");
      assert.equal((await counting).exitCode, 0);
      slot.close();
      sleeper.close();
    });
  });

  test("of a paused sandbox leaves it paused", async () => {
    await inBox(async (box) => {
      const slot = await box.attach();
      const ticking = slot.run(execution("while [ ! -e stop ]; do date +%N > tick; done"));
      await run(box, "until [ -s tick ]; do sleep 0.01; done");
      await box.pause();
      const first = await save(box);
      assert.equal((await box.measure()).frozen, true);
      assert.equal(sha(await save(box)), sha(first));
      const refused = await box.attach();
      assert.equal((await refused.run(execution("true"))).failure?.errno, 16);
      await box.resume();
      await run(box, "x=$(cat tick); until [ -s tick ] && [ $(cat tick) != $x ]; do sleep 0.01; done");
      assert.notEqual(sha(await save(box)), sha(first));
      await run(box, "touch stop");
      assert.equal((await ticking).exitCode, 0);
      slot.close();
      refused.close();
    });
  });

  test("only a step for that runs while the sandbox is frozen, and it runs at no other time", async () => {
    await inBox(async (box) => {
      const slot = await box.attach();
      const early = await slot.run(execution("true", { whileFrozen: true }));
      assert.match(String(early.failure?.object), /not frozen/);
      await box.freeze();
      const other = await slot.run(execution("true"));
      assert.match(String(other.failure?.object), /paused/);
      const allowed = await slot.run(execution("echo $(ls /proc | grep -c '^[0-9]')", { whileFrozen: true }));
      assert.equal(allowed.exitCode, 0);
      await box.thaw();
      slot.close();
    });
  });

  test("nothing outside of the home directory and /tmp can be changed by a program", async () => {
    await inBox(async (box) => {
      const writable = await run(
        box,
        "find / -xdev \\( -type d -o -type f \\) -writable -not -path '/proc/*' 2>/dev/null | grep -v -e '^/home/user' -e '^/tmp' || true",
      );
      assert.equal(writable, "");
      const refused =
        "rm /usr/bin/env; rm -r /usr/share; mv /etc /tmp/etc; chmod 777 /; mknod /tmp/w c 0 0; ln /bin/ls /tmp/ls";
      const errors = await run(
        box,
        `${refused
          .split("; ")
          .map((one) => `${one} 2>/dev/null && echo "${one}"`)
          .join("; ")}; true`,
      );
      assert.equal(errors, "");
    });
  });

  test("leaves files as they were when it is given up in the middle", async () => {
    await inBox(async (box) => {
      await run(
        box,
        "mkdir -p locked/in; head -c 20000000 /dev/urandom > locked/in/big; chmod 0 locked/in/big locked/in locked",
      );
      const listing = await run(box, LISTING);
      await assert.rejects(save(box, 5_000_000), /too much/);
      assert.equal(await run(box, LISTING), listing);
    });
  });

  test("has tens of thousands of files, which many executions have made", async () => {
    const limits = { memoryBytes: 512 * MIB, diskBytes: 256 * MIB, inodes: 65_536 };
    const count = 40_000;
    let archive: Buffer = Buffer.alloc(0);
    await inBox(async (box) => {
      // In several executions, each of which has its share of the kernel's memory.
      for (let from = 0; from < count; from += 5_000) {
        const make = `import os
os.makedirs('many', exist_ok=True); os.chdir('many')
for i in range(${from}, ${from} + 5000): open(str(i), 'w').close()`;
        await run(box, python(make));
      }
      archive = await save(box);
    }, limits);
    await inBox(async (box) => {
      await restore(box, archive, { limits: { memoryBytes: 512 * MIB }, kernelBytes: 512 * MIB });
      assert.equal(await run(box, "ls -U many | wc -l"), `${count}\n`);
      assert.equal(sha(await save(box)), sha(archive));
    }, limits);
  });

  test("does not fit into a smaller sandbox", async () => {
    let archive: Buffer = Buffer.alloc(0);
    await inBox(async (box) => {
      await run(
        box,
        "head -c 20000000 /dev/zero > big; mkdir many; i=0; while [ $i -lt 2000 ]; do : > many/$i; i=$((i+1)); done",
      );
      archive = await save(box);
    });
    for (const limits of [{ diskBytes: 8 * MIB }, { inodes: 512 }])
      await inBox(async (box) => {
        await assert.rejects(restore(box, archive), (error) => error instanceof FileError && error.code === "noSpace");
      }, limits);
  });

  test("an archive that leads elsewhere is refused", async () => {
    const header = (name: string, type: string, target = "") => {
      const block = Buffer.alloc(512);
      block.write(name, 0, "latin1");
      block.write("0000755\0", 100);
      block.write("00000000000\0", 124);
      block.write("00000000000\0", 136);
      block.write("        ", 148);
      block.write(type, 156);
      block.write(target, 157, "latin1");
      block.write("ustar\x0000", 257, "latin1");
      block.write(
        `${block
          .reduce((sum, byte) => sum + byte, 0)
          .toString(8)
          .padStart(6, "0")}\0 `,
        148,
      );
      return block;
    };
    const home = header("home/user/", "5");
    const wrong: readonly (readonly Buffer[])[] = [
      [header("etc/", "5")],
      [header("home/user/file", "0")],
      [home, header("home/user/../other", "0")],
      [home, header("home/user/link", "2", "/tmp"), header("home/user/link/file", "0")],
      [home, header("home/user/a/b", "0")],
      [home, header("home/user/", "0")],
      [home, header("home/user/x", "3")],
      [home, header("home/user/x", "1", "../../etc/passwd")],
      [home, header("home/user/x", "1", "home/user/missing")],
      [home, header("home/user/d/", "5"), header("home/user/d/", "5")],
      [home, header("tmp/x", "0")],
    ];
    await inBox(async (box) => {
      for (const [at, blocks] of wrong.entries())
        await assert.rejects(restore(box, Buffer.concat([...blocks, Buffer.alloc(1024)])), FileError, `archive ${at}`);
      await restore(box, Buffer.concat([home, header("home/user/x", "0"), Buffer.alloc(1024)]));
      assert.equal(await run(box, "ls"), "x\n");
    });
  });
});
