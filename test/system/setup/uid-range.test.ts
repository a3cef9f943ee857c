import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";

const NOBODY = 65_534;

/** Takes a range after `first` in the shell; the locks are in a directory of the test. */
function take(locks: string, first = ":") {
  const script = `checkout=$1; for p in log instance; do . "$1/setup/$p.sh"; done; uid_locks=$2
    ${first}
    take_uid_range; echo "$uid_base"`;
  const args = ["-euc", script, "sh", resolve(import.meta.dirname, "../../.."), locks];
  const { status, stdout, stderr } = spawnSync("sh", args, { encoding: "utf8" });
  return { status, stdout, stderr };
}

function place(t: TestContext): string {
  const root = mkdtempSync(join(process.env.ASSAY_TEST_DATA ?? tmpdir(), "uids-"));
  t.after(() => rmSync(root, { recursive: true }));
  return join(root, "locks");
}

test("the locks of uid ranges are in a directory that only root can enter, created if missing", (t) => {
  const locks = place(t);
  const { status, stdout, stderr } = take(locks);
  assert.deepEqual([status, stderr], [0, ""]);
  assert.match(stdout, /^191\d{2}00000\n$/);
  assert.equal(statSync(locks).mode & 0o7777, 0o700);
  assert.equal(readdirSync(locks).length, 1);
});

test("rejects directories that another user could have created", (t) => {
  const others: ((locks: string) => void)[] = [
    (locks) => {
      mkdirSync(locks);
      chmodSync(locks, 0o1777);
    },
    (locks) => {
      mkdirSync(locks, { mode: 0o700 });
      chownSync(locks, NOBODY, NOBODY);
    },
    (locks) => {
      mkdirSync(`${locks}.real`, { mode: 0o700 });
      symlinkSync(`${locks}.real`, locks);
    },
  ];
  for (const other of others) {
    const locks = place(t);
    other(locks);
    const { status, stderr } = take(locks);
    assert.equal(status, 1);
    assert.match(stderr, /must be a directory of root's with mode 0700/);
    assert.deepEqual(readdirSync(locks), []);
  }
});

test("a range that is held is not taken again", (t) => {
  const locks = place(t);
  mkdirSync(locks, { mode: 0o700 });
  // One lock file has the names of all ranges except one.
  const others = [...Array(100).keys()].filter((range) => range !== 42);
  for (const range of others) {
    if (range === 0) writeFileSync(join(locks, "uids-0"), "");
    else linkSync(join(locks, "uids-0"), join(locks, `uids-${range}`));
  }
  const held = 'exec 5>>"$2/uids-0"; flock -n 5';
  assert.equal(take(locks, held).stdout, "1914200000\n");
  assert.match(take(locks, `${held}; exec 4>>"$2/uids-42"; flock -n 4`).stderr, /all 100 uid ranges .* are in use/);
});

test("the files of free ranges are swept; a held range stays and is not taken", (t) => {
  const locks = place(t);
  mkdirSync(locks, { mode: 0o700 });
  for (const range of Array(100).keys()) writeFileSync(join(locks, `uids-${range}`), "");
  const { status, stderr } = take(locks, 'exec 5>>"$2/uids-7"; flock -n 5; sweep_uid_locks');
  assert.deepEqual([status, stderr], [0, ""]);
  const left = readdirSync(locks);
  assert.ok(left.includes("uids-7"));
  assert.equal(left.length, 2, "the held range and the range taken afterwards");
});
