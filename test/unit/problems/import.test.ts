import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { readImport, writeImport } from "../../../src/cli/import-stream.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { type LazyFile, LazyFiles } from "../../../src/problems/files.ts";
import { openImport } from "../../../src/problems/import.ts";
import { importInThread } from "../../../src/problems/import-in-thread.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { PACKAGES, type PackageTexts } from "../../support/problems/packages.ts";
import { type Member, zipOf } from "../../support/problems/zip.ts";

const languages = loadLanguages(LANGUAGES);
const LIMIT = { timeout: 120_000 };
const unmeasured = async () => assert.fail("has a time limit");

/** A package that counts how often each of its files is read. */
function counted(texts: PackageTexts) {
  const reads = new Map<string, number>();
  const files = Object.entries(texts).map(([path, data]): [string, LazyFile] => {
    const content = Buffer.from(data);
    const read = () => {
      reads.set(path, (reads.get(path) ?? 0) + 1);
      return content;
    };
    return [path, { size: content.length, read }];
  });
  return { files: new LazyFiles(new Map(files), "x"), reads };
}

const open = (texts: PackageTexts, verify = false) => {
  const { files, reads } = counted(texts);
  const opened = openImport(files, languages, { timeLimitSecs: 1, verify }, { make: unmeasured, measure: unmeasured });
  return { opened, reads };
};

const CASES = Array.from({ length: 500 }, (_, at) => `- {in: large, out: large, binary_data: ${at % 2 === 0}}\n`).join(
  "",
);

test("a file that is in all tests is read once for each form in which they have it", async () => {
  const { opened, reads } = open({ "init.yml": `test_cases:\n${CASES}`, large: "1\r".repeat(1_000) });
  const { importable, read } = await opened;
  assert.equal(importable.contents.length, 500);
  assert.equal(reads.get("large"), 2);
  const hashes = importable.contents.flat().map(({ hash }) => hash);
  assert.equal(new Set(hashes).size, 2);
  assert.deepEqual([read(0, 1), read(1, 0)].map(String), ["1\r".repeat(1_000), "1\n".repeat(1_000)]);
});

test("no file of any package is read more than once for its import", async () => {
  for (const [name, texts] of Object.entries(PACKAGES)) {
    const { opened, reads } = open(texts);
    // Some packages are only for the command that verifies them: their fault comes after the tests are read.
    await opened.catch((error: Error) => assert.match(error.message, /limits\.code|a time limit is/));
    for (const [path, number] of reads)
      assert.ok(number === 1 || /\.ya?ml$/.test(path), `${name}: ${path} is read ${number} times`);
  }
});

test("only one program of a package of DMOJ is read, and none that is too large", async () => {
  const checker = (at: number) => `{name: bridged, args: {files: check.cpp, lang: CPP20, time_limit: ${at}}}`;
  const cases = Array.from({ length: 100 }, (_, at) => `- {in: a, checker: ${checker(at + 1)}}\n`).join("");
  const many = open({ "init.yml": `test_cases:\n${cases}`, a: "1", "check.cpp": "int main() {}" });
  await assert.rejects(many.opened, /only one checker can be a program/);
  assert.ok((many.reads.get("check.cpp") ?? 0) <= 2);
  const large = open({
    "init.yml": `test_cases:\n- {in: a, checker: ${checker(1)}}\n`,
    a: "1",
    "check.cpp": "x".repeat(1_048_577),
  });
  await assert.rejects(large.opened, /a program has at most/);
  assert.equal(large.reads.get("check.cpp"), undefined);
});

test("the command sends each content once", async () => {
  const { opened, reads } = open({ "init.yml": `test_cases:\n${CASES}`, large: "1\r".repeat(1_000) });
  const through = new PassThrough({ highWaterMark: 10_000_000 });
  await writeImport(await opened, through);
  through.end();
  assert.equal(reads.get("large"), 4);
  assert.ok(through.readableLength < 4_000 + 500 * 600, `${through.readableLength} bytes`);
  const found = await readImport(through);
  assert.equal(String(await found?.read(0, 0)), "1\r".repeat(1_000));
  assert.equal(String(await found?.read(499, 1)), "1\n".repeat(1_000));
  await found?.end();
});

const LARGE = 4_194_304;
const SMALL_ARCHIVE = zipOf([
  { name: "init.yml", data: `test_cases:\n${"- {in: large}\n".repeat(500)}` },
  { name: "large", data: "\r".repeat(LARGE) },
]);
const inThread = (
  admit: (bytes: number) => Promise<void>,
  work: () => void = () => {},
  archive: Buffer = SMALL_ARCHIVE,
) =>
  importInThread(
    Buffer.from(archive),
    268_435_456,
    { name: "x", timeLimitSecs: 1, languages, signal: new AbortController().signal, admit },
    async ({ importable, read }) => {
      work();
      return { importable, last: await read(499, 0) };
    },
  );

test("a small archive with 500 tests of one large file takes little CPU time", LIMIT, async () => {
  assert.ok(SMALL_ARCHIVE.length < 20_000);
  const before = process.cpuUsage();
  const { importable, last } = await inThread(async () => {});
  const { user, system } = process.cpuUsage(before);
  assert.deepEqual([importable.contents.length, last.length], [500, LARGE]);
  assert.ok(user + system < 8e6, `${(user + system) / 1e6} s`); // 2 s for languages and the thread; each reference took 40 ms
});

test("the cost of an import is known before its files are unpacked, and can be refused", LIMIT, async () => {
  const steps: string[] = [];
  await inThread(
    async (bytes) => void steps.push(`admit ${bytes > LARGE && bytes < LARGE + 20_000}`),
    () => steps.push("opened"),
  );
  assert.deepEqual(steps, ["admit true", "opened"]);
  const refused = new Error("beyond the rate limit");
  await assert.rejects(
    inThread(
      () => Promise.reject(refused),
      () => assert.fail("opened"),
    ),
    refused,
  );
});

test("an archive in a package is admitted before it is unpacked, and then its files", LIMIT, async () => {
  const init = `archive: data.zip\ntest_cases:\n${"- {in: large}\n".repeat(500)}`;
  const packageOf = (data: Member) => zipOf([{ name: "init.yml", data: init }, data]);
  const large = zipOf([{ name: "large", data: "\r".repeat(LARGE) }]);
  const admitted: number[] = [];
  await inThread(
    async (bytes) => void admitted.push(bytes),
    () => admitted.push(0),
    packageOf({ name: "data.zip", data: large }),
  );
  assert.deepEqual(admitted, [init.length + large.length, init.length + LARGE, 0]);
  // The checksum of this member is wrong, which is a fault where the member is read.
  const broken = { name: "data.zip", data: "", packed: deflateRawSync(Buffer.alloc(LARGE)), stated: LARGE };
  const refused = new Error("beyond the rate limit");
  const refuse = () => Promise.reject(refused);
  await assert.rejects(
    inThread(refuse, () => assert.fail("opened"), packageOf(broken)),
    refused,
  );
  await assert.rejects(
    inThread(
      async () => {},
      () => assert.fail("opened"),
      packageOf(broken),
    ),
    /checksum is wrong/,
  );
  // The files of the archive are refused, though the package with it is not.
  const second = async (bytes: number) => (bytes > LARGE ? await refuse() : undefined);
  await assert.rejects(
    inThread(second, () => assert.fail("opened"), packageOf({ name: "data.zip", data: large })),
    refused,
  );
});

test("a package that takes too much CPU time to read is a fault", LIMIT, async () => {
  const tests = Array.from({ length: 60 }, (_, at) => [
    { name: `data/secret/${at}.in`, data: Buffer.alloc(LARGE, at) },
    { name: `data/secret/${at}.ans`, data: "" },
  ]).flat();
  const archive = zipOf([{ name: "problem.yaml", data: "name: x\n" }, ...tests]);
  const options = { name: "x", timeLimitSecs: 1, languages, signal: new AbortController().signal, mostCpuMs: 10 };
  let steps = 0;
  await assert.rejects(
    importInThread(Buffer.from(archive), 268_435_456, { ...options, admit: async () => void steps++ }, async () =>
      assert.fail("opened"),
    ),
    /^PackageError: archive: takes too much time to read$/,
  );
  assert.ok(steps <= 1);
});
