import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeBase64 } from "../../../src/compat/judge0/request.ts";
import { parseForm } from "../../../src/http/body/form-body.ts";
import { parseJson } from "../../../src/http/body/json-body.ts";
import { checkShape, MAX_NAME_BYTES } from "../../../src/http/body/json-shape.ts";

/** CPU time of a second call, in ms: the first one may be compiled. */
function cpuMs(work: () => unknown): number {
  work();
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e3;
}

test("names that are longer than any valid one are refused before JSON is parsed", () => {
  const fits = "x".repeat(MAX_NAME_BYTES - 2);
  for (const space of ["", " ", "\n\t "]) {
    const body = (name: string) => Buffer.from(`{"a": {"${name}"${space}:${space}1}}`);
    assert.deepEqual(parseJson(body(fits), checkShape(body(fits))), { a: { [fits]: 1 } });
    for (const name of [`${fits}xx`, "\\u0061".repeat(1_000), "x".repeat(16_384)])
      assert.throws(() => checkShape(body(name)), /the name of a field has more than 4096 bytes/);
  }
  // A long text is no name.
  const text = Buffer.from(JSON.stringify({ a: ["x".repeat(100_000)], b: "y".repeat(100_000) }));
  assert.equal(checkShape(text), 2);
  assert.throws(() => parseForm(Buffer.from(`a=1&${"x".repeat(16_384)}=2`)), /the name of a field has more than/);
});

test("many names of the longest length take no longer than others", () => {
  // Names of more than 16,383 characters would all have one hash.
  const names = Array.from({ length: 500 }, (_, at) => `"${`${at}`.padStart(MAX_NAME_BYTES - 2, "x")}":0`);
  const bytes = Buffer.from(`{${names.join()}}`);
  const ms = cpuMs(() => parseJson(bytes, checkShape(bytes)));
  assert.ok(ms < 60, `${ms} ms`);
});

test("base64 with white space is decoded as without, and takes no longer than a turn", () => {
  const anywhere = fc.array(fc.constantFrom("", "", "", " ", "\n", "\r\n", "\t"), { minLength: 40, maxLength: 40 });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 30 }), anywhere, (given, spaces) => {
      const text = Buffer.from(given).toString("base64");
      const spaced = [...text].map((letter, at) => `${spaces[at] ?? ""}${letter}`).join("");
      assert.deepEqual(decodeBase64(spaced), Buffer.from(given));
      assert.deepEqual(decodeBase64(spaced.replaceAll("=", "")), Buffer.from(given));
    }),
  );
  for (const wrong of ["a", "ab!d", "ab=d", "a===", "abc-", "\u0141bcd", "abc\u00a0", "\0"])
    assert.equal(decodeBase64(wrong), null, JSON.stringify(wrong));
  for (const text of ["a ", " ", "abcd", "="]) {
    const long = text.repeat((4 << 20) / text.length);
    const ms = cpuMs(() => decodeBase64(long));
    assert.ok(ms < 80, `${ms} ms for ${JSON.stringify(text)}`);
  }
});
