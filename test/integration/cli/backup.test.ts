import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, createWriteStream, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { openStore } from "../../../src/store/open.ts";
import { assay, dataDirectory, type Ended, get, MAIN, serve } from "../../support/cli/processes.ts";
import { emptyDatabase } from "../../support/store/temporary.ts";
import { endOne } from "../../support/webhooks/project.ts";

/** One command with files as its standard input and output, as a shell starts it. */
async function piped(from: string | null, to: string | null, ...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  if (from) createReadStream(from).pipe(child.stdin);
  else child.stdin.end();
  child.stdin.on("error", () => {}); // it may end without reading all of it
  const written = to
    ? once(child.stdout.pipe(createWriteStream(to, { mode: 0o600 })), "finish")
    : once(child.stdout.resume(), "end");
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  await written;
  return { code: code ?? -1, stdout: "", stderr };
}

test("restores a backup of a running service for another service, on both databases", async (t) => {
  const data = dataDirectory(t);
  const service = await serve(t, data);
  const key = (await assay("keys", "create", "--name", "n", "--data", data)).stdout.trim();
  const store = await openStore({ database: { kind: "sqlite", path: join(data, "db", "assay.sqlite") } });
  t.after(() => store.close());
  const [mine] = await store.keys.list();
  assert.ok(mine);
  const project = { id: "", key: { keyId: mine.id, accountId: mine.accountId } };
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.push(await endOne(store, project));
  const file = join(data, "backup");
  const made = await piped(null, file, "backup", "--data", data);
  assert.equal(made.code, 0, made.stderr);
  assert.match(
    made.stderr,
    /^assay: \d+ rows\. The webhook secrets in the backup need the key file, which the backup does not contain\n$/,
  );
  const later = await endOne(store, project);
  for (const line of gunzipSync(readFileSync(file)).toString().trimEnd().split("\n")) JSON.parse(line);
  for (const kind of ["sqlite", "postgres"] as const) {
    const other = dataDirectory(t);
    const database = await emptyDatabase(t, kind);
    const where = ["--data", other, ...(database.kind === "postgres" ? ["--database", database.url] : [])];
    const restored = await piped(file, null, "restore", ...where);
    assert.equal(restored.code, 0, restored.stderr);
    const again = await piped(file, null, "restore", ...where);
    assert.deepEqual([again.code, /^assay: there is something in the database/.test(again.stderr)], [1, true]);
    const next = await serve(t, other, ...where.slice(2));
    for (const id of ids) {
      const result = `/api/result/${id}`;
      assert.deepEqual(await get(next.port, result, key), await get(service.port, result, key));
    }
    assert.equal((await get(next.port, `/api/result/${later}`, key)).status, 404);
    next.process.kill("SIGTERM");
    assert.equal(await next.ended, 0);
  }
});

test("reports an incomplete backup in one sentence and restores nothing", async (t) => {
  const data = dataDirectory(t);
  const file = join(data, "backup");
  await assay("keys", "create", "--name", "n", "--data", data);
  assert.equal((await piped(null, file, "backup", "--data", data)).code, 0);
  truncateSync(file, 200);
  const other = dataDirectory(t);
  const cut = await piped(file, null, "restore", "--data", other);
  assert.deepEqual([cut.code, cut.stderr], [1, "assay: the backup cannot be read: unexpected end of file\n"]);
  const none = await piped(null, null, "restore", "--data", other);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /^assay: (this is not a backup of Assay|the backup cannot be read: .*)\n$/);
  assert.equal((await assay("keys", "list", "--data", other, "--json")).stdout, "[]\n");
});
