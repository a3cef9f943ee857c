import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { startHttp } from "../../../support/http/running.ts";

const PAGE = '<!doctype html><script src="/dashboard/assets/a-1.js"></script>';
const SCRIPT = "export default 1;";

function built(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "assay-dashboard-"));
  t.after(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, "assets"));
  mkdirSync(join(directory, ".vite"));
  writeFileSync(join(directory, "index.html"), PAGE);
  writeFileSync(join(directory, "scheme.js"), "1");
  writeFileSync(join(directory, ".vite", "manifest.json"), "{}");
  writeFileSync(join(directory, "assets", "a-1.js"), SCRIPT);
  writeFileSync(join(directory, "assets", "a-1.js.gz"), gzipSync(SCRIPT));
  writeFileSync(join(directory, "assets", "a-1.js.br"), "as brotli has it");
  writeFileSync(join(directory, "assets", "b-2.css"), "p{}");
  symlinkSync("/etc/passwd", join(directory, "passwd.txt"));
  return directory;
}

test("serves the page at each of its own paths, with a policy that allows only its files", async (t) => {
  const { ask } = await startHttp(t, { dashboardDir: built(t) });
  for (const path of [
    "/dashboard/",
    "/dashboard/submissions",
    "/dashboard/submissions/8716aa61-b3c9",
    "/dashboard/index.html",
  ]) {
    const { status, headers, text } = await ask({ path, key: null });
    assert.equal(status, 200, path);
    assert.equal(headers["content-type"], "text/html; charset=utf-8");
    assert.equal(headers["cache-control"], "no-cache");
    assert.equal(headers["referrer-policy"], "no-referrer");
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["x-frame-options"], "DENY");
    assert.equal(text, PAGE);
    assert.deepEqual(String(headers["content-security-policy"]).split("; "), [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "font-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
  }
});

test("serves files with their type, immutable if their name has a hash, in the smallest accepted encoding", async (t) => {
  const { ask } = await startHttp(t, { dashboardDir: built(t) });
  const get = (path: string, headers: Record<string, string> = {}) =>
    ask({ path: `/dashboard/${path}`, key: null, headers });
  const plain = await get("assets/a-1.js");
  assert.equal(plain.text, SCRIPT);
  assert.equal(plain.headers["content-type"], "text/javascript; charset=utf-8");
  assert.equal(plain.headers["cache-control"], "public, max-age=31536000, immutable");
  assert.equal(plain.headers.vary, "accept-encoding");
  assert.equal(plain.headers["content-encoding"], undefined);
  const packed = await get("assets/a-1.js", { "accept-encoding": "gzip, deflate, br" });
  assert.equal(packed.headers["content-encoding"], "br");
  assert.equal(packed.text, "as brotli has it");
  assert.equal(packed.headers["content-type"], "text/javascript; charset=utf-8");
  assert.equal((await get("assets/a-1.js", { "accept-encoding": "gzip" })).headers["content-encoding"], "gzip");
  assert.equal((await get("assets/a-1.js", { "accept-encoding": "br;q=0" })).headers["content-encoding"], undefined);
  assert.equal((await get("assets/b-2.css", { "accept-encoding": "br" })).text, "p{}");
  const known = await get("scheme.js", { "if-none-match": String((await get("scheme.js")).headers.etag) });
  assert.deepEqual([known.status, known.text], [304, ""]);
  assert.equal(known.headers["cache-control"], "no-cache");
});

test("no path leaves the directory, and only built files are served", async (t) => {
  const { ask } = await startHttp(t, { dashboardDir: built(t) });
  const paths = [
    "assets/never-was.js",
    "assets/",
    "assets",
    "never-was.js",
    "a-1.js.gz",
    "assets/a-1.js.br",
    ".vite/manifest.json",
    "passwd.txt",
    "api",
    "api/never-was",
    "%2e%2e/%2e%2e/etc/passwd.txt",
    "..%2f..%2fetc%2fpasswd.txt",
    "assets/..%5c..%5cpasswd.txt",
    "assets%2fa-1.js%00.css",
  ];
  for (const path of paths) {
    const reply = await ask({ path: `/dashboard/${path}`, key: null });
    assert.equal(reply.status, 404, `${path}: ${reply.text}`);
    assert.deepEqual(reply.json, { error: "no such endpoint" }, path);
  }
});

test("redirects / to the dashboard, and reports if it is not built", async (t) => {
  const { ask } = await startHttp(t);
  for (const path of ["/", "/dashboard"]) {
    const { status, headers } = await ask({ path, key: null });
    assert.deepEqual([status, headers.location], [308, "/dashboard/"]);
  }
  const { status, json } = await ask({ path: "/dashboard/", key: null });
  assert.equal(status, 404);
  assert.deepEqual(json, { error: "this service was started without the dashboard's files" });
});

test("below /dashboard, 404 and 405 need no key", async (t) => {
  const { ask } = await startHttp(t);
  const post = await ask({ method: "POST", path: "/dashboard/api/never-was", key: null });
  assert.deepEqual([post.status, post.json], [404, { error: "no such endpoint" }]);
  const put = await ask({ method: "PUT", path: "/dashboard/api/session", key: null });
  assert.deepEqual([put.status, put.headers.allow], [405, "DELETE, GET, HEAD, POST"]);
});
