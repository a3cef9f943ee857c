import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { runFetchClient, runShellClient } from "../../support/http/documented-clients.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

const product = useProduct();

function connection() {
  const { service, key, data } = product();
  return { url: `https://127.0.0.1:${service.port}`, key, caPath: join(data, "tls", "server.pem") };
}

test("the shell commands in docs/api.md print the record of a real run", async () => {
  const { code, stdout, stderr } = await runShellClient(connection());
  assert.equal(code, 0, stderr);
  const record = checked(JSON.parse(stdout));
  assert.equal(record.result.verdict, "AC");
  assert.equal(record.output.stdout, "42\n");
});

test("the JavaScript in docs/api.md prints the verdict and output of a real run", async () => {
  const { code, stdout, stderr } = await runFetchClient(connection());
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "AC 42\n");
});
