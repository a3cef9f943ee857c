import assert from "node:assert/strict";
import { test } from "node:test";
import { GIVEAWAYS, giveaways, hashComments, sentences, slashComments, strings, texts, titles } from "./dialect.ts";

test("documents, comments, titles of tests and strings of the user interface are in plain English", () => {
  const found = texts().flatMap(giveaways);
  assert.equal(found.length, 0, `\n${found.join("\n")}`);
});

for (const { pattern, example } of GIVEAWAYS) {
  test(`finds "${example[0]}" and accepts "${example[1]}"`, () => {
    assert.match(example[0], pattern);
    assert.deepEqual(giveaways({ from: "example", text: example[1] }), []);
  });
}

test("reads paragraphs, list items and cells, and no code", () => {
  const markdown = "# Head\n\nOne\nline.\n\n- item `nobody`\n\n| a | b |\n|---|---|\n\n```\nnobody\n```\n";
  const found = sentences("x.md", markdown).map(({ text }) => text);
  for (const text of ["Head", "One line.", "item `…`", "a", "b"]) assert.ok(found.includes(text), text);
  assert.ok(!found.some((text) => text.includes("nobody")));
});

test("reads comments, and no code", () => {
  const typescript = '/** One\n * two `x`. */\nconst url = "https://x"; // three\n// four\n// five\n';
  assert.deepEqual(slashComments(typescript), ["One two `…`.", "three four five"]);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: shell, not a template
  assert.deepEqual(hashComments("#!/bin/sh\n# one\n# two\nx=${y#a} # no\n  # three\n"), ["one two", "three"]);
});

test("reads titles of tests and of groups", () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a template in the source that is read
  const source = 'test("one", f); t.test(`two ${x}`, f); describe("three", f); test.skip("four", f);';
  assert.deepEqual(titles(source), ["one", "two …", "three", "four"]);
});

test("reads strings and text between tags, and no comments", () => {
  const source = '/** some body */\nconst x = "sent to all";\nreturn <p title="a b">It was\n sent {x}</p>;';
  const found = strings(source);
  for (const text of ["sent to all", "a b", "It was sent"]) assert.ok(found.includes(text), text);
  assert.ok(!found.includes("some body"));
});
