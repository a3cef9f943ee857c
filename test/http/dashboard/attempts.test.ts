import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientError } from "../../../src/domain/error.ts";
import { Attempts } from "../../../src/http/dashboard/attempts.ts";

/** @returns how many of `times` attempts went through. */
function tried(attempts: Attempts, times: number, ip: (n: number) => string, email: (n: number) => string): number {
  let through = 0;
  for (let n = 0; n < times; n++) {
    try {
      attempts.take({ ip: ip(n) }, email(n));
      through++;
    } catch (error) {
      assert.ok(error instanceof ClientError && error.code === "tooManySignIns", String(error));
      assert.match(error.headers["retry-after"] ?? "", /^([1-9]|[1-5]\d|60)$/);
    }
  }
  return through;
}

const ADA = "ada@example.com";

test("one address may try one e-mail five times in any minute", () => {
  let now = 0;
  const attempts = new Attempts(() => now);
  const try20 = () =>
    tried(
      attempts,
      20,
      () => "192.0.2.1",
      () => ADA,
    );
  assert.equal(try20(), 5);
  now = 59_999;
  assert.equal(try20(), 0);
  now = 60_000;
  assert.equal(try20(), 5);
});

test("one address may try thirty times, whatever the e-mails; a /64 is one address", () => {
  const attempts = new Attempts(() => 0);
  const many = tried(
    attempts,
    100,
    (n) => `2001:db8:1:2::${n.toString(16)}`,
    (n) => `${n}@example.com`,
  );
  assert.equal(many, 30);
});

test("many addresses together may try one e-mail twenty times, and its person still gets in from a known one", () => {
  const attempts = new Attempts(() => 0);
  attempts.succeeded({ ip: "198.51.100.7" }, ADA);
  const strangers = tried(
    attempts,
    200,
    (n) => `192.0.2.${n}`,
    () => ADA,
  );
  assert.equal(strangers, 20);
  const person = tried(
    attempts,
    20,
    () => "198.51.100.7",
    () => ADA,
  );
  assert.equal(person, 5);
});
