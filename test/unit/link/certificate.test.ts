import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { fingerprintOf, newIdentity } from "../../../src/link/certificate.ts";

test("a certificate is valid X.509 with its own signature, and its fingerprint is that of its bytes", () => {
  const { key, cert, fingerprint } = newIdentity();
  const parsed = new X509Certificate(cert);
  assert.ok(parsed.verify(parsed.publicKey), "the signature is that of its key");
  assert.ok(parsed.checkPrivateKey(createPrivateKey(key)));
  assert.equal(parsed.subject, "CN=assay link");
  assert.equal(parsed.issuer, parsed.subject);
  assert.match(fingerprint, /^[0-9a-f]{64}$/);
  assert.equal(fingerprint, fingerprintOf(parsed.raw));
  assert.equal(parsed.fingerprint256.replaceAll(":", "").toLowerCase(), fingerprint);
  assert.ok(parsed.validFromDate < new Date() && parsed.validToDate.getUTCFullYear() === 9999);
});

test("each certificate has another key, fingerprint and serial number", () => {
  const all = Array.from({ length: 20 }, newIdentity);
  assert.equal(new Set(all.map(({ key }) => key)).size, all.length);
  assert.equal(new Set(all.map(({ fingerprint }) => fingerprint)).size, all.length);
  assert.equal(new Set(all.map(({ cert }) => new X509Certificate(cert).serialNumber)).size, all.length);
});
