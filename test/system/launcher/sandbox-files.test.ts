import assert from "node:assert/strict";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { FileError } from "../../../src/domain/sandboxes/files.ts";
import { FileClient } from "../../../src/files/client.ts";
import type { AttachedSlot, HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { startFileProgram } from "../../support/files/sandbox-program.ts";
import { environment, type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import {
  describe as described,
  execution,
  hold,
  output,
  python,
  REMOVED,
  Screen,
} from "../../support/launcher/sandbox.ts";

const MIB = 1 << 20;
/** How often each request is made while names are exchanged below it. */
const ROUNDS = 150;
/** The directories of a large tree, and the files in each. Half of the directories stay as they are while the tree changes. */
const [DIRECTORIES, FILES_EACH] = [500, 99];
/** What the machine, another sandbox, and a directory that only links lead to contain. */
const [ON_HOST, IN_OTHER, BEHIND] = ["content of the machine", "content of another sandbox", "content behind a link"];

/**
 * Exchanges names in one step until it is killed: each place is by turns what the requests expect, and what a program could put there to lead them
 * elsewhere. It never follows the links itself.
 * @param host a directory of the machine.
 */
const EXCHANGE = (host: string) =>
  python(`
import ctypes, os, random, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
up = '../' * 40
def directory(path, mode=0o700, files=('f', 'g')):
  os.makedirs(path + '/sub')
  for name in files + ('sub/x',): open(path + '/' + name, 'w').write('inside')
  os.chmod(path, mode)
def link(target): return lambda path: os.symlink(target, path)
def server(path): s = socket.socket(socket.AF_UNIX); os.chdir(os.path.dirname(path)); s.bind(os.path.basename(path))
elsewhere = [link(to) for to in ('/home/user/behind', '${host}', up + '${host}', '/proc/1/root${host}', '/proc/self/root', '/etc', '/', '/proc/self/fd')]
files = [link(to) for to in ('/home/user/target', '${host}/secret', up + '${host}/secret', '/proc/1/root${host}/secret', '/proc/self/mem', '/proc/self/fd/0',
                             '/dev/zero', '/dev/ptmx', '/etc/passwd', 'f')]
places = {
  'race/d': elsewhere + [directory] * 8,
  'race/f': files + [os.mkfifo, server, directory] + [lambda path: open(path, 'w').write('inside')] * 10,
  'race/u/sub': elsewhere + [directory] * 8,
  'race/t/a': elsewhere + [lambda path: directory(path, 0o500)] * 8,
  'race/t/b': elsewhere + [directory] * 8,
}
os.makedirs('/home/user/race', exist_ok=True)
def exchange(place, other):
  at = '/home/user/' + place
  if libc.syscall(316, -100, other.encode(), -100, at.encode(), 2) == 0: return 1 # RENAME_EXCHANGE
  # A request has removed or moved it, or the directory.
  try:
    os.makedirs(os.path.dirname(at), exist_ok=True)
    if not os.path.lexists(at): random.choice(places[place])(at)
  except OSError: pass
  return 0
exchanged = 0
print('ready', flush=True)
while True:
  for number, (place, makers) in enumerate(places.items()):
    other = f'/home/user/pool/{number}-{random.randrange(len(makers))}'
    try:
      os.makedirs('/home/user/pool', exist_ok=True)
      if not os.path.lexists(other): makers[int(other.rsplit('-')[1])](other)
    except OSError: pass
    exchanged += exchange(place, other)
  if exchanged >= 1000: print('exchanged', flush=True); exchanged = 0
`);

/** A tar archive with one file, sub/unpacked. */
function archiveOfOne(): Buffer {
  const header = Buffer.alloc(512);
  header.write("sub/unpacked", 0);
  header.write("0000644\0", 100);
  header.write("00000000000\0", 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\x0000", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, Buffer.alloc(1024)]);
}

/** The names and contents of an archive without pax headers, of which this test needs none. */
function entriesOf(archive: Buffer): Map<string, Buffer> {
  const entries = new Map<string, Buffer>();
  for (let at = 0; archive[at] !== 0; ) {
    const field = (from: number, bytes: number) =>
      archive.toString("latin1", at + from, at + from + bytes).replace(/\0.*$/s, "");
    const size = Number.parseInt(field(124, 12), 8);
    const prefix = field(345, 155);
    entries.set(`${prefix && `${prefix}/`}${field(0, 100)}`, archive.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return entries;
}

async function* body(...parts: readonly (string | Buffer)[]) {
  for (const part of parts) yield Buffer.from(part);
}
async function all(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

/** All names below a directory, with what distinguishes a changed file from an unchanged one. */
function listing(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    const { mode, uid, size, ino } = lstatSync(path);
    const line = [path, mode, uid, size, ino].join(" ");
    return entry.isDirectory() ? [line, ...listing(path)] : [line];
  });
}

describe("requests for files of a hostile sandbox", () => {
  let launcher: Launcher;
  let box: HeldSandbox;
  let other: HeldSandbox;
  let host: string;
  const limits = { memoryBytes: 1024 * MIB, diskBytes: 384 * MIB, inodes: 65_536 };
  const shell = async (command: string | readonly string[], of = box) => {
    const slot = await of.attach();
    try {
      return await output(slot, command);
    } finally {
      slot.close();
    }
  };
  /** Starts a program that is killed at the end of what is done meanwhile. */
  async function during(program: readonly string[], work: (screen: Screen) => Promise<void>): Promise<void> {
    const slot: AttachedSlot = await box.attach();
    const screen = new Screen();
    const running = slot.run(
      execution(program, { limits: { cpuMs: 600_000, wallMs: 600_000, memoryBytes: 256 * MIB } }),
      screen.add,
    );
    try {
      await screen.until("ready\n");
      await work(screen);
    } finally {
      slot.kill();
      const report = await running;
      assert.deepEqual([report.killReason, report.failure], ["client", undefined], described(report));
    }
  }
  /** The code of the failure of a request; what it returns otherwise. What is no failure of a request for files fails the test. */
  const codeOf = async (request: () => Promise<string>): Promise<string> => {
    try {
      return await request();
    } catch (error) {
      if (error instanceof FileError) return error.code;
      throw error;
    }
  };

  before(async () => {
    launcher = await startLauncher({ slots: 1, sandboxes: 2, sandboxMemory: 1536 * MIB });
    box = await hold(launcher, limits);
    other = await hold(launcher);
    host = mkdtempSync(join(tmpdir(), "assay-elsewhere-"));
    mkdirSync(join(host, "sub"));
    writeFileSync(join(host, "secret"), ON_HOST);
    // Only the view of the sandbox keeps its programs from these: every user may change them.
    for (const [name, mode] of [
      [".", 0o777],
      ["sub", 0o777],
      ["secret", 0o666],
    ] as const)
      chmodSync(join(host, name), mode);
    await shell(
      `mkdir behind behind/sub; for f in marker sub/x; do echo ${BEHIND} > behind/$f; done; chmod 755 behind`,
    );
    await shell(`cd /tmp; echo ${IN_OTHER} > secret; chmod 666 secret`, other);
  });
  after(async () => {
    rmSync(host, { recursive: true });
    for (const one of [box, other]) assert.deepEqual(await one.end(), REMOVED);
    assert.equal(await launcher.stop(), 0);
    assert.deepEqual(await tracesLeft(launcher), []);
  });

  test("neither read nor change anything elsewhere, whatever a program puts in the way of a request", async () => {
    const image = join(environment("ASSAY_TEST_IMAGE"), "rootfs", "etc");
    const [imageBefore, hostBefore, otherBefore] = [
      listing(image),
      listing(host),
      await shell("find /tmp /home/user -ls", other),
    ];
    const files = new FileClient(() => startFileProgram(box, { limits: { wallMs: 600_000, cpuMs: 600_000 } }));
    const archive = archiveOfOne();
    const seen: Buffer[] = [];
    const keep = (bytes: Buffer) => {
      seen.push(bytes);
      return "done";
    };
    const archives: Buffer[] = [];
    const requests: Record<string, () => Promise<unknown>> = {
      "read a file": async () => keep(await all((await files.read("race/f", { from: 0, to: 4096 })).body)),
      "read in a directory": async () => keep(await all((await files.read("race/d/f", null)).body)),
      "read a file that only others have": async () => keep(await all((await files.read("race/d/secret", null)).body)),
      "write a file": () => files.write("race/f", body("inside"), { mode: 0o666 }),
      "write in a directory": () => files.write("race/d/written", body("written"), { createParents: true }),
      list: async () => keep(Buffer.from(JSON.stringify(await files.list("race/d", null, 100)))),
      stat: async () => keep(Buffer.from(JSON.stringify(await files.stat("race/f", true)))),
      archive: async () => archives.push(await all(await files.archive("race"))),
      unpack: () => files.unpack("race/u", body(archive)),
      "make a directory": () => files.makeDirectory("race/d/made/deep"),
      "move into a directory": async () => {
        await files.write("moved", body("moved"), {});
        await files.move("moved", "race/d/moved");
      },
      move: () => files.move("race/f", "race/away"),
      "remove a file": () => files.remove("race/d/written", false),
      "remove a tree": () => files.remove("race/t", true),
    };
    const codes = new Map<string, number>();
    await during(EXCHANGE(host), async (screen) => {
      for (let round = 0; round < ROUNDS; round++)
        await Promise.all(
          Object.entries(requests).map(async ([name, request]) => {
            const code = await codeOf(async () => {
              await request();
              return "done";
            });
            codes.set(`${name}: ${code}`, (codes.get(`${name}: ${code}`) ?? 0) + 1);
          }),
        );
      await screen.until("exchanged\n");
    });
    const outcomes = JSON.stringify(Object.fromEntries(codes), null, 1);
    // Each request has an end, and no program was killed, silent, or broke the protocol.
    assert.equal(
      [...codes.values()].reduce((sum, count) => sum + count, 0),
      ROUNDS * Object.keys(requests).length,
    );
    assert.ok(![...codes.keys()].some((key) => /: (stopped|busy)$/.test(key)), outcomes);
    // Otherwise, the exchanges were no race.
    for (const name of Object.keys(requests)) {
      if (name === "read a file that only others have") assert.ok(!codes.has(`${name}: done`), outcomes);
      else assert.ok(codes.has(`${name}: done`), `${name}: ${outcomes}`);
    }
    for (const name of ["read a file", "read in a directory", "write a file", "list", "unpack"])
      assert.ok((codes.get(`${name}: done`) ?? 0) < ROUNDS, `${name}: ${outcomes}`);
    for (const bytes of [...seen, ...archives])
      for (const foreign of [ON_HOST, IN_OTHER]) assert.ok(!bytes.includes(foreign), foreign);
    // An archive contains links, and never what is behind them.
    for (const bytes of archives) for (const behind of [BEHIND, "root:x:0"]) assert.ok(!bytes.includes(behind), behind);
    assert.deepEqual(listing(image), imageBefore);
    assert.deepEqual([listing(host), readFileSync(join(host, "secret"), "utf8")], [hostBefore, ON_HOST]);
    assert.equal(await shell("find /tmp /home/user -ls", other), otherBefore);
    // A removal and an archive go through no link, not even to a directory of the same user.
    assert.equal(
      await shell("cat behind/marker behind/sub/x; stat -c %a behind; ls behind/unpacked 2>&1 || true"),
      `${BEHIND}\n${BEHIND}\n755\nls: cannot access 'behind/unpacked': No such file or directory\n`,
    );
    await files.remove("race", true);
    await files.remove("pool", true);
    await shell("rm -f target moved");
    files.close();
  });

  test("end with a tree of 50,000 files, also while it changes", async () => {
    const own = { limits: { memoryBytes: limits.memoryBytes, wallMs: 600_000, cpuMs: 600_000 } };
    const files = new FileClient(() => startFileProgram(box, own));
    // In several executions, each of which has its share of the kernel's memory.
    for (let from = 0; from < DIRECTORIES; from += 50)
      await shell(
        python(`
import os
for d in range(${from}, ${from + 50}):
  path = f"tree/{'still' if d % 2 else 'moving'}-{d:04d}"
  os.makedirs(path)
  for f in range(${FILES_EACH}): open(f'{path}/{f:03d}', 'w').write(f'{d} {f}')`),
      );
    const unchanged = new Map(
      Array.from({ length: DIRECTORIES / 2 }, (_, at) => 2 * at + 1).flatMap((d) =>
        Array.from({ length: FILES_EACH }, (_, f) => [
          `still-${String(d).padStart(4, "0")}/${String(f).padStart(3, "0")}`,
          `${d} ${f}`,
        ]),
      ),
    );
    const remove = async () => {
      await files.remove("tree", true);
      return "removed";
    };
    const whole = entriesOf(await all(await files.archive("tree")));
    assert.equal(whole.size, DIRECTORIES * (FILES_EACH + 1));

    /** Renames directories, and removes, makes and lengthens files in them. */
    const changing = python(`
import os, random
moving = [d for d in os.listdir('tree') if d.startswith('moving')]
print('ready', flush=True)
while True:
  at = random.randrange(len(moving)); old, new = moving[at], f'moving-{random.randrange(10 ** 4)}'
  try:
    os.rename('tree/' + old, 'tree/' + new); moving[at] = new
    name = f'tree/{new}/{random.randrange(${FILES_EACH}):03d}'
    try: os.unlink(name)
    except FileNotFoundError: pass
    open(name, 'w').write('x' * random.randrange(2000))
  except OSError:
    # Requests remove the tree.
    try: os.makedirs('tree/' + old)
    except OSError: pass`);
    await during(changing, async () => {
      const ends = new Set<string>();
      for (let n = 0; n < 4; n++) {
        const end = await codeOf(async () => {
          const entries = entriesOf(await all(await files.archive("tree")));
          for (const [name, content] of unchanged) assert.equal(entries.get(name)?.toString(), content, name);
          return "whole";
        });
        ends.add(end);
      }
      for (const end of ends) assert.ok(["whole", "changed"].includes(end), end);
      const names: string[] = [];
      for (let after: string | null = null, isFirst = true; isFirst || after !== null; isFirst = false) {
        const page = await files.list("tree", after, 100);
        names.push(...page.entries.map(({ path }) => path.replace(/.*\//, "")));
        after = page.next;
      }
      assert.deepEqual(names, [...names].sort());
      const still = new Set([...unchanged.keys()].map((name) => name.replace(/\/.*/, "")));
      assert.deepEqual(
        names.filter((name) => name.startsWith("still")),
        [...still].sort(),
      );
      // A removal next to a program that makes more ends as well.
      const end = await codeOf(remove);
      assert.ok(["removed", "notEmpty"].includes(end), end);
    });
    await codeOf(remove);
    assert.equal(await codeOf(async () => (await files.stat("tree")).type), "notFound");
    files.close();
  });

  test("that reach the memory limit of the file program fail, leave nothing, and the next ones succeed", async () => {
    const files = new FileClient(() => startFileProgram(box, { limits: { memoryBytes: 16 * MIB } }));
    async function* much() {
      for (let n = 0; n < 60; n++) yield Buffer.alloc(MIB, "x");
    }
    for (let n = 0; n < 3; n++) {
      assert.equal(await codeOf(async () => (await files.write("big", much(), {})).path), "stopped");
      assert.equal((await files.write("small", body("kept"), {})).bytes, 4);
    }
    assert.equal(await shell("ls; cat small"), "behind\nsmall\nkept");
    files.close();

    // The memory of the whole sandbox is taken by a program that the kernel kills later than others, if at all.
    const full = new FileClient(() => startFileProgram(box, { limits: { memoryBytes: limits.memoryBytes } }));
    const free = 12 * MIB;
    const taking = python(`
kept = []
used = lambda: int(open('/proc/meminfo').read().split('MemAvailable:')[1].split()[0]) << 10
size = ${limits.memoryBytes} - ${free} - (${limits.memoryBytes} - used())
kept = bytearray(max(0, size)); 
for at in range(0, len(kept), 4096): kept[at] = 1
print('ready', flush=True)
import time
while True: time.sleep(1)`);
    const slot = await box.attach();
    const screen = new Screen();
    const running = slot.run(execution(taking, { limits: { memoryBytes: limits.memoryBytes } }), screen.add);
    await screen.until("ready\n");
    for (let n = 0; n < 3; n++) {
      const end = await codeOf(async () => (await full.write("big", much(), {})).path);
      assert.ok(["stopped", "/home/user/big"].includes(end), end);
    }
    slot.kill();
    await running;
    assert.equal((await full.write("small", body("after"), {})).bytes, 5);
    assert.equal(await shell("cat small; echo; echo alive"), "after\nalive\n");
    full.close();
  });
});
