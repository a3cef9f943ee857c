import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { loadLanguages } from "../../../src/languages/load.ts";
import { packageFromDirectory } from "../../../src/problems/directory.ts";
import { contentOf, renamed } from "../../../src/problems/files.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { readPackage } from "../../../src/problems/read.ts";
import { readSubmissions } from "../../../src/problems/submissions.ts";
import { readYaml } from "../../../src/problems/yaml.ts";
import { packageFromZip, statedBytes } from "../../../src/problems/zip.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { type Member, zipOf } from "../../support/problems/zip.ts";

const languages = loadLanguages(LANGUAGES);

const text = (files: ReadonlyMap<string, Buffer>) =>
  Object.fromEntries([...files].map(([path, data]) => [path, String(data)]));

/** Opens a ZIP file and reads all its files. */
async function wholeOf(archive: Buffer, most?: number): Promise<Record<string, string>> {
  return text(await packageFromZip(archive, most));
}

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "assay-package-"));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
}

test("a directory and a ZIP file of it have the same files", async (t) => {
  const at = directory(t);
  mkdirSync(join(at, "data/secret"), { recursive: true });
  writeFileSync(join(at, "problem.yaml"), "name: x\n");
  writeFileSync(join(at, "data/secret/1.in"), "1\n".repeat(1000));
  const code =
    "import sys, zipfile, pathlib\nwith zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as z:\n  for p in pathlib.Path('.').rglob('*'): z.write(p)";
  const archive = join(at, "..", `${at.split("/").at(-1)}.zip`);
  t.after(() => rmSync(archive));
  execFileSync("python3", ["-c", code, archive], { cwd: at });
  const wanted = { "data/secret/1.in": "1\n".repeat(1000), "problem.yaml": "name: x\n" };
  assert.deepEqual(text(await packageFromDirectory(at)), wanted);
  assert.deepEqual(await wholeOf(readFileSync(archive)), wanted);
  assert.deepEqual(text((await readPackage(archive)).files), wanted);
  assert.deepEqual(text((await readPackage(at)).files), wanted);
});

test("a ZIP file may have the package in one directory, and what macOS adds", async () => {
  const archive = zipOf([
    { name: "hello/problem.yaml", data: "a" },
    { name: "hello/data/", data: "" },
    { name: "__MACOSX/hello/._problem.yaml", data: "?" },
    { name: "hello/.DS_Store", data: "?" },
    { name: "hello/data/1.in", data: "b" },
  ]);
  assert.deepEqual(text(await packageFromZip(archive)), { "problem.yaml": "a", "data/1.in": "b" });
  const two = zipOf([
    { name: "a/1", data: "1" },
    { name: "b/2", data: "2" },
  ]);
  assert.deepEqual(text(await packageFromZip(two)), { "a/1": "1", "b/2": "2" });
});

test("a file of a test whose name begins with a dot or - is a fault, and those of tools are none", async () => {
  const archive = (path: string) =>
    zipOf([
      { name: "problem.yaml", data: "name: x\n" },
      { name: path, data: "1" },
    ]);
  for (const path of ["data/secret/1.files/.x", "data/secret/g/1.files/a/-x", "data/sample/1.files/.a/x"])
    await assert.rejects(packageFromZip(archive(path)), {
      message: `${path}: would not be read: the name of a file of a test begins with neither a dot nor -`,
    });
  for (const path of ["data/secret/1.files/.DS_Store", "data/secret/1.files/a/.gitkeep", "data/secret/1.files/._x"])
    assert.deepEqual([...(await packageFromZip(archive(path))).keys()], ["problem.yaml"], path);
});

test("a test whose name begins with a dot or - is a fault with its path, and files of tools are none", async (t) => {
  for (const path of [
    "data/secret/.in",
    "data/secret/.ans",
    "data/sample/-2.in",
    "data/secret/a/.1.ANS",
    "data/secret/.1.in ",
  ]) {
    const message = `${path}: would not be read: the name of a test begins with neither a dot nor -`;
    for (const top of ["", "hello/"]) {
      const archive = zipOf([
        { name: `${top}problem.yaml`, data: "name: x\n" },
        { name: `${top}${path}`, data: "1" },
      ]);
      await assert.rejects(packageFromZip(archive), { name: "PackageError", message });
    }
    const at = directory(t);
    mkdirSync(dirname(join(at, path)), { recursive: true });
    writeFileSync(join(at, path), "1");
    await assert.rejects(packageFromDirectory(at), { name: "PackageError", message });
  }
  const harmless = [
    "data/secret/._1.in",
    "data/secret/.#1.in",
    "data/secret/.1.in.swp",
    "data/secret/.DS_Store",
    "data/secret/.old/1.in",
    ".git/data/secret/1.in",
    "__MACOSX/data/secret/._1.in",
    "generators/data/secret/x/.1.in",
    "submissions/accepted/.1.in",
  ];
  const archive = zipOf([{ name: "problem.yaml", data: "a" }, ...harmless.map((name) => ({ name, data: "1" }))]);
  assert.deepEqual(await wholeOf(archive), { "problem.yaml": "a" });
  const at = directory(t);
  for (const path of harmless) {
    mkdirSync(dirname(join(at, path)), { recursive: true });
    writeFileSync(join(at, path), "1");
  }
  assert.deepEqual(text(await packageFromDirectory(at)), {});
});

const LINK = 0o120777;
const HOSTILE: Readonly<Record<string, readonly [members: readonly Member[], message: RegExp]>> = {
  "leads out of the package": [[{ name: "../x", data: "" }], /valid ZIP|plain path|relative/],
  "has an absolute path": [[{ name: "/etc/x", data: "" }], /valid ZIP|plain path|absolute/],
  "has a backslash": [[{ name: "a\\..\\x", data: "" }], /valid ZIP|plain path|invalid/],
  "has a part that is a dot": [[{ name: "a/./x", data: "" }], /plain path/],
  "has a line feed in a name": [[{ name: "a\nx", data: "" }], /plain path/],
  "has a name of 500 bytes": [[{ name: "a".repeat(500), data: "" }], /plain path/],
  "is 30 directories deep": [[{ name: `${"a/".repeat(30)}x`, data: "" }], /plain path/],
  "has a FIFO": [[{ name: "a", data: "", mode: 0o010644 }], /neither a file, a directory nor a link/],
  "has a link with a very long target": [[{ name: "a", data: "./".repeat(5_000), mode: LINK }], /leads to nothing/],
  "has a link that states a smaller size": [
    [{ name: "a", data: "b".repeat(5_000), mode: LINK, stated: 10 }],
    /unpacked/,
  ],
  "has a link and a file of the same path": [
    [
      { name: "a", data: "1" },
      { name: "a", data: "b", mode: LINK },
    ],
    /twice/,
  ],
  "has a file below a link": [
    [
      { name: "b/c", data: "1" },
      { name: "a", data: "b", mode: LINK },
      { name: "a/d", data: "1" },
    ],
    /twice|both a file and a directory/,
  ],
  "has one path twice": [
    [
      { name: "a", data: "1" },
      { name: "a", data: "2" },
    ],
    /twice/,
  ],
  "has a file that inflates beyond the bound": [
    [{ name: "a", data: "0".repeat(5_000_000) }],
    /^a: a package has at most 20000 files and 1000000 bytes$/,
  ],
  "has a file below a file": [
    [
      { name: "a/b", data: "1" },
      { name: "a/b/c", data: "2" },
    ],
    /is both a file and a directory/,
  ],
  "has a file in place of a directory": [
    [
      { name: "a/b/c", data: "1" },
      { name: "a", data: "2" },
    ],
    /is both a file and a directory/,
  ],
  "states a smaller size than it has": [[{ name: "a", data: "0".repeat(50_000), stated: 10 }], /cannot be unpacked/],
  "has many files that inflate to more than the bound": [
    Array.from({ length: 20 }, (_, i) => ({ name: `f${i}`, data: "0".repeat(60_000) })),
    /at most 20000 files and 1000000 bytes/,
  ],
  "has too many files": [
    Array.from({ length: 20_001 }, (_, i) => ({ name: `f${i}`, data: "" })),
    /at most 20000 files/,
  ],
};
for (const [name, [members, message]] of Object.entries(HOSTILE))
  test(`rejects a ZIP file that ${name}`, async () => {
    await assert.rejects(wholeOf(zipOf(members), 1_000_000), { name: "PackageError", message });
  });

test("rejects what is no ZIP file, and each file that is cut off", async () => {
  const whole = zipOf([{ name: "problem.yaml", data: "name: x\n".repeat(100) }]);
  for (const bytes of [Buffer.alloc(0), Buffer.from("hello"), Buffer.alloc(100_000, 80)])
    await assert.rejects(wholeOf(bytes), { name: "PackageError" });
  for (let size = 0; size < whole.length; size++)
    await assert.rejects(wholeOf(whole.subarray(0, size)), { name: "PackageError" }, `${size} bytes`);
});

test("any changed byte of a ZIP file gives files or a PackageError", async () => {
  const whole = zipOf([
    { name: "problem.yaml", data: "name: x\n".repeat(10) },
    { name: "data/1.in", data: "1" },
  ]);
  for (let at = 0; at < whole.length; at++)
    for (const value of [0, 1, 127, 255]) {
      const changed = Buffer.from(whole);
      changed[at] = value;
      await wholeOf(changed).catch((error: Error) => assert.equal(error.name, "PackageError", error.stack));
    }
});

/** Links of a package that also has `real/1.in` with the content `1` and `real/deep/2.in` with `2`, and what is then in it besides. */
const LINKS: Readonly<
  Record<string, readonly [links: Readonly<Record<string, string>>, added: Readonly<Record<string, string>>]>
> = {
  "to a file": [{ "data/1.in": "../real/1.in" }, { "data/1.in": "1" }],
  "to a directory": [{ data: "real" }, { "data/1.in": "1", "data/deep/2.in": "2" }],
  "to a directory, and with a slash at its end": [{ data: "./real//deep/" }, { "data/2.in": "2" }],
  "to a link, in any order": [
    { a: "b", b: "real/deep", c: "a/2.in" },
    { "a/2.in": "2", "b/2.in": "2", c: "2" },
  ],
  "through a link to a directory and up again, from where that is": [
    { a: "real/deep", b: "a/../1.in" },
    { "a/2.in": "2", b: "1" },
  ],
  "to a directory that has a link": [
    { "real/deep/x": "../1.in", y: "real/deep" },
    { "real/deep/x": "1", "y/2.in": "2", "y/x": "1" },
  ],
};
const FAULTY_LINKS: Readonly<Record<string, readonly [links: Readonly<Record<string, string>>, message: RegExp]>> = {
  "to an absolute path": [{ "data/1.in": "/etc/passwd" }, /^data\/1\.in: is a link that leads out of the package$/],
  "to an absolute path through another": [{ a: "b", b: "/etc" }, /leads out of the package$/],
  "out of the package": [{ "data/1.in": "../../etc/passwd" }, /^data\/1\.in: is a link that leads out of the package$/],
  "out of the package and back": [{ "data/1.in": "../../package/real/1.in" }, /leads out of the package$/],
  "to nothing": [{ "data/1.in": "../real/3.in" }, /^data\/1\.in: is a link that leads to nothing in the package$/],
  "below a file": [{ "data/1.in": "../real/1.in/x" }, /leads to nothing in the package$/],
  "to files that are ignored": [{ "data/1.in": "../.hidden/1.in" }, /leads to nothing in the package$/],
  "to itself": [{ a: "a" }, /^a: is a link that leads into itself$/],
  "to each other": [{ a: "b", b: "a" }, /leads into itself$/],
  "to the directory that contains it": [{ "real/again": "." }, /^real\/again: is a link that leads into itself$/],
  "to a directory above": [{ "real/deep/up": "../.." }, /leads into itself$/],
  "to directories that contain each other": [{ "a/x": "../b", "b/x": "../a" }, /leads into itself$/],
};

type Texts = Readonly<Record<string, string>>;

const FILES: Texts = { "real/1.in": "1", "real/deep/2.in": "2", ".hidden/1.in": "3" };

/** A directory and a ZIP file with the same files and links, each opened as a package, with the texts of its files. */
function withLinks(t: TestContext, links: Texts, files = FILES, top = "") {
  const opened = packagesWith(t, links, files, top);
  return Object.fromEntries(Object.entries(opened).map(([name, open]) => [name, async () => text(await open())]));
}

/** A directory and a ZIP file with the same files and links, each opened as a package. */
function packagesWith(t: TestContext, links: Texts, files: Texts, top = "") {
  const at = join(directory(t), "package");
  const make = (texts: Texts, makeOne: (text: string, path: string) => void) => {
    for (const [path, data] of Object.entries(texts)) {
      mkdirSync(dirname(join(at, path)), { recursive: true });
      makeOne(data, join(at, path));
    }
  };
  make(files, (data, path) => writeFileSync(path, data));
  make(links, (target, path) => symlinkSync(target, path));
  const members = (texts: Texts, mode?: number): Member[] =>
    Object.entries(texts).map(([path, data]) => ({ name: `${top}${path}`, data, ...(mode !== undefined && { mode }) }));
  const archive = zipOf([...members(links, LINK), ...members(files)]);
  return { "a directory": () => packageFromDirectory(at), "a ZIP file": () => packageFromZip(archive) };
}

for (const [name, [links, added]] of Object.entries(LINKS))
  test(`follows a link by its content: ${name}`, async (t) => {
    const wanted = { "real/1.in": "1", "real/deep/2.in": "2", ...added };
    for (const open of Object.values(withLinks(t, links))) assert.deepEqual(await open(), wanted);
  });
for (const [name, [links, message]] of Object.entries(FAULTY_LINKS))
  test(`rejects a link: ${name}`, async (t) => {
    for (const open of Object.values(withLinks(t, links)))
      await assert.rejects(open(), { name: "PackageError", message });
  });

test("a link that leads to no file of the package is a fault only if its content is needed", async (t) => {
  const tests = { "data/secret/1.in": "1", "data/secret/1.ans": "1" };
  const files = { "problem.yaml": "name: x\n", ...tests, "input_validators/check/check.py": "" };
  const harmless = {
    "problem.pdf": "../../doc/x.pdf",
    "problem_statement/problem.en.tex": "gone.tex",
    attachments: "attachments",
    "input_validators/check/lib.py": "../../../lib.py",
    "submissions/accepted/a.py": "/opt/a.py",
  };
  for (const open of Object.values(packagesWith(t, harmless, files))) {
    const opened = await open();
    const { tests, submissions, inputValidators } = readProblem(opened, languages);
    assert.deepEqual([tests.length, submissions.length, inputValidators.length], [1, 1, 1]);
    const [submission] = readSubmissions(opened, readProblem(opened, languages), languages);
    assert.equal(submission?.fault?.message, "submissions/accepted/a.py: is a link that leads out of the package");
  }
  for (const needed of ["data/secret/1.in", "data/secret/1.ans", "problem.yaml", "output_validators/v.py"]) {
    const others = Object.fromEntries(Object.entries(files).filter(([path]) => path !== needed));
    const custom = { ...others, "problem.yaml": "name: x\nvalidation: custom\n" };
    const given = needed.startsWith("output") ? custom : others;
    for (const open of Object.values(packagesWith(t, { [needed]: "../../../x" }, given))) {
      const opened = await open();
      assert.throws(() => readProblem(opened, languages), {
        name: "PackageError",
        message: `${needed}: is a link that leads out of the package`,
      });
    }
  }
});

test("links cannot multiply the files, the bytes or the work of a package beyond its bounds", async () => {
  const link = (name: string, data: string): Member => ({ name, data, mode: LINK });
  // Each directory has ten links to the next one: 10 to the power of 15 paths to one file, or to none.
  const doubling = Array.from({ length: 15 }, (_, n) =>
    Array.from({ length: 10 }, (_, i) => link(`d${n}/${i}`, `../d${n + 1}`)),
  ).flat();
  const last = { name: "d15/x", data: "" };
  await assert.rejects(wholeOf(zipOf([...doubling, last])), /at most 20000 files|too many files and directories/);
  await assert.rejects(wholeOf(zipOf([...doubling, link("d15/x", "../d15/y"), link("d15/y", "../d14")])), {
    name: "PackageError",
  });
  const copies = Array.from({ length: 20 }, (_, i) => link(`copy${i}`, "large"));
  const large = { name: "large", data: "0".repeat(60_000) };
  await assert.rejects(wholeOf(zipOf([...copies, large]), 1_000_000), /at most 20000 files and 1000000 bytes/);
  const chain = Array.from({ length: 5_000 }, (_, i) => link(`c${i}/x`, `../c${i + 1}`));
  await assert.rejects(wholeOf(zipOf([...chain, { name: "c5000/x", data: "" }])), /is not a plain path/);
  const winding = Array.from({ length: 10_000 }, (_, i) => link(`w${i}`, `${"a/../".repeat(700)}a/x`));
  await assert.rejects(wholeOf(zipOf([...winding, { name: "a/x", data: "" }])), /through too many names/);
});

test("paths that lead to the same file by links are one file, which an import reads once", async () => {
  const archive = zipOf([
    { name: "problem.yaml", data: "" },
    { name: "1.in", data: "1" },
    ...["2.in", "3.in"].map((name) => ({ name, data: "1.in", mode: LINK })),
  ]);
  const files = await packageFromZip(archive);
  const found = ["1.in", "2.in", "3.in"].map((path) => contentOf(files, path));
  assert.ok(found.every((one) => one === found[0]));
  assert.equal(contentOf(renamed(files, new Map([["x", "3.in"]])), "x"), found[0]);
});

test("a test that is hidden by its name is a fault, also where a link leads to its directory", async (t) => {
  const message = /^data\/secret(\/g)?\/[.-]b\.in: would not be read: the name of a test begins with neither/;
  for (const [links, hidden] of [
    [{ "data/secret": "../tests" }, "tests/.b.in"],
    [{ "data/secret/g": "../../tests" }, "tests/-b.in"],
    [{ "data/secret/.b.in": "../../problem.yaml" }, "notes.txt"],
  ] as const) {
    const files = { "problem.yaml": "name: x\n", [hidden]: "1" };
    for (const open of Object.values(withLinks(t, links, files, "p/")))
      await assert.rejects(open(), { name: "PackageError", message });
  }
});

test("the text of a link is not unpacked if it takes much of the archive, and a link has no name of a directory", async () => {
  const admitted: number[] = [];
  const admit = async (bytes: number) => void admitted.push(bytes);
  const packed = zipOf([{ name: "a", data: "x", mode: LINK, packed: Buffer.alloc(100_000) }]);
  await assert.rejects(packageFromZip(packed, undefined, admit), /^PackageError: a: is a link that leads to nothing/);
  const named = zipOf([{ name: "a/", data: "b", mode: LINK }]);
  await assert.rejects(packageFromZip(named, undefined, admit), /^PackageError: a\/: is a link with the name of a dir/);
  assert.deepEqual(admitted, []);
});

test("the file with the time limit is read only in the directory of the package", async (t) => {
  const names = [".timelimit", "data/.timelimit", "data/x/.timelimit", "problem.yaml"];
  for (const top of ["", "p/"]) {
    const files = await packageFromZip(zipOf(names.map((name) => ({ name: `${top}${name}`, data: "1" }))));
    assert.deepEqual([...files.keys()].sort(), [".timelimit", "problem.yaml"], top);
  }
  const at = directory(t);
  mkdirSync(join(at, "data/x"), { recursive: true });
  for (const name of names) writeFileSync(join(at, name), "1");
  mkdirSync(join(at, "other/.timelimit"), { recursive: true });
  writeFileSync(join(at, "other/.timelimit/x.in"), "1");
  assert.deepEqual([...(await packageFromDirectory(at)).keys()].sort(), [".timelimit", "problem.yaml"]);
});

test("the sizes of an archive with ZIP64 records or links are not known before it is opened", () => {
  const plain = zipOf([{ name: "a", data: "12345" }]);
  assert.equal(statedBytes(plain), 5);
  assert.equal(statedBytes(zipOf([{ name: "a", data: "b", mode: LINK }])), Number.POSITIVE_INFINITY);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  const end = plain.subarray(-22);
  assert.equal(statedBytes(Buffer.concat([plain.subarray(0, -22), locator, end])), Number.POSITIVE_INFINITY);
});

test("a ZIP file is open until its package is closed", async (t) => {
  const archive = join(directory(t), "a.zip");
  writeFileSync(archive, zipOf([{ name: "problem.yaml", data: "a" }]));
  const isOpen = () => readdirSync("/proc/self/fd").some((fd) => linkOf(`/proc/self/fd/${fd}`) === archive);
  const { files, close } = await readPackage(archive);
  assert.ok(isOpen());
  assert.equal(String(files.get("problem.yaml")), "a");
  close();
  assert.ok(!isOpen());
  writeFileSync(archive, "no archive");
  await assert.rejects(readPackage(archive), { name: "PackageError" });
  assert.ok(!isOpen());
});

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // the directory of descriptors was itself open while it was read
  }
}

test("rejects devices in a directory, at any depth", async (t) => {
  for (const path of ["data", "data/secret", "data/secret/1.in"]) {
    const at = directory(t);
    mkdirSync(dirname(join(at, path)), { recursive: true });
    execFileSync("mkfifo", [join(at, path)]);
    await assert.rejects(packageFromDirectory(at), { message: `${path}: is neither a file, a directory nor a link` });
  }
});

test("a file that is replaced or changed after the package was opened is a fault", async (t) => {
  for (const change of [
    (at: string) => {
      rmSync(join(at, "data"), { recursive: true });
      symlinkSync("/etc", join(at, "data"));
    },
    (at: string) => {
      rmSync(join(at, "data/passwd"));
      symlinkSync("/etc/passwd", join(at, "data/passwd"));
    },
    (at: string) => writeFileSync(join(at, "data/passwd"), "longer"),
    (at: string) => writeFileSync(join(at, "data/passwd"), ""),
    (at: string) => rmSync(join(at, "data/passwd")),
  ]) {
    const at = directory(t);
    mkdirSync(join(at, "data"));
    writeFileSync(join(at, "data/passwd"), "mine");
    const files = await packageFromDirectory(at);
    assert.equal(String(files.get("data/passwd")), "mine");
    change(at);
    assert.throws(() => files.get("data/passwd"), { name: "PackageError", message: /^data\/passwd: / });
  }
});

test("rejects names in a directory that would change a terminal, and too many levels", async (t) => {
  for (const name of ["\u001b]0;x", "a\nb", "a\u2028b", "a\u2029b", `${"a/".repeat(30)}x`]) {
    const at = directory(t);
    mkdirSync(join(at, name), { recursive: true });
    await assert.rejects(packageFromDirectory(at), ({ name, message }: Error) => {
      return name === "PackageError" && /^"[ -~]+": is not a plain path$/.test(message);
    });
  }
});

/** While the package is read, each of these is replaced again and again by a link to a directory or a file outside. */
for (const swapped of ["data", "data/secret", "data/secret/1.in"])
  test(`${swapped} that is replaced by a link while it is read does not lead outside`, async (t) => {
    const [at, outside, moved] = [directory(t), directory(t), join(directory(t), "moved")];
    const below = join(at, "data/secret");
    for (const [place, content] of [
      [below, "mine"],
      [join(outside, "secret"), "secret"],
      [outside, "secret"],
    ] as const) {
      mkdirSync(place, { recursive: true });
      writeFileSync(join(place, "1.in"), content);
    }
    const [place, target] = [join(at, swapped), join(outside, swapped.endsWith("in") ? "1.in" : ".")];
    const worker = new Worker(SWAP, { eval: true, workerData: { place, target, moved } });
    let [read, refused] = [0, 0];
    try {
      for (let i = 0; i < 100_000 && (i < 1000 || read === 0 || refused === 0); i++) {
        const whole = async () => [...(await packageFromDirectory(at)).values()];
        const contents = await whole().catch((error: Error) => {
          assert.ok(error.name === "PackageError" || "code" in error, error.stack);
          return null;
        });
        contents ? read++ : refused++;
        for (const content of contents ?? []) assert.equal(String(content), "mine");
      }
    } finally {
      await worker.terminate();
    }
    assert.ok(read > 0 && refused > 0, `${read} times read, ${refused} times refused`);
  });

const SWAP = `const { renameSync, rmSync, symlinkSync } = require("node:fs");
const { place, target, moved } = require("node:worker_threads").workerData;
for (;;) {
  renameSync(place, moved);
  symlinkSync(target, place);
  rmSync(place);
  renameSync(moved, place);
}`;

const N = 65_536;
/** Parts of a YAML file that are repeated up to its bounds. Each of them was slow in some parser, or can have many errors. */
const REPEATED: Readonly<Record<string, string>> = {
  "open brackets": "[",
  "nested sequences": "- ",
  "nested maps": "{a: ",
  "open and closed": "[]",
  commas: ",",
  "empty items": "-\n",
  "explicit keys": "? ",
  "lines of explicit keys": "?\n",
  "equal keys": "a: 1\n",
  anchors: "- &a x\n",
  aliases: "- *a\n",
  "merged maps": "<<: *a\n",
  tags: "!a ",
  directives: "%a\n",
  documents: "---\n",
  comments: "#\n",
  "line feeds": "\n",
  "carriage returns": "\r",
  tabs: "\t",
  spaces: " ",
  quotes: '"',
  apostrophes: "'",
  "unknown escapes": "\\q",
  signs: "@",
  digits: "1",
  "byte-order marks": "\ufeff",
};
const FIRST = ["", "[", "{", '"', "'", "a: ", "a: |\n ", "a: >9\n", "x: &a y\n"];
const keys = (from: number, to: number, line: (name: string) => string) =>
  Array.from({ length: to - from }, (_, i) => line((i + from).toString(36))).join("");
const OTHERS: Readonly<Record<string, string>> = {
  "many keys": keys(50_000, 59_000, (name) => `${name}:\n`),
  "many keys in braces": `{${keys(0, 9_000, (name) => `${name},`)}}`,
  "many keys that are close to the bound": `{${keys(0, 990, (name) => `${name},`)}}`,
  "deep lines": Array.from({ length: 350 }, (_, i) => `${" ".repeat(i)}a:\n`).join(""),
  "lines that go back": Array.from({ length: 300 }, (_, i) => `${" ".repeat(300 - i)}- a\n`).join(""),
  "aliases of aliases": keys(
    0,
    9,
    (name) => `a${name}: &a${name} [${`*a${Number(name) - 1},`.repeat(Number(name) && 9)}x]\n`,
  ),
  "an alias of nothing": "a: *b",
  "two documents": "name: x\n---\nname: y\n",
};
/** CPU time. The slowest takes 60 ms on an idle machine. */
const MOST_MS = 250;

function readHostile(content: string): number {
  const files = new Map([["problem.yaml", Buffer.from(content)]]);
  const started = process.threadCpuUsage();
  const read = () => readYaml(files, "problem.yaml", z.strictObject({ name: z.string() }));
  assert.throws(read, { name: "PackageError", message: /^problem\.yaml(:\d+)?: / });
  const { user, system } = process.threadCpuUsage(started);
  return (user + system) / 1000;
}

for (const [name, part] of Object.entries(REPEATED))
  test(`a YAML file of many ${name} is a fault within a bounded time`, () => {
    for (const first of FIRST)
      for (const bytes of [N, 8_000, 300]) {
        const took = readHostile(`${first}${part.repeat((bytes - first.length) / Buffer.byteLength(part))}`);
        assert.ok(took < MOST_MS, `${took} ms with ${JSON.stringify(first)} first`);
      }
  });

for (const [name, content] of Object.entries(OTHERS))
  test(`a YAML file with ${name} is a fault within a bounded time`, () => {
    const took = readHostile(content);
    assert.ok(took < MOST_MS, `${took} ms`);
  });

test("a fault of a YAML file has its line", () => {
  for (const [content, message] of [
    [`a: ${"x".repeat(N)}`, /^problem\.yaml: a YAML file has at most 65536 bytes$/],
    ["a: 1\nb: 2\na: 3\n", /^problem\.yaml:3: Map keys must be unique$/],
    ["a: 1\nb: [\n", /^problem\.yaml:\d: /],
    ["a: 1\n---\nb: 2\n", /^problem\.yaml:\d: has more than one YAML document$/],
    [`a: 1\nb: ${"[".repeat(100)}`, /^problem\.yaml:2: is nested too deep$/],
    [`a: &a 1\n${"- *a\n".repeat(101)}`, /^problem\.yaml:\d+: /],
  ] as const) {
    const files = new Map([["problem.yaml", Buffer.from(content)]]);
    assert.throws(() => readYaml(files, "problem.yaml", z.looseObject({})), { name: "PackageError", message });
  }
});

test("all YAML files together are bounded", () => {
  const one = Buffer.from(`name: ${"x".repeat(60_000)}`);
  const files = new Map(Array.from({ length: 20 }, (_, i) => [`${i}.yaml`, one]));
  const read = () => [...files.keys()].map((path) => readYaml(files, path, z.strictObject({ name: z.string() })));
  assert.throws(read, /^PackageError: 4\.yaml: all YAML files together/);
  const empty = new Map(Array.from({ length: 2100 }, (_, i) => [`${i}.yaml`, Buffer.alloc(0)]));
  const readEmpty = () => [...empty.keys()].map((path) => readYaml(empty, path, z.looseObject({})));
  assert.throws(readEmpty, /^PackageError: 2048\.yaml: all YAML files together/);
});

test("a YAML file with a tag whose fields a schema would not see is a fault", () => {
  const schema = z.strictObject({ limits: z.strictObject({ memory: z.number().optional() }).optional() });
  const read = (content: string) =>
    readYaml(new Map([["problem.yaml", Buffer.from(content)]]), "problem.yaml", schema)?.value;
  assert.deepEqual(read("%YAML 1.1\n---\nlimits: !!map {memory: 32}\n"), { limits: { memory: 32 } });
  for (const limits of ["!!omap [memory: 32]", "!!omap [nosuch: 1]", "!!set {nosuch}", "!own {memory: 32}"])
    assert.throws(() => read(`%YAML 1.1\n---\nlimits: ${limits}\n`), {
      name: "PackageError",
      message: /^problem\.yaml:3: has the tag /,
    });
});
