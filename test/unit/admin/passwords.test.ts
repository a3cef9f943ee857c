import assert from "node:assert/strict";
import { argon2Sync } from "node:crypto";
import { test } from "node:test";
import { AdminError } from "../../../src/admin/error.ts";
import { checkPassword } from "../../../src/admin/password-rules.ts";
import { hashPassword, isDated, isPassword } from "../../../src/admin/passwords.ts";

const PASSWORD = "four words are good";
/** Long enough, and among the first that a guesser tries. */
const SOON = [
  ...["aaaaaaaaaaaa", "abcabcabcabcabc", "123456789012", "210987654321", "qwertyuiopas", "1qaz2wsx3edc"],
  ...["password1234", "P4ssw0rd!2026", "Administrator1!", "2026changeme2026", "assay-assay-2026", "liverpool123"],
  ...["Summer2026!!", "ada.lovelace@example.com", "Lovelace2026!", "adalovelace12"],
];
const ADA = { email: "ada.lovelace@example.com", name: "Ada Lovelace" };

test("verifies only the exact password; two hashes of it differ", async () => {
  const [hash, again] = await Promise.all([hashPassword(PASSWORD), hashPassword(PASSWORD)]);
  assert.match(hash, /^\$argon2id\$v=19\$m=32768,t=3,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(hash, again);
  assert.equal(await isPassword(PASSWORD, hash), true);
  for (const other of ["", `${PASSWORD} `, PASSWORD.toUpperCase(), PASSWORD.slice(0, -1)]) {
    assert.equal(await isPassword(other, hash), false, other);
  }
});

test("accepts a hash with other parameters and reports it as outdated", async () => {
  const nonce = Buffer.from("a salt of old");
  const cost = { memory: 64, passes: 2, parallelism: 1, tagLength: 16 };
  const bytes = argon2Sync("argon2id", { message: PASSWORD, nonce, ...cost });
  const plain = (value: Buffer) => value.toString("base64").replace(/=+$/, "");
  const old = `$argon2id$v=19$m=64,t=2,p=1$${plain(nonce)}$${plain(bytes)}`;
  assert.equal(await isPassword(PASSWORD, old), true);
  assert.equal(await isPassword("another password", old), false);
  assert.equal(isDated(old), true);
  assert.equal(isDated(await hashPassword(PASSWORD)), false);
  await assert.rejects(isPassword(PASSWORD, "$2b$10$something"), /form/);
});

test("an unknown person takes as much time as a known one", async () => {
  const hash = await hashPassword(PASSWORD);
  const cpuOf = async (stored: string | null) => {
    const began = process.cpuUsage();
    for (let n = 0; n < 4; n++) assert.equal(await isPassword("a wrong password", stored), false);
    const { user, system } = process.cpuUsage(began);
    return user + system;
  };
  const [there, notFound] = [await cpuOf(hash), await cpuOf(null)];
  assert.ok(notFound > there / 2 && notFound < there * 2, `${notFound} µs against ${there} µs`);
});

test("composed and decomposed letters are the same password", async () => {
  const hash = await hashPassword("gr\u00fc\u00dfe aus k\u00f6ln");
  assert.equal(await isPassword("gru\u0308\u00dfe aus ko\u0308ln", hash), true);
});

test("rejects short, guessable and personal passwords with a reason", async () => {
  const cases: [string, RegExp][] = [
    ["", /at least 12/],
    ["eleven char", /at least 12/],
    ["\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}", /at least 12/],
    ["x1y2z3".repeat(200), /at most 1024/],
    ...SOON.map((password): [string, RegExp] => [password, /is easy to guess/]),
  ];
  for (const [password, reason] of cases) {
    await assert.rejects(
      checkPassword(password, ADA),
      (error) => error instanceof AdminError && reason.test(error.message),
      password,
    );
  }
  for (const good of [
    "four words are good",
    "kX9#pQ2$vL7m",
    "lovelace wrote the first program",
    "пароль из пяти слов",
  ]) {
    await checkPassword(good, ADA);
  }
});

test("the longest and slowest password does not delay other requests", async (t) => {
  for (const worst of ["p4$$w0rd1!@5".repeat(17), "1901121999".repeat(20), "4@310$5+7%2z".repeat(80)]) {
    const before = process.threadCpuUsage();
    await checkPassword(worst, ADA).catch((error: unknown) => assert.ok(error instanceof AdminError, String(error)));
    // The CPU time is that of this thread alone: what else the machine does is not its fault.
    const { user, system } = process.threadCpuUsage(before);
    assert.ok(user + system < 20_000, `the event loop was held for ${user + system} µs`);
    t.diagnostic(`${user + system} µs`);
  }
});
