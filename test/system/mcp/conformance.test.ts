import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { startKeyedProxy } from "../../support/mcp/keyed-proxy.ts";
import { useProduct } from "../../support/programs/product.ts";
import { ROOT } from "../../support/repo/documents.ts";

/** The scenarios of the official suite that do not apply, by the reason. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = JSON.parse(
  readFileSync(new URL("scenarios.json", import.meta.url), "utf8"),
);
const APPLY = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"];
const SUITE = join(ROOT, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const run = promisify(execFile);
const product = useProduct();

test("the scenarios of the official suite that apply pass, and no other one", { timeout: 60_000 }, async (t) => {
  const { service, key, data } = product();
  const where = { url: `https://127.0.0.1:${service.port}`, key, caPath: join(data, "tls", "server.pem") };
  // The suite sends no key.
  const port = await startKeyedProxy(t, where);
  const directory = mkdtempSync(join(tmpdir(), "assay-conformance-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const elsewhere = Object.values(ELSEWHERE).flat();
  const baseline = join(directory, "baseline.yml");
  writeFileSync(baseline, JSON.stringify({ server: elsewhere }));
  const args = ["server", "--url", `http://localhost:${port}/mcp`, "--suite", "all", "--expected-failures", baseline];
  // It fails for failures outside the baseline, and if a failure of the baseline does not occur.
  const { code = 0, stdout } = await run(process.execPath, [SUITE, ...args], { cwd: directory }).catch(
    (error) => error,
  );
  assert.equal(code, 0, stdout);
  const passed = [...stdout.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed$/gm)].map(([, name]) => name);
  assert.deepEqual(passed, APPLY);
});
