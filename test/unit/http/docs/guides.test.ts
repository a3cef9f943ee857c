import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { guidePage, searchPage } from "../../../../src/http/docs/guide-page.ts";
import { readGuides, search } from "../../../../src/http/docs/guides.ts";

const guides = await readGuides();

test("every document in docs/ is a guide, except for the list of them", () => {
  const all = readdirSync(new URL("../../../../docs/", import.meta.url), { recursive: true, encoding: "utf8" });
  const files = all.filter((name) => name.endsWith(".md") && name !== "README.md");
  assert.deepEqual(guides.map(({ path }) => `${path.slice("/docs/".length)}.md`).sort(), files.sort());
});

test("a link in a document of a folder leads to the document beside it and to those above", () => {
  const [tutorial] = guides.filter(({ path }) => path.startsWith("/docs/tutorials/"));
  assert.match(tutorial?.html.text ?? "", /href="\/docs\/judging(#[a-z-]+)?"/);
});

for (const guide of guides) {
  test(`${guide.path}: every link leads to a heading, and no markup of Markdown is left`, () => {
    const page = guidePage(guides, guide);
    const ids = (text: string) => [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    for (const [, href = ""] of page.matchAll(/ href="([^"]+)"/g)) {
      if (/^https:|^\/docs\/(icon|page)|^\/docs$/.test(href)) continue;
      const [path, anchor] = href.split("#");
      const target = path === "" ? guide : guides.find((other) => other.path === path);
      assert.ok(target, `${href} is no guide`);
      if (anchor) assert.ok(["main", ...ids(target.html.text)].includes(anchor), `${href} is no heading`);
    }
    assert.doesNotMatch(guide.html.text, /<!--|\]\(|^\|/m);
  });
}

test("search finds the sections with every word, those with a word in the title first", () => {
  const [first] = search(guides, "Idempotency key");
  assert.ok(first);
  const found = search(guides, "queue full");
  assert.ok(found.length > 1);
  assert.ok(found.some(({ href }) => href === "/docs/api#errors"));
  assert.match(found.map(({ excerpt }) => excerpt.text).join(""), /<mark>(queue|full)<\/mark>/i);
  assert.deepEqual(search(guides, "queue xyzzy"), []);
  assert.deepEqual(search(guides, "   "), []);
});

test("search treats the query as text", () => {
  assert.doesNotThrow(() => search(guides, "( [a- \\"));
  const page = searchPage(guides, '"><script>', search(guides, '"><script>'));
  assert.doesNotMatch(page, /<script/);
  assert.ok(search(guides, "e".repeat(10_000)).length === 0);
});
