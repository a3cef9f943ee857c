import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { buildDashboard } from "./built.ts";

/** Compressed as the service sends it to every browser of today. */
const BUDGET_BYTES = 200_000;

interface Chunk {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
}

const directory = buildDashboard();
const manifest: Readonly<Record<string, Chunk>> = JSON.parse(text(".vite/manifest.json"));
const files = readdirSync(directory, { recursive: true, encoding: "utf8" });

function text(path: string): string {
  return readFileSync(join(directory, path), "utf8");
}

/** Files that the browser must load before it displays this chunk. */
function loadedFor(name: string, found = new Set<string>()): ReadonlySet<string> {
  const chunk = manifest[name];
  assert.ok(chunk, `the build has no ${name}`);
  if (found.has(chunk.file)) return found;
  for (const file of [chunk.file, ...(chunk.css ?? [])]) found.add(file);
  for (const each of chunk.imports ?? []) loadedFor(each, found);
  return found;
}

for (const page of Object.keys(manifest).flatMap((name) => /^src\/(.*-page)\.tsx$/.exec(name)?.[1] ?? [])) {
  test(`${page} loads within the budget, without charts and editor`, () => {
    const needed = new Set([...loadedFor("index.html"), ...loadedFor(`src/${page}.tsx`)]);
    const sizes = ["index.html", ...needed].map((file) => readFileSync(join(directory, `${file}.br`)).length);
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(bytes < BUDGET_BYTES, `${bytes} of ${BUDGET_BYTES} bytes`);
    assert.ok(!needed.has(manifest["src/pages/overview/charts.tsx"]?.file ?? ""), "charts");
    assert.deepEqual(
      [...needed].filter((file) => /codemirror|code-mirror/.test(file)),
      [],
    );
  });
}

test("every text file also exists compressed, with the same content", () => {
  const texts = files.filter((file) => /\.(js|css|html)$/.test(file) && file !== "scheme.js");
  assert.ok(texts.length > 20);
  for (const file of texts) {
    const plain = readFileSync(join(directory, file));
    assert.ok(plain.equals(brotliDecompressSync(readFileSync(join(directory, `${file}.br`)))), file);
    assert.ok(plain.equals(gunzipSync(readFileSync(join(directory, `${file}.gz`)))), file);
  }
});

test("the page has no inline script or style, and loads only files of the service", () => {
  const page = text("index.html");
  assert.doesNotMatch(page, /<style|\sstyle=|\son\w+=/);
  for (const [, attributes] of page.matchAll(/<script([^>]*)>/g)) assert.match(attributes ?? "", /\ssrc="/);
  const links = [...page.matchAll(/\s(?:src|href)="([^"]+)"/g)].map(([, link = ""]) => link);
  assert.ok(links.length >= 4);
  for (const link of links)
    assert.match(link, /^\/(dashboard\/(assets\/[\w-]+\.(js|css)|scheme\.js)|docs\/icon\.svg)$/);
  for (const style of files.filter((file) => file.endsWith(".css"))) {
    assert.doesNotMatch(text(style), /url\(|@import/, style);
  }
});

test("every used Mantine component has its styles", () => {
  const classes = (all: string) => new Set(all.match(/\bm_[0-9a-f]{6,8}\b/g));
  const styled = classes(readFileSync(new URL(import.meta.resolve("@mantine/core/styles.css")), "utf8"));
  const read = (ending: string) =>
    files
      .filter((file) => file.endsWith(ending))
      .map(text)
      .join("\n");
  const [used, there] = [classes(read(".js")), classes(read(".css"))];
  assert.ok(used.size > 50);
  const missing = [...used].filter((name) => styled.has(name) && !there.has(name));
  assert.deepEqual(missing, [], "their files belong into dashboard/src/mantine.css");
});
