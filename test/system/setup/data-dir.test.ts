import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";

const CHECKOUT = resolve(import.meta.dirname, "../../..");

/** The mark says who made the directory, because `assay uninstall` removes only those that assay has made. */
const madeByUs = (data: string) =>
  /^directory-made-by-us (.*)$/m.exec(readFileSync(join(data, ".assay-data"), "utf8"))?.[1];

function place(t: TestContext): string {
  const directory = mkdtempSync(join(process.env.ASSAY_TEST_DATA ?? tmpdir(), "claim-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** Claims a data directory, as the first command on it does. @param meanwhile defines shell functions that come in between. */
async function claim(data: string, meanwhile = ""): Promise<void> {
  const script = `. setup/log.sh; . setup/data-dir.sh; data=$1; ${meanwhile} claim_data_dir`;
  await promisify(execFile)("sh", ["-euc", script, "sh", data], { cwd: CHECKOUT });
}

test("several first commands claim a data directory at once: all of them succeed, and assay has made it", async (t) => {
  const directory = place(t);
  for (let round = 0; round < 10; round++) {
    const data = join(directory, `${round}`, "data");
    await Promise.all(Array.from({ length: 8 }, () => claim(data)));
    assert.equal(madeByUs(data), "yes");
    assert.deepEqual(readdirSync(data), [".assay-data"]);
  }
});

test("a command that has made the directory says so, if another one was first to mark it", async (t) => {
  const data = join(place(t), "data");
  await claim(data, `flock() { echo 'directory-made-by-us no' >"$data/.assay-data"; };`);
  assert.equal(madeByUs(data), "yes");
});

test("an empty directory of someone else is marked as theirs, and one with files is refused", async (t) => {
  const directory = place(t);
  const [empty, full] = ["empty", "full"].map((name) => join(directory, name)) as [string, string];
  mkdirSync(empty);
  await Promise.all([claim(empty), claim(empty)]);
  assert.equal(madeByUs(empty), "no");
  mkdirSync(full);
  writeFileSync(join(full, "thesis"), "");
  await assert.rejects(claim(full), /is not empty and was not made by assay/);
  assert.deepEqual(readdirSync(full), ["thesis"]);
});
