import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseForm } from "../../../src/http/body/form-body.ts";

const MANY = Array.from({ length: 513 }, (_, at) => `f${at}`).join("&");
const parse = (text: string) => parseForm(Buffer.from(text, "latin1"));

test("fields are as a browser or a program encoded them", () => {
  const text = fc.string({
    unit: fc.oneof(fc.constantFrom("+", "&", "=", "%", " ", "\n", "\0", "%2", "é", "😀"), fc.string()),
  });
  fc.assert(
    fc.property(fc.dictionary(text, text), (fields) => {
      const entries = Object.entries(fields);
      const plain = entries.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
      for (const encoded of [new URLSearchParams(fields as Record<string, string>).toString(), plain])
        assert.deepEqual(Object.entries(parse(encoded)), Object.entries(Object.fromEntries(entries)));
    }),
  );
  assert.deepEqual(parse("a=1&&b&c=&d=x=y&"), { a: "1", b: "", c: "", d: "x=y" });
  assert.deepEqual(Object.keys(parse("__proto__=1")), ["__proto__"]);
  assert.deepEqual(parseForm(Buffer.from("a=é")), { a: "é" });
});

test("other bytes than UTF-8, repeated fields and broken escapes are errors", () => {
  for (const text of ["a=%ff", "a=\xff", "a=%C3", "%c3%28=1", "a=%", "a=%4", "a=%zz", "a=%4g", "a=%-1"])
    assert.throws(() => parse(text), /is not a form in UTF-8/, text);
  for (const text of ["a=1&a=2", "a=1&%61=2", "a&a"]) assert.throws(() => parse(text), /duplicate field/, text);
});

test("many fields and large values take no longer than a turn", () => {
  const size = 4 << 20;
  for (const text of ["&".repeat(size), MANY]) assert.throws(() => parse(text), /more than 512 values/);
  for (const part of ["+", "%41", "%C3%A9", "=", "a"]) {
    const bytes = Buffer.from(`source_code=${part.repeat(Math.floor(size / part.length))}`);
    parseForm(bytes);
    const began = process.cpuUsage();
    parseForm(bytes);
    assert.ok(process.cpuUsage(began).user < 120_000, part);
  }
});
