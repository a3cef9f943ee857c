import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { filesFromZip, packageFromZip, statedBytes } from "../../../src/problems/zip.ts";
import { zipOf } from "../../support/problems/zip.ts";

const MEBIBYTE = 1_048_576;

/** An empty content, packed into this number of blocks, each of ten bits. */
function emptyBlocks(amount: number): Buffer {
  const bytes = Buffer.alloc(Math.ceil((10 * amount) / 8));
  const set = (bit: number) => bytes.writeUInt8((bytes[bit >> 3] ?? 0) | (1 << (bit & 7)), bit >> 3);
  for (let block = 0; block < amount; block++) set(10 * block + 1);
  set(10 * (amount - 1));
  return bytes;
}

test("files of a request are unpacked while the service does other work", async () => {
  const archive = zipOf([{ name: "a", data: "", packed: emptyBlocks(4_000_000) }]);
  let turns = 0;
  let isUnpacked = false;
  const turn = () => {
    turns++;
    if (!isUnpacked) setImmediate(turn);
  };
  turn();
  const files = await filesFromZip(archive, { files: 1, bytes: 1 });
  isUnpacked = true;
  assert.deepEqual([...files], [["a", Buffer.alloc(0)]]);
  assert.ok(turns > 50, `${turns} turns`);
});

test("files at one place of an archive are refused: together they take minutes", async () => {
  const packed = emptyBlocks(1_000);
  const members = Array.from({ length: 40 }, (_, at) => ({ name: `f${at}`, data: "", packed, isSame: at > 0 }));
  const expected = { name: "PackageError", message: "archive: is not a valid ZIP file: its files overlap" };
  await assert.rejects(filesFromZip(zipOf(members), { files: 50, bytes: MEBIBYTE }), expected);
  await assert.rejects(packageFromZip(zipOf(members)), expected);
});

test("the stated bytes of an archive are known before it is opened, and no bytes break the estimate", async () => {
  const files = [
    { name: "problem.yaml", data: "name: x" },
    { name: "data/1.in", data: "x".repeat(5_000) },
  ];
  const archive = zipOf(files);
  assert.equal(statedBytes(archive), 5_007);
  assert.equal(statedBytes(zipOf([...files, { name: "tests.ZIP", data: "" }])), Number.POSITIVE_INFINITY);
  const renamed = zipOf([...files, { name: "x", unicodeName: "tests.zip", data: "" }]);
  assert.deepEqual([...(await packageFromZip(renamed)).keys()].at(-1), "tests.zip");
  assert.equal(statedBytes(renamed), Number.POSITIVE_INFINITY);
  assert.equal(statedBytes(Buffer.from("nonsense")), Number.POSITIVE_INFINITY);
  fc.assert(
    fc.property(fc.nat(archive.length - 1), fc.uint8Array({ minLength: 1, maxLength: 8 }), (at, bytes) => {
      const broken = Buffer.from(archive);
      Buffer.from(bytes).copy(broken, at);
      return statedBytes(broken) >= 0 && statedBytes(broken.subarray(0, at)) >= 0;
    }),
  );
});

test("names of an archive are read as the systems write them that made it", async () => {
  const [fat, ntfs, macOs] = [0, 10, 19];
  const archive = zipOf([
    { name: "lib\\данные.txt", data: "backslashes", system: fat },
    { name: "lib\\sub\\", data: "", mode: 0o040755, system: ntfs },
    { name: Buffer.from("lib/файл.txt"), data: "UTF-8 without its bit", system: macOs },
    { name: Buffer.from("Z\x81rich (1).txt", "latin1"), data: "code page 437", system: fat },
    { name: "x", unicodeName: "日本語.txt", data: "an extra field", system: fat },
    { name: "lib/Thumbs.db", data: "of Windows", system: fat },
  ]);
  const files = await filesFromZip(archive, { files: 10, bytes: MEBIBYTE });
  assert.deepEqual(
    [...files].map(([path, data]) => [path, data.toString()]),
    [
      ["lib/данные.txt", "backslashes"],
      ["lib/файл.txt", "UTF-8 without its bit"],
      ["Zürich (1).txt", "code page 437"],
      ["日本語.txt", "an extra field"],
      ["lib/Thumbs.db", "of Windows"],
    ],
  );
  assert.deepEqual([...(await packageFromZip(archive)).keys()], [...files.keys()]);
});

for (const [name, system] of [
  ["..\\x", 0],
  ["a\\..\\..\\x", 10],
  ["C:\\x", 0],
  ["\\x", 0],
  ["a\\\\b", 0],
  ["a\\b", 3],
  ["a\\b", 19],
] as const)
  test(`the name ${JSON.stringify(name)} of the system ${system} is refused`, async () => {
    const archive = zipOf([{ name, data: "x", system }]);
    await assert.rejects(filesFromZip(archive, { files: 10, bytes: MEBIBYTE }), { name: "PackageError" });
  });
