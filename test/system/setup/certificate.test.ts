import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { FakeCheckout } from "./fake-checkout.ts";

/** Creates or keeps the certificate, like serve. */
function makeCertificate(data: string, { days, host }: { days?: number; host?: string } = {}): string {
  const script = `checkout=$1 data=$2; for p in log machine certificate; do . "$1/setup/$p.sh"; done
    ${days ? `tls_days=${days}` : ""}
    ${host ? `hostname() { echo ${host}; }` : ""}
    mkdir -p "$data/log"; make_certificate 2>&1`;
  const args = ["-euc", script, "sh", resolve(import.meta.dirname, "../../.."), data];
  return execFileSync("sh", args, { encoding: "utf8" });
}

const certificate = (data: string, name: string) => new X509Certificate(readFileSync(join(data, "tls", name)));

test("the certificate is valid for this machine's names, and its authority is constrained to them", () => {
  using fake = new FakeCheckout();
  makeCertificate(fake.data);
  const [server, authority] = [certificate(fake.data, "server.pem"), certificate(fake.data, "ca.pem")];
  assert.ok(server.verify(authority.publicKey));
  assert.ok(server.checkHost("localhost") && server.checkHost(hostname()));
  assert.ok(server.checkIP("127.0.0.1") && server.checkIP("::1"));
  assert.equal(server.checkHost("example.org"), undefined);
  assert.equal(server.ca, false);
  assert.equal(authority.ca, true);
  const text = execFileSync("openssl", ["x509", "-noout", "-text", "-in", join(fake.data, "tls/ca.pem")], {
    encoding: "utf8",
  });
  assert.match(text, /Name Constraints: critical\s+Permitted:\s+DNS:localhost/);
});

test("root without CAP_FOWNER creates and keeps a certificate", () => {
  using fake = new FakeCheckout();
  const script = `checkout=$1 data=$2; for p in log machine certificate; do . "$1/setup/$p.sh"; done
    mkdir -p "$data/log"; make_certificate; make_certificate`;
  const without = ["--bounding-set", "-fowner", "sh", "-euc", script, "sh"];
  const { status, stderr } = spawnSync("setpriv", [...without, resolve(import.meta.dirname, "../../.."), fake.data], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  const { mode, uid } = statSync(join(fake.data, "tls/server.key"));
  assert.deepEqual([mode & 0o777, uid !== 0], [0o400, true]);
});

test("accepts the longest host name that the kernel allows", () => {
  using fake = new FakeCheckout();
  const host = `${"h".repeat(40)}.${"d".repeat(23)}`;
  makeCertificate(fake.data, { host });
  const server = certificate(fake.data, "server.pem");
  assert.ok(server.verify(certificate(fake.data, "ca.pem").publicKey));
  assert.equal(server.checkHost(host), host);
  assert.equal(makeCertificate(fake.data, { host }), "", "and the certificate is kept");
});

test("the authority's key is deleted, and only the service user can read the server's key", () => {
  using fake = new FakeCheckout();
  makeCertificate(fake.data);
  assert.deepEqual(fake.list("tls").toSorted(), ["ca.pem", "server.key", "server.pem"]);
  const { mode, uid } = statSync(join(fake.data, "tls/server.key"));
  assert.equal(mode & 0o777, 0o400);
  assert.notEqual(uid, 0);
});

test("a certificate that expires within a month is replaced with a message; others are kept", () => {
  using fake = new FakeCheckout();
  makeCertificate(fake.data, { days: 29 });
  const soon = certificate(fake.data, "server.pem").serialNumber;
  assert.match(makeCertificate(fake.data), /clients need the new ca\.pem/);
  const fresh = certificate(fake.data, "server.pem").serialNumber;
  assert.notEqual(fresh, soon);
  assert.equal(makeCertificate(fake.data), "");
  assert.equal(certificate(fake.data, "server.pem").serialNumber, fresh);
});
