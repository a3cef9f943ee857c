import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { NewKey } from "../../../../src/admin/keys.ts";
import type { FileInfo } from "../../../../src/domain/sandboxes/files.ts";
import { whileAllowed } from "../../../../src/http/dashboard/sandbox-files.ts";
import { API, entriesOf, NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { MemorySandboxes } from "../../../support/http/memory-sandboxes.ts";

const LIMIT = { timeout: 60_000 };
const KEY: Partial<NewKey> = { project: "shop", name: "agent", profiles: ["agent"] };

async function start(t: TestContext) {
  const club = await startTwoTenants(t, { sandboxesOver: (store) => new MemorySandboxes(store) });
  const { running, ada } = club;
  const key = await running.key(KEY);
  const { id } = (await running.ask({ key, method: "POST", path: "/api/sandboxes", body: {} })).json;
  const at = (path: string) => `?path=${encodeURIComponent(path)}`;
  const put = (path: string, bytes: Buffer, { query = "", headers = {} } = {}) =>
    ada.person.ask({
      method: "PUT",
      path: `${API}/sandboxes/${id}/files/content${at(path)}${query}`,
      body: bytes,
      headers: { "content-type": "application/octet-stream", ...headers },
    });
  const get = (what: string, path: string, ask = ada) => ask("GET", `/sandboxes/${id}/files${what}${at(path)}`);
  const post = (what: string, body: object, ask = ada) => ask("POST", `/sandboxes/${id}/files/${what}`, body);
  const names = async (path: string, more = "") =>
    (await ada("GET", `/sandboxes/${id}/files${at(path)}${more}`)).json.entries.map((one: FileInfo) => one.path);
  return { ...club, id, put, get, post, names };
}

test("a person uploads, lists, reads, renames and removes files, with entries in the audit trail", LIMIT, async (t) => {
  const club = await start(t);
  const { ada, eve, id, put, get, post, names } = club;
  const written = await put("/home/user/a b.txt", Buffer.from("one\n"));
  assert.deepEqual([written.status, written.json.path, written.json.bytes], [200, "/home/user/a b.txt", 4]);
  assert.deepEqual(await names("/home/user"), ["/home/user/a b.txt"]);
  const again = await put("/home/user/a b.txt", Buffer.from("two\n"));
  assert.deepEqual([again.status, again.json.code], [409, "exists"]);
  assert.equal((await put("/home/user/a b.txt", Buffer.from("two\n"), { query: "&replace=true" })).status, 200);
  assert.equal((await put("/home/user/empty", Buffer.alloc(0))).json.bytes, 0);
  assert.deepEqual((await get("/text", "/home/user/a b.txt")).json.text, "two\n");
  assert.deepEqual((await post("directories", { path: "/home/user/new" })).status, 200);
  assert.equal((await post("directories", { path: "/home/user/empty" })).json.code, "exists");
  const onto = await post("move", { path: "/home/user/a b.txt", to: "/home/user/empty" });
  assert.deepEqual([onto.status, onto.json.code], [409, "exists"], "a new name replaces nothing");
  assert.equal((await post("move", { path: "/home/user/a b.txt", to: "/home/user/c.txt" })).status, 200);
  assert.equal((await post("remove", { path: "/home/user/empty", recursive: false })).status, 200);
  assert.deepEqual(await names("/home/user"), ["/home/user/c.txt"]);
  assert.equal((await post("remove", { path: "/home/user/empty", recursive: false })).json.code, "notFound");
  const entries = await club.running.store.audit.list({ max: 100 });
  const changes = entries.filter(({ action }) => action.startsWith("sandbox.")).reverse();
  assert.deepEqual(
    changes.slice(0, 1).map(({ action, subject, detail, actor }) => [action, subject, detail, actor]),
    [["sandbox.write-file", id, { path: "/home/user/a b.txt" }, "ada@example.com"]],
  );
  const moved = changes.find(({ action }) => action === "sandbox.move-file");
  assert.deepEqual(moved?.detail, { path: "/home/user/a b.txt", to: "/home/user/empty" });
  assert.deepEqual(
    [...new Set(changes.map(({ action }) => action))],
    [...["sandbox.write-file", "sandbox.make-directory", "sandbox.move-file", "sandbox.remove-file"]],
  );
  for (const what of ["", "/text", "/content"])
    assert.deepEqual((await get(what, "/home/user/c.txt", eve)).json, NOT_THERE);
  assert.deepEqual((await post("remove", { path: "/home/user/c.txt", recursive: true }, eve)).json, NOT_THERE);
  assert.deepEqual(await entriesOf(club, eve), []);
  await ada("POST", `/sandboxes/${id}/end`);
  assert.equal((await get("", "/home/user")).status, 410);
});

test("a hostile file is a download that no browser shows, and text is bounded", LIMIT, async (t) => {
  const { put, get, root, running } = await start(t);
  const page = Buffer.from("<!doctype html><script>alert(document.cookie)</script>");
  await put('/home/user/"x\r\n\u00e9.html', page);
  const { status, headers, text } = await get("/content", '/home/user/"x\r\n\u00e9.html');
  assert.deepEqual([status, text], [200, page.toString()]);
  assert.equal(headers["content-type"], "application/octet-stream");
  assert.equal(headers["x-content-type-options"], "nosniff");
  assert.equal(headers["content-security-policy"], "default-src 'none'; frame-ancestors 'none'");
  assert.equal(
    headers["content-disposition"],
    `attachment; filename="_x___.html"; filename*=UTF-8''%22x%0D%0A%C3%A9.html`,
  );
  assert.equal(Number(headers["content-length"]), page.length);
  const shown = await get("/text", '/home/user/"x\r\n\u00e9.html');
  assert.match(String(shown.headers["content-type"]), /^application\/json/);
  assert.equal(shown.json.text, page.toString());
  await put("/home/user/binary", Buffer.from([65, 0, 66]));
  assert.deepEqual([(await get("/text", "/home/user/binary")).json.text], [null]);
  // A character of three bytes across the bound is left out.
  await put("/home/user/long", Buffer.from(`${"x".repeat(262_143)}\u20ac${"y".repeat(500_000)}`));
  const long = (await get("/text", "/home/user/long")).json;
  assert.deepEqual([long.isCut, long.text.length, long.text.endsWith("x")], [true, 262_143, true]);
  await root("GET", "/session");
  assert.equal((await get("/text", "/home/user/long", root)).status, 200);
  const reads = (await running.store.audit.list({ max: 100 })).filter(({ action }) => action === "sandbox.read");
  assert.deepEqual(
    reads.map(({ actor }) => actor),
    ["root@example.com"],
  );
});

test("an upload is passed on in pieces, and only from pages of this service", LIMIT, async (t) => {
  const { put, get } = await start(t);
  const bytes = Buffer.alloc(4 * 1_048_576, "0123456789abcdef");
  assert.equal((await put("/home/user/big", bytes)).json.bytes, bytes.length);
  assert.equal((await get("/content", "/home/user/big")).text.length, bytes.length);
  const changed = { query: "&replace=true" };
  for (const headers of [
    { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
    { "sec-fetch-site": "same-site", origin: "https://localhost:1" },
    { "content-type": "text/plain" },
    { "content-type": "multipart/form-data; boundary=x" },
    { "content-type": "application/x-www-form-urlencoded" },
  ] as Record<string, string>[])
    assert.equal((await put("/home/user/big", Buffer.from("x"), { ...changed, headers })).status, 403);
  const packed = { "content-encoding": "gzip" } as Record<string, string>;
  assert.equal((await put("/home/user/big", Buffer.from("x"), { ...changed, headers: packed })).status, 400);
  assert.equal((await put("/home/user/big\0", Buffer.from("x"))).status, 400);
  assert.equal((await get("/content", "/home/user/big")).text.length, bytes.length);
});

test("an upload or a download ends when the person loses access", LIMIT, async () => {
  let isAllowed = true;
  async function* slow(pauseMs: number) {
    yield Buffer.from("first");
    isAllowed = false;
    await sleep(pauseMs);
    yield Buffer.from("second");
  }
  const received = async (pauseMs: number) => {
    isAllowed = true;
    const texts: string[] = [];
    const reading = (async () => {
      for await (const chunk of whileAllowed(slow(pauseMs), async () => isAllowed)) texts.push(chunk.toString());
    })();
    await assert.rejects(reading, { code: "signInNeeded" });
    return texts;
  };
  assert.deepEqual(await received(1_100), ["first"]);
  assert.deepEqual(await received(0), ["first", "second"], "one that is short is checked at its end");
});
