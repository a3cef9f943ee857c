import assert from "node:assert/strict";
import { request } from "node:http";
import { type TestContext, test } from "node:test";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import { type Ask, type Options, startHttp } from "../../support/http/running.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";

async function start(t: TestContext, options: Options = {}) {
  const running = await startHttp(t, {
    ...options,
    transport: { kind: "loopback" },
    sandboxesOver: (store) => new MemorySandboxes(store),
  });
  const key = await running.key({ profiles: ["agent"] });
  const { json } = await running.ask({ method: "POST", path: "/api/sandboxes", key, body: {} });
  const files = `/api/sandboxes/${json.id}/files`;
  const send = (ask: Ask) => running.ask({ key, ...ask });
  const put = (path: string, bytes: string, headers = {}) =>
    send({ method: "PUT", path: `${files}?path=${path}`, body: Buffer.from(bytes), headers });
  return { ...running, key, files, send, put };
}

onEachDatabase((open) => {
  test("a file is written, read in parts, described, moved and removed", async (t) => {
    const { send, put, files } = await start(t, { open });
    const written = await put("a.txt&mode=755", "0123456789");
    assert.equal(written.status, 200);
    assert.deepEqual(written.json, {
      path: "/home/user/a.txt",
      type: "file",
      bytes: 10,
      mode: 0o755,
      modified_at: "2026-01-01T00:00:00.000Z",
      etag: "e-1",
      target: null,
    });
    assert.equal(written.headers.etag, '"e-1"');
    const path = `${files}?path=a.txt`;
    const read = await send({ path });
    assert.deepEqual([read.status, read.text, read.headers["content-length"]], [200, "0123456789", "10"]);
    assert.equal(read.headers.etag, '"e-1"');
    assert.equal(read.headers["content-type"], "application/octet-stream");
    for (const [range, text, content] of [
      ["bytes=2-4", "234", "bytes 2-4/10"],
      ["bytes=8-", "89", "bytes 8-9/10"],
      ["bytes=-3", "789", "bytes 7-9/10"],
      ["bytes=5-99", "56789", "bytes 5-9/10"],
    ] as const) {
      const part = await send({ path, headers: { range } });
      assert.deepEqual([part.status, part.text, part.headers["content-range"]], [206, text, content], range);
    }
    assert.equal((await send({ path, headers: { range: "bytes=10-" } })).status, 416);
    assert.equal((await send({ path, headers: { range: "lines=1" } })).status, 200);
    assert.equal((await send({ path, headers: { range: "bytes=0-0", "if-range": '"e-9"' } })).status, 200);
    const known = await send({ path, headers: { "if-none-match": '"e-1"' } });
    assert.deepEqual([known.status, known.text, known.headers.etag], [304, "", '"e-1"']);
    const head = await send({ method: "HEAD", path });
    assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", "10"]);
    assert.equal((await send({ path: `${files}/info?path=a.txt` })).json.bytes, 10);
    const moved = await send({ method: "POST", path: `${files}/move`, body: { path: "a.txt", to: "b.txt" } });
    assert.equal(moved.json.path, "/home/user/b.txt");
    const missing = await send({ path });
    assert.deepEqual(
      [missing.status, missing.json],
      [
        404,
        { error: "/home/user/a.txt: there is no such file or directory", code: "notFound", path: "/home/user/a.txt" },
      ],
    );
    assert.equal((await send({ method: "DELETE", path: `${files}?path=b.txt` })).status, 200);
  });
});

// On SQLite only from here on: for a request for a file, the database finds the key and the sandbox, as above, and has nothing of the file.

test("a file is replaced only under the conditions of the request", async (t) => {
  const { put } = await start(t);
  assert.equal((await put("a", "1", { "if-match": "*" })).status, 412);
  assert.equal((await put("a", "1", { "if-none-match": "*" })).status, 200);
  assert.equal((await put("a", "2", { "if-none-match": "*" })).status, 412);
  assert.equal((await put("a", "2", { "if-match": '"e-1"' })).status, 200);
  assert.equal((await put("a", "3", { "if-match": '"e-1"' })).status, 412);
  for (const etag of ["e-2", 'W/"e-2"', '"a", "b"', '""'])
    assert.equal((await put("a", "3", { "if-match": etag })).status, 400, etag);
});

test("a body of any media type is taken as it is, and a compressed one is refused", async (t) => {
  const { put, send, files } = await start(t);
  for (const type of [
    "application/json",
    "application/x-www-form-urlencoded",
    "application/zip",
    "text/plain",
    "constructor",
    "",
  ]) {
    assert.equal((await put("a", "{not json", { "content-type": type })).status, 200, type);
    assert.equal((await send({ path: `${files}?path=a` })).text, "{not json", type);
  }
  assert.equal((await put("a", "x", { "content-encoding": "gzip" })).status, 400);
  assert.equal((await put("a", "", {})).json.bytes, 0);
  assert.equal((await send({ method: "PUT", path: `${files}?path=a` })).json.bytes, 0, "without a body");
});

test("directories are listed in pages, made, archived and removed", async (t) => {
  const { put, send, files } = await start(t);
  for (const name of ["d/a", "d/b", "d/c"]) await put(encodeURIComponent(name), name);
  const first = (await send({ path: `${files}/list?path=d&limit=2` })).json;
  assert.deepEqual(
    first.entries.map(({ path }: { path: string }) => path),
    ["/home/user/d/a", "/home/user/d/b"],
  );
  const second = (await send({ path: `${files}/list?path=d&after=${encodeURIComponent(first.next)}` })).json;
  assert.deepEqual([second.entries.length, second.next], [1, null]);
  assert.equal((await send({ path: `${files}/list?limit=0` })).status, 400);
  assert.equal((await send({ method: "POST", path: `${files}/directories`, body: { path: "e" } })).status, 200);
  const archive = await send({ path: `${files}/archive?path=d` });
  assert.deepEqual([archive.headers["content-type"], archive.text], ["application/x-tar", "archive of /home/user/d"]);
  const body = Buffer.alloc(100_000);
  assert.deepEqual((await send({ method: "PUT", path: `${files}/archive?path=d`, body })).json, {
    files: 1,
    bytes: 100_000,
  });
  const full = await send({ method: "DELETE", path: `${files}?path=d` });
  assert.deepEqual([full.status, full.json.code], [409, "notEmpty"]);
  assert.equal((await send({ method: "DELETE", path: `${files}?path=d&recursive=true` })).status, 200);
  assert.equal((await send({ path: `${files}?path=d` })).status, 404);
});

test("an upload may take longer than any other request, and one that breaks off changes nothing", async (t) => {
  const { port, key, send, files } = await start(t, {
    limits: { requestTimeout: 300, connectionsCheckingInterval: 50 },
  });
  const upload = (path: string) => {
    const headers = { "x-api-key": key, "transfer-encoding": "chunked" };
    const sent = request({ port, method: "PUT", path: `${files}?path=${path}`, headers, agent: false });
    const status = new Promise<number>((resolve, reject) => {
      sent.on("error", reject);
      sent.on("response", (response) => resolve(response.resume().statusCode ?? 0));
    });
    return { sent, status };
  };
  const slow = upload("slow");
  for (let part = 0; part < 5; part++) {
    slow.sent.write("part");
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  slow.sent.end();
  assert.equal(await slow.status, 200);
  assert.equal((await send({ path: `${files}?path=slow` })).text.length, 20);
  const broken = upload("broken");
  broken.sent.write("part");
  await new Promise((resolve) => setTimeout(resolve, 100));
  broken.sent.destroy();
  await assert.rejects(broken.status);
  assert.equal((await send({ path: `${files}?path=broken` })).status, 404);
  // Other requests keep the limit.
  const late = request({
    port,
    method: "POST",
    path: "/api/submit",
    headers: { "x-api-key": key, "content-type": "application/json", "content-length": 9 },
    agent: false,
  });
  const status = new Promise<number>((resolve, reject) => {
    late.on("error", reject);
    late.on("response", (response) => resolve(response.resume().statusCode ?? 0));
  });
  late.write("{");
  assert.equal(await status, 408);
});

test("changes of files are sent as events", async (t) => {
  const { port, key, files, put } = await start(t);
  await put("d%2Fa", "1");
  const text = await new Promise<string>((resolve, reject) => {
    const asked = request(
      { port, path: `${files}/events?path=d`, headers: { "x-api-key": key }, agent: false },
      (response) => {
        let seen = "";
        response.on("data", (chunk: Buffer) => {
          const isFirst = seen === "";
          seen += chunk;
          if (isFirst) void put("d%2Fa", "2").then(() => put("d%2Fb", "3"));
          if (seen.includes("event: created")) {
            resolve(seen);
            asked.destroy();
          }
        });
      },
    );
    asked.on("error", reject);
    asked.end();
  });
  assert.equal(
    text,
    "event: start\ndata: {}\n\n" +
      'event: changed\ndata: {"path":"/home/user/d/a"}\n\n' +
      'event: created\ndata: {"path":"/home/user/d/b"}\n\n',
  );
});
