import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import type { FileEvent, SandboxFiles } from "../../../src/domain/sandboxes/files.ts";
import { FileClient } from "../../../src/files/client.ts";
import { compileFileProgram, NOBODY, startLocally, temporaryHome } from "../../support/files/local-program.ts";

let directory: string;
/** With sanitizers, which end the program at an error. */
let program: string;
let withoutTmpfile: string;

before(() => {
  directory = mkdtempSync(join(tmpdir(), "assay-files-program-"));
  chmodSync(directory, 0o755);
  program = compileFileProgram(directory, ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
  const other = join(directory, "other");
  mkdirSync(other);
  withoutTmpfile = compileFileProgram(other, ["-static", "-DASSAY_WITHOUT_TMPFILE"]);
});
after(() => rmSync(directory, { recursive: true }));

/** A client whose program runs in a new home, as an unprivileged user. */
function open(t: TestContext, executable = program) {
  const home = temporaryHome((remove) => t.after(remove));
  const pids: number[] = [];
  const kills: (() => void)[] = [];
  const files = new FileClient(
    () =>
      startLocally(executable, (pid, kill) => {
        pids.push(pid);
        kills.push(kill);
      }),
    { home },
  );
  t.after(() => files.close());
  return { files, home, pids, kills };
}

async function* body(...parts: readonly (string | Buffer)[]) {
  for (const part of parts) yield Buffer.from(part);
}
const all = async (content: AsyncIterable<Buffer>) => {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
};
const text = async (files: SandboxFiles, path: string) => (await all((await files.read(path, null)).body)).toString();
const asNobody = (command: string, cwd: string) =>
  execFileSync("sh", ["-c", command], { cwd, uid: NOBODY, gid: NOBODY, encoding: "utf8" });

test("a file has its new content at once or not at all, and keeps its permissions", async (t) => {
  const { files, home } = open(t);
  const made = await files.write("a/b/x", body("one ", "two"), { createParents: true });
  assert.deepEqual([made.path, made.type, made.bytes, made.mode], [`${home}/a/b/x`, "file", 7, 0o644]);
  assert.deepEqual(await files.stat("a/b/x"), made);
  chmodSync(`${home}/a/b/x`, 0o750);
  const seen: string[] = [];
  async function* slowly() {
    for (const part of ["three", "four"]) {
      seen.push(readFileSync(`${home}/a/b/x`, "utf8"));
      yield Buffer.from(part);
    }
  }
  assert.equal((await files.write("a/b/x", slowly(), {})).mode, 0o750);
  assert.deepEqual(seen, ["one two", "one two"]);
  assert.equal((await files.write("a/b/x", body(), { mode: 0o600 })).mode, 0o600);
  assert.equal(readFileSync(`${home}/a/b/x`, "utf8"), "");
  assert.deepEqual(readdirSync(`${home}/a/b`), ["x"]);
  assert.equal(statSync(`${home}/a/b/x`).uid, NOBODY);
});

for (const variant of ["with", "without"] as const) {
  test(`a client that leaves changes nothing, on a file system ${variant} files without names`, async (t) => {
    const { files, home, pids } = open(t, variant === "with" ? program : withoutTmpfile);
    await files.write("x", body("old"), {});
    async function* broken() {
      yield Buffer.alloc(200_000);
      throw new Error("the connection is lost");
    }
    await assert.rejects(files.write("x", broken(), {}), { message: "the connection is lost" });
    await assert.rejects(files.write("new", broken(), { ifNoneMatch: "*" }), { message: "the connection is lost" });
    assert.deepEqual(readdirSync(home), ["x"]);
    assert.equal(await text(files, "x"), "old");
    await files.write("x", body("new"), { ifMatch: (await files.stat("x")).etag });
    await files.write("y", body("y"), { ifNoneMatch: "*" });
    assert.deepEqual(readdirSync(home).sort(), ["x", "y"]);
    assert.equal(await text(files, "x"), "new");
    assert.equal(pids.length, 1, "one program served all of this");
  });
}

for (const variant of ["with", "without"] as const) {
  test(`a program that is killed while it writes leaves no file, ${variant} files without names`, async (t) => {
    const { files, home, kills } = open(t, variant === "with" ? program : withoutTmpfile);
    const own = ".assay-0123456789abcde"; // one character fewer than a temporary name
    await files.write(own, body("own"), {});
    // It goes on while the other one is killed, and its file must not be removed with that of the other.
    const goOn = Promise.withResolvers<void>();
    async function* slowly() {
      yield Buffer.alloc(200_000);
      await goOn.promise;
      yield Buffer.alloc(200_000);
    }
    async function* killing() {
      yield Buffer.alloc(200_000);
      kills.at(-1)?.();
      yield Buffer.alloc(200_000);
      yield Buffer.alloc(200_000);
    }
    const slow = files.write("slow", slowly(), {});
    await assert.rejects(files.write("d/x", killing(), { createParents: true }), { code: "stopped" });
    goOn.resolve();
    assert.equal((await slow).bytes, 400_000);
    assert.deepEqual([readdirSync(home).sort(), readdirSync(`${home}/d`)], [[own, "d", "slow"], []]);
    await files.write("d/x", body("next"), {});
    assert.equal(await text(files, "d/x"), "next");
  });
}

test("conditions are decided by the program, before the content and again at its end", async (t) => {
  const { files, home } = open(t);
  const { etag } = await files.write("x", body("1"), { ifNoneMatch: "*" });
  let asked = false;
  async function* never() {
    asked = true;
    yield Buffer.from("2");
  }
  for (const options of [{ ifNoneMatch: "*" }, { ifNoneMatch: etag }, { ifMatch: "1-1-1" }, { ifMatch: '"x"' }]) {
    await assert.rejects(files.write("x", never(), options), { code: "changed" });
  }
  await assert.rejects(files.write("other", never(), { ifMatch: "*" }), { code: "changed" });
  assert.equal(asked, false);
  async function* racing() {
    yield Buffer.from("2");
    asNobody("echo racer > x", home);
    yield Buffer.from("3");
  }
  await assert.rejects(files.write("x", racing(), { ifMatch: etag }), { code: "changed" });
  assert.equal(await text(files, "x"), "racer\n");
  async function* creating() {
    yield Buffer.from("2");
    asNobody("echo racer > z", home);
  }
  await assert.rejects(files.write("z", creating(), { ifNoneMatch: "*" }), { code: "changed" });
  await files.write("x", body("4"), { ifMatch: (await files.stat("x")).etag, ifNoneMatch: etag });
  assert.equal(await text(files, "x"), "4");
});

test("a link in the place of a file is followed, so that the file is replaced and the link stays", async (t) => {
  const { files, home } = open(t);
  asNobody(
    "mkdir d; echo old > d/real; ln -s d/real one; ln -s $PWD/one two; ln -s loop loop; ln -s d/new dangling; ln -s d dir",
    home,
  );
  await files.write("two", body("new"), {});
  await files.write("dangling", body("made"), {});
  assert.equal(readFileSync(`${home}/d/real`, "utf8"), "new");
  assert.equal(readFileSync(`${home}/d/new`, "utf8"), "made");
  assert.equal(readlinkSync(`${home}/two`), `${home}/one`);
  await assert.rejects(files.write("loop", body("x"), {}), { code: "tooManyLinks" });
  await assert.rejects(files.write("dir", body("x"), {}), { code: "isDirectory" });
  assert.deepEqual([(await files.stat("one")).type, (await files.stat("one")).target], ["link", "d/real"]);
  assert.equal((await files.stat("one", true)).type, "file");
});

test("failures have their names", async (t) => {
  const { files, home } = open(t);
  asNobody(
    "mkdir d full; echo f > f; echo x > full/x; mkfifo pipe; echo no > no; chmod 0 no; echo ro > ro; chmod 400 ro; mkdir closed; chmod 500 closed",
    home,
  );
  const expect = (promise: Promise<unknown>, code: string) => assert.rejects(promise, { code }, code);
  await expect(files.stat("missing"), "notFound");
  await expect(files.stat("f/x"), "notDirectory");
  await expect(files.list("f", null, 10), "notDirectory");
  await expect(files.read("d", null), "isDirectory");
  await expect(files.read("pipe", null), "notRegular");
  await expect(files.read("no", null), "permission");
  await expect(files.read("/dev/null", null), "notRegular");
  await expect(files.write("d", body("x"), {}), "isDirectory");
  await expect(files.write("d/", body("x"), {}), "isDirectory");
  await expect(files.write("pipe", body("x"), {}), "notRegular");
  await expect(files.write("ro", body("x"), {}), "permission");
  await expect(files.write("closed/x", body("x"), {}), "permission");
  await expect(files.write("missing/x", body("x"), {}), "notFound");
  await expect(files.write("f/x/y", body("x"), { createParents: true }), "notDirectory");
  await expect(files.write("/etc/x", body("x"), {}), "permission");
  await expect(files.makeDirectory("f"), "exists");
  await expect(files.makeDirectory("/etc/x"), "permission");
  await expect(files.move("missing", "x"), "notFound");
  await expect(files.move("f", "full"), "isDirectory");
  await expect(files.move("full", "full/x/y"), "notDirectory");
  await expect(files.move("d", "d/e"), "failed");
  await expect(files.move("d", "/dev/shm/assay-files"), "otherFileSystem");
  await expect(files.remove("full", false), "notEmpty");
  await expect(files.remove("missing", true), "notFound");
  await expect(files.remove("/", true), "permission");
  await expect(files.remove("/etc/passwd", false), "permission");
  await expect(files.stat("x".repeat(300)), "badPath");
  await expect(files.watch("f", false, AbortSignal.timeout(1_000)), "notDirectory");
});

test("reads ranges, files of /proc, and no more than a file had", async (t) => {
  const { files, home } = open(t);
  const content = Buffer.from(Array.from({ length: 800_000 }, (_, i) => i % 251));
  await files.write("x", body(content), {});
  const read = async (range: Parameters<SandboxFiles["read"]>[1]) => {
    const { from, bytes, body: part } = await files.read("x", range);
    return { from, bytes, same: (await all(part)).equals(content.subarray(from, from + bytes)) };
  };
  assert.deepEqual(await read(null), { from: 0, bytes: 800_000, same: true });
  assert.deepEqual(await read({ from: 262_139, to: 524_281 }), { from: 262_139, bytes: 262_142, same: true });
  assert.deepEqual(await read({ from: 799_999, to: null }), { from: 799_999, bytes: 1, same: true });
  assert.deepEqual(await read({ from: 5, to: 1e15 }), { from: 5, bytes: 799_995, same: true });
  assert.deepEqual(await read({ last: 3 }), { from: 799_997, bytes: 3, same: true });
  assert.deepEqual(await read({ last: 1e9 }), { from: 0, bytes: 800_000, same: true });
  await assert.rejects(files.read("x", { from: 800_000, to: null }), { code: "badRange" });
  assert.equal(await text(files, "/proc/version"), readFileSync("/proc/version", "utf8"));
  const { body: shrinking } = await files.read("x", null);
  truncateSync(`${home}/x`, 100);
  await assert.rejects(all(shrinking), { code: "changed" });
});

test("lists a large directory in sorted pages without gaps, also while it changes", async (t) => {
  const { files, home } = open(t);
  mkdirSync(`${home}/d`);
  const names = Array.from({ length: 2_503 }, (_, i) => `f${i}`);
  for (const name of names) writeFileSync(`${home}/d/${name}`, "");
  writeFileSync(Buffer.concat([Buffer.from(`${home}/d/`), Buffer.from([0xff, 0xfe])]), "");
  const listed: string[] = [];
  let pages = 0;
  for (let next: string | null = null; pages === 0 || next !== null; pages++) {
    const page: Awaited<ReturnType<SandboxFiles["list"]>> = await files.list("d/", next, 500);
    listed.push(...page.entries.map(({ path }) => path.slice(home.length + 3)));
    next = page.next;
    rmSync(`${home}/d/f${pages}`, { force: true });
  }
  assert.equal(pages, 6);
  const expected = [...names.sort(), "\ufffd\ufffd"];
  assert.ok(expected.every((name) => listed.includes(name) || /^f[0-5]$/.test(name)));
  assert.deepEqual(
    listed,
    expected.filter((name) => listed.includes(name)),
  );
});

test("a page of long links is short instead of large", async (t) => {
  const { files, home } = open(t);
  for (let i = 0; i < 200; i++) symlinkSync("x".repeat(4_000), `${home}/l${i}`);
  const page = await files.list(".", null, 1_000);
  assert.ok(page.entries.length > 20 && page.entries.length < 100);
  assert.ok(page.next !== null);
});

test("removes trees of any depth and with directories that their owner has closed", async (t) => {
  const { files, home } = open(t);
  asNobody("mkdir -p d/a/b; echo x > d/a/b/f; ln -s /etc d/link; chmod 0 d/a/b; chmod 500 d/a", home);
  asNobody(
    "mkdir deep; cd deep; i=0; while [ $i -lt 330 ]; do mkdir 0123456789 && cd 0123456789 || exit 1; i=$((i+1)); done; echo x > f",
    home,
  );
  await files.remove("d", true);
  await files.remove("deep", true);
  assert.deepEqual(readdirSync(home), []);
  asNobody("echo x > f; ln -s f l", home);
  await files.remove("l", false);
  assert.deepEqual(readdirSync(home), ["f"]);
});

test("an archive and its unpacked copy are equal, and tar reads and writes the same", async (t) => {
  const { files, home } = open(t);
  const long = "n".repeat(120);
  asNobody(
    `mkdir -p d/${long}/${long}/${long} d/empty d/ü; echo x > d/${long}/${long}/${long}/f; printf '%070000d' 1 > d/big; : > d/zero
     echo run > d/run; chmod 755 d/run; ln -s ${"t".repeat(200)} d/dangling; ln -s big d/l; mkfifo d/pipe; touch -d 2001-02-03 d/zero; chmod 700 d/empty`,
    home,
  );
  const tar = await all(await files.archive("d"));
  assert.equal(tar.length % 512, 0);
  assert.deepEqual(
    await files.unpack(
      "copy/new",
      body(...[...tar.subarray(0, 3_000)].map((byte) => Buffer.from([byte])), tar.subarray(3_000)),
    ),
    {
      files: 6,
      bytes: 70_000 + 2 + 4,
    },
  );
  writeFileSync(`${home}/d.tar`, tar);
  mkdirSync(`${home}/by-tar`);
  execFileSync("tar", ["-xf", `${home}/d.tar`, "-C", `${home}/by-tar`, "--no-same-owner"]);
  const tree = (root: string) =>
    execFileSync(
      "sh",
      ["-c", "find . -mindepth 1 ! -type p -printf '%y %m %p %l\\n' | sort; find . -type f | sort | xargs sha256sum"],
      { cwd: root, encoding: "utf8" },
    ).replace(/^l \d+/gm, "l");
  assert.equal(tree(`${home}/copy/new`), tree(`${home}/d`));
  assert.equal(tree(`${home}/by-tar`), tree(`${home}/d`));
  assert.equal(statSync(`${home}/copy/new/zero`).mtimeMs, statSync(`${home}/d/zero`).mtimeMs);
  for (const format of ["gnu", "pax", "ustar", "v7"]) {
    if (format === "v7" || format === "ustar") rmSync(`${home}/d/${long}`, { recursive: true, force: true });
    if (format === "v7") rmSync(`${home}/d/dangling`, { force: true });
    if (format === "ustar") rmSync(`${home}/d/dangling`, { force: true });
    linkSync(`${home}/d/run`, `${home}/d/hard-${format}`);
    const written = execFileSync("tar", ["-c", `--format=${format}`, "--exclude=pipe", "-C", `${home}/d`, "."], {
      maxBuffer: 10 << 20,
    });
    await files.unpack(`from-${format}`, body(written));
    assert.equal(tree(`${home}/from-${format}`), tree(`${home}/d`), format);
    assert.equal(lstatSync(`${home}/from-${format}/run`).ino, lstatSync(`${home}/from-${format}/hard-${format}`).ino);
  }
  assert.deepEqual((await all(await files.archive("d/run"))).subarray(0, 4).toString(), "run\0");
  await assert.rejects(files.archive("d/pipe"), { code: "notRegular" });
  await assert.rejects(files.archive("missing"), { code: "notFound" });
});

/** An archive with one entry. */
function entry(
  name: string,
  type: string,
  { target = "", content = "", size }: { target?: string; content?: string; size?: number } = {},
) {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000644\0", 100);
  header.write(`${(size ?? content.length).toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write(type, 156);
  header.write(target, 157);
  header.write("ustar\x0000", 257);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0`,
    148,
  );
  const padded = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  padded.write(content);
  return Buffer.concat([header, padded]);
}

test("an archive can write nothing outside of its directory, and makes no devices", async (t) => {
  const { files, home } = open(t);
  asNobody("mkdir outside; echo old > outside/f", home);
  const bad: Record<string, readonly Buffer[]> = {
    absolute: [entry(`${home}/outside/f`, "0", { content: "new" })],
    parent: [entry("a/../../outside/f", "0", { content: "new" })],
    "through a link": [entry("l", "2", { target: "../outside" }), entry("l/f", "0", { content: "new" })],
    "directory at a link": [
      entry("l", "2", { target: "../outside" }),
      entry("l", "5"),
      entry("l/f", "0", { content: "new" }),
    ],
    "hard link to a parent": [entry("h", "1", { target: "../outside/f" }), entry("h", "0", { content: "new" })],
    "hard link through a link": [entry("l", "2", { target: "../outside" }), entry("h", "1", { target: "l/f" })],
    "character device": [entry("c", "3")],
    "block device": [entry("b", "4")],
    pipe: [entry("p", "6")],
    sparse: [entry("s", "S")],
    "the directory itself as a file": [entry(".", "0")],
    truncated: [entry("t", "0", { content: "new", size: 5_000 })],
    "no archive": [Buffer.alloc(512, "x")],
    "half a block": [entry("x", "5"), Buffer.from("x")],
    "a bad pax header": [entry("x", "x", { content: "99 path=x\n" }), entry("f", "0")],
    "a pax header with a zero byte": [entry("x", "x", { content: "12 path=a\0b\n" }), entry("f", "0")],
    "a size beyond 2^53": [entry("x", "x", { content: "25 size=9007199254740992\n" }), entry("f", "0")],
  };
  for (const [what, parts] of Object.entries(bad)) {
    await assert.rejects(
      files.unpack("to", body(...parts)),
      (error: { code: string }) => ["badArchive", "notDirectory", "tooManyLinks"].includes(error.code),
      what,
    );
    assert.equal(readFileSync(`${home}/outside/f`, "utf8"), "old\n", what);
    await files.remove("to", true);
  }
  // A file in the place of a link replaces it.
  await files.unpack("to", body(entry("l", "2", { target: "../outside/f" }), entry("l", "0", { content: "new" })));
  assert.equal(readFileSync(`${home}/outside/f`, "utf8"), "old\n");
  assert.equal(readFileSync(`${home}/to/l`, "utf8"), "new");
  assert.deepEqual(readdirSync(home).sort(), ["outside", "to"]);
});

test("no archive makes the program fail: random changes of real ones", async (t) => {
  const { files, home, pids } = open(t);
  asNobody(`mkdir -p d/e; echo hello > d/e/f; ln -s e d/l; echo x > d/${"n".repeat(150)}`, home);
  const tar = execFileSync("tar", ["-c", "--format=pax", "-C", `${home}/d`, "."]);
  let state = 7;
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let i = 0; i < 100; i++) {
    const changed = Buffer.from(tar);
    for (let changes = 1 + random(4); changes > 0; changes--) changed[random(changed.length)] = random(256);
    // The checksum of each header that was changed is made right again, so that its fields are read.
    for (let at = 0; at + 512 <= changed.length; at += 512) {
      if (changed.toString("latin1", at + 257, at + 262) !== "ustar") continue;
      changed.fill(" ", at + 148, at + 156);
      const sum = changed.subarray(at, at + 512).reduce((total, byte) => total + byte, 0);
      changed.write(`${sum.toString(8).padStart(6, "0")}\0`, at + 148);
    }
    await files
      .unpack(`to${i}`, body(changed.subarray(0, random(8) === 0 ? random(changed.length) : undefined)))
      .catch((error) => {
        assert.notEqual(error.code, "stopped", `archive ${i}: ${error.message}`);
      });
    assert.ok(readdirSync(home).every((name) => name === "d" || /^to\d+$/.test(name)));
  }
  assert.equal(pids.length, 1, "the program never ended");
});

test("watchers see what happens below a directory, also in new and moved directories", async (t) => {
  const { files, home } = open(t);
  asNobody("mkdir -p w/a/b outside; echo x > w/a/b/f", home);
  const over = new AbortController();
  const seen: string[] = [];
  const show = (event: FileEvent) =>
    event.type === "overflow"
      ? event.type
      : `${event.type} ${event.path.slice(home.length + 3)}${event.type === "moved" ? ` from ${event.from.slice(home.length + 3)}` : ""}`;
  const changes = await files.watch("w", true, over.signal);
  const reading = (async () => {
    for await (const event of changes) {
      seen.push(show(event));
      if (event.type === "removed" && event.path.endsWith("/last")) over.abort();
    }
  })();
  const until = async (line: string) => {
    for (let i = 0; !seen.includes(line) && i < 1_000; i++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(seen.includes(line), `${line} is missing in ${JSON.stringify(seen)}`);
  };
  asNobody("echo more >> w/a/b/f", home);
  await until("changed a/b/f");
  await files.write("w/a/b/f", body("replaced"), {});
  await files.write("w/a/b/g", body("new"), {});
  await until("created a/b/g");
  asNobody("mv w/a/b/g w/a/h", home);
  await until("moved a/h from a/b/g");
  asNobody("mv w/a w/z; echo x > w/z/b/deep", home);
  await until("moved z from a");
  await until("created z/b/deep");
  asNobody("mkdir -p w/n/m/o; echo x > w/n/m/o/p", home);
  await until("created n/m/o/p");
  asNobody("echo x > outside/in; mv outside/in w/in; mv w/z outside/z; echo unseen > outside/z/unseen", home);
  await until("created in");
  await until("removed z");
  asNobody("echo x > w/last; rm w/last", home);
  await reading;
  assert.ok(
    !seen.some((line) => line.includes("unseen") || line.includes(".assay-") || line.includes("#")),
    JSON.stringify(seen),
  );
  const gone = await files.watch("w", false, AbortSignal.timeout(20_000));
  asNobody("rm -r w", home);
  const last: string[] = [];
  for await (const event of gone) last.push(show(event));
  assert.equal(last.at(-1), "removed ");
});

test("a watch that the sandbox outruns says so", async (t) => {
  const { files, home } = open(t, withoutTmpfile);
  mkdirSync(`${home}/w`, { mode: 0o777 });
  chmodSync(`${home}/w`, 0o777);
  const most = Number(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"));
  const changes = await files.watch("w", false, AbortSignal.timeout(120_000));
  asNobody(`cd w && i=0; while [ $i -lt ${most} ]; do : > a$i; : > b$i; i=$((i+1)); done`, home);
  let [count, overflowed] = [0, false];
  for await (const { type } of changes) {
    count++;
    overflowed = type === "overflow";
    if (overflowed) break;
  }
  assert.ok(overflowed, `no overflow after ${count} events`);
});

test("too many directories are refused", async (t) => {
  const { files, home } = open(t, withoutTmpfile);
  for (let i = 0; i < 4_100; i++) mkdirSync(`${home}/d${i}`);
  await assert.rejects(files.watch(".", true, AbortSignal.timeout(60_000)), { code: "tooManyDirectories" });
});

test("a large file passes in both directions with constant memory", async (t) => {
  const { files, pids } = open(t, withoutTmpfile);
  const part = Buffer.alloc(1 << 20, "x");
  async function* large() {
    for (let i = 0; i < 64; i++) yield part;
  }
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  await files.write("x", large(), {});
  const { body: content, bytes } = await files.read("x", null);
  assert.equal(bytes, 64 << 20);
  let got = 0;
  for await (const chunk of content) {
    got += chunk.length;
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  assert.equal(got, bytes);
  const rss = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pids[0]}/status`, "utf8"))?.[1]);
  assert.ok(rss < 4_096, `the program used ${rss} KiB`);
});

test("other programs of the same user cannot write into the program's pipes", async (t) => {
  const { files, home, pids } = open(t, withoutTmpfile);
  await files.stat(".");
  assert.ok(existsSync(`/proc/${pids[0]}`));
  assert.throws(() => asNobody(`echo forged > /proc/${pids[0]}/fd/1`, home), /ermission denied/);
});

test("times before 1970 are shown, and archived as 1970", async (t) => {
  const { files, home } = open(t, withoutTmpfile);
  asNobody("mkdir d; echo x > d/old; touch -d @-1000 d/old", home);
  assert.equal((await files.stat("d/old")).modifiedAtMs, -1_000_000);
  await files.unpack("copy", await files.archive("d"));
  assert.equal((await files.stat("copy/old")).modifiedAtMs, 0);
  // GNU tar writes such times in another form.
  await files.unpack("by-tar", body(execFileSync("tar", ["-c", "--format=gnu", "-C", `${home}/d`, "."])));
  assert.equal((await files.stat("by-tar/old")).modifiedAtMs, 0);
});
