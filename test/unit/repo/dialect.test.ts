import assert from "node:assert/strict";
import { test } from "node:test";
import { GIVEAWAYS, giveaways, ROOMS, sentences, strings, texts, titles } from "./dialect.ts";

test("documents, titles of tests and strings of the user interface are in plain English", () => {
  const found = texts(ROOMS).flatMap(giveaways);
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

test("reads generated parts only if asked", () => {
  const markdown = "<!-- generated: x -->\n\nnobody\n\n<!-- end -->\n";
  assert.ok(!sentences("x.md", markdown).some(({ text }) => text.includes("nobody")));
  assert.ok(sentences("x.md", markdown, true).some(({ text }) => text.includes("nobody")));
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
