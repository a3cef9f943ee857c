import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../../dashboard/src/", import.meta.url).pathname;

const FILES = globSync("**/*.tsx", { cwd: root }).map((name) => ({ name, text: readFileSync(root + name, "utf8") }));

test("an empty list names the next step with a link or a button", () => {
  const empty = FILES.flatMap(({ name, text }) =>
    [...text.matchAll(/<EmptyState\b(?:[^>]*\/>|[\s\S]*?<\/EmptyState>)/g)].map(([element]) => ({ name, element })),
  );
  assert.ok(empty.length >= 15, `only ${empty.length} were found`);
  // A list with the text of its page.
  const without = empty.filter(({ element }) => !/<Link|<a |<Button|>\{children\}</.test(element));
  assert.deepEqual(without, []);
});

test("the button of a dialog names its action and the object", () => {
  const labels = FILES.flatMap(({ name, text }) =>
    [...text.matchAll(/\bsubmit=(?:"([^"]*)"|\{`([^`]*)`\})/g)].map(
      ([, plain, pattern]) => `${name}: ${plain ?? pattern}`,
    ),
  );
  assert.ok(labels.length >= 25, `only ${labels.length} were found`);
  assert.deepEqual(
    labels.filter((label) => !/: \S+ \S+/.test(label)),
    [],
  );
});

test("no button or title says only yes, no or OK", () => {
  const said = FILES.flatMap(({ name, text }) =>
    [...text.matchAll(/>\s*(OK|Okay|Yes|No|Make it|Submit|Confirm|Proceed)\s*</gi)].map(
      ([, word]) => `${name}: ${word}`,
    ),
  );
  assert.deepEqual(said, []);
});
