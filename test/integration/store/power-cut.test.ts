import assert from "node:assert/strict";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { diskLab } from "../../support/store/slow-disk.ts";

/** Checks the integrity of a database. @returns the status of each of its submissions. */
function statuses(path: string): Map<string, string> {
  const database = new Database(path);
  try {
    assert.deepEqual(database.pragma("integrity_check"), [{ integrity_check: "ok" }]);
    const rows = database.prepare("select id, status from submissions").all() as { id: string; status: string }[];
    return new Map(rows.map(({ id, status }) => [id, status]));
  } finally {
    database.close();
  }
}

function assertDurable(lines: readonly string[], there: ReadonlyMap<string, string>): void {
  for (const line of lines) {
    const [what, id = ""] = line.split(" ");
    if (what === "accepted") assert.ok(there.has(id), `${line}: it is missing`);
    if (what === "ended") assert.equal(there.get(id), "error", line);
  }
}

for (const confirmed of [40, 333, 700]) {
  test(`a power cut after ${confirmed} confirmations loses nothing that was confirmed`, async (t) => {
    const { directory, writer } = diskLab(t);
    const flushed = join(directory, "flushed");
    mkdirSync(flushed);
    const { child, lines, ended } = writer({ flushed }, 2_000);
    const said: string[] = [];
    for await (const line of lines) if (said.push(line) === confirmed) child.kill("SIGKILL");
    await ended;
    const after = join(directory, "after");
    cpSync(flushed, after, { recursive: true });
    assertDurable(said, statuses(join(after, "assay.sqlite")));
  });
}

test("a failed flush ends the process before it confirms anything else", async (t) => {
  const { directory, path, writer } = diskLab(t);
  const [flushed, broken] = [join(directory, "flushed"), join(directory, "broken")];
  mkdirSync(flushed);
  const { lines, ended } = writer({ flushed, broken }, 2_000);
  const said: string[] = [];
  for await (const line of lines) if (said.push(line) === 100) writeFileSync(broken, "");
  const { signal, words } = await ended;
  assert.equal(signal, "SIGKILL");
  assert.match(
    words,
    /^assay: the disk did not keep what was written to .*assay\.sqlite \(disk I\/O error\); the process ends$/m,
  );
  assertDurable(said, statuses(join(flushed, "assay.sqlite")));
  assertDurable(said, statuses(path));
});
