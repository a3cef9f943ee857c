import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "node:tls";
import { certificate, startHttp } from "../../support/http/running.ts";

async function fingerprint(port: number): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

test("uses a renewed certificate without a restart, and keeps the current one if the new one is invalid", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "assay-reload-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const [certPath, keyPath] = [join(directory, "server.pem"), join(directory, "server.key")];
  const first = certificate();
  copyFileSync(first.certPath, certPath);
  copyFileSync(first.keyPath, keyPath);
  const { port, server, logs } = await startHttp(t, { transport: { kind: "https", certPath, keyPath } });
  const before = await fingerprint(port);

  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const renewed = ["req", "-x509", ...curve, "-subj", "/CN=localhost", "-keyout", keyPath, "-out", certPath];
  execFileSync("openssl", renewed, { stdio: "ignore" });
  assert.equal(await fingerprint(port), before);
  server.reloadCertificate();
  const after = await fingerprint(port);
  assert.notEqual(after, before);

  copyFileSync(first.certPath, certPath); // belongs to another key
  server.reloadCertificate();
  assert.equal(await fingerprint(port), after);
  writeFileSync(certPath, "nonsense");
  server.reloadCertificate();
  assert.equal(await fingerprint(port), after);
  assert.equal(logs.filter((line) => line.includes("the current one stays in use")).length, 2);
});
