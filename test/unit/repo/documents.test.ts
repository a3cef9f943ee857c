import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { codes, documents, prose, ROOT, read, rows, section } from "../../support/repo/documents.ts";
import { BOUND_BY, SANDBOX_BOUND_BY } from "./bounds.ts";

const ALL = documents();

test("every document that a newcomer expects exists", () => {
  for (const name of [
    "README",
    "ARCHITECTURE",
    "docs/operations",
    "docs/security",
    "SECURITY",
    "CONTRIBUTING",
    "GLOSSARY",
    "CHANGELOG",
  ]) {
    assert.ok(ALL.includes(`${name}.md`), `${name}.md is missing`);
  }
});

test("the two commands of README.md have a line each, to be copied", () => {
  const commands = [...read("README.md").matchAll(/^sudo \.\/assay (serve|test) +#/gm)].map(([, command]) => command);
  assert.deepEqual(commands.slice(0, 2), ["serve", "test"]);
});

/** Anchors of the headings, as GitHub makes them. */
function anchors(markdown: string): string[] {
  const headings = [...prose(markdown).matchAll(/^#{1,6} (.+)$/gm)].map(([, text = ""]) => text);
  return headings.map((text) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

for (const path of ALL) {
  test(`the links of ${path} are valid`, () => {
    const links = [...prose(read(path)).matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
    for (const link of links.filter((target) => !/^[a-z]+:/.test(target))) {
      const [file = "", fragment] = link.split("#");
      const target = file === "" ? path : join(dirname(path), file);
      assert.ok(existsSync(join(ROOT, target)), `${link}: there is no ${target}`);
      if (fragment === undefined) continue;
      assert.ok(anchors(read(target)).includes(fragment), `${link}: ${target} has no such heading`);
    }
  });
}

const MODULES = rows(section(read("ARCHITECTURE.md"), "Modules"));

test("the modules in ARCHITECTURE.md are the folders of src/", () => {
  const inSrc = readdirSync(join(ROOT, "src"), { withFileTypes: true });
  const modules = inSrc.map((entry) => `src/${entry.name}${entry.isDirectory() ? "/" : ""}`);
  assert.deepEqual(MODULES.flatMap(([names = ""]) => codes(names)).sort(), modules.sort());
});

test("the allowed imports in ARCHITECTURE.md are those of .dependency-cruiser.js", async () => {
  const { default: config } = await import(join(ROOT, ".dependency-cruiser.js"));
  for (const rule of config.forbidden) {
    const module = /^module-(\w+)$/.exec(rule.name)?.[1];
    const row = MODULES.find(([names = ""]) => names.includes(`src/${module}/`) || names.includes(`src/${module}.ts`));
    if (!module || !row) continue;
    const allowed = /may import only ([\w, ]*)\./.exec(rule.comment)?.[1] ?? "nothing";
    assert.equal(row[2], allowed, module);
  }
});

test("files named in documents exist", () => {
  const gone = ALL.flatMap((path) =>
    [...prose(read(path)).matchAll(/`((?:src|launcher|languages|image|setup|test|bench|deploy)\/[\w./-]+)`/g)]
      .map(([, name = ""]) => name)
      .filter(
        (name) =>
          !/\bNAME\b/.test(name) && !existsSync(join(ROOT, name)) && !existsSync(join(ROOT, dirname(path), name)),
      )
      .map((name) => `${path}: ${name}`),
  );
  assert.deepEqual(gone, []);
});

/** Beginnings of paths of any Debian machine, of a box, the API or the image. */
const KNOWN_ROOTS =
  /^\/(var\/lib\/assay|run\/|sys\/fs\/cgroup|proc|dev|etc|usr|bin|box|tmp$|home\/user|opt\/assay|api\/|judge0(\/|$)|dashboard(\/|$)|docs$|mcp$|openapi\.json$|run$|live$|ready$|metrics$|status$|x$|PATH$)/;

test("documents name no path of the author's machine", () => {
  const foreign = ALL.flatMap((path) =>
    [...read(path).matchAll(/(?<![\w.}/<…*:-])\/[A-Za-z][\w./-]*/g)]
      .map(([name]) => name)
      .filter((name) => !KNOWN_ROOTS.test(name.replace(/[./]$/, "")))
      .map((name) => `${path}: ${name}`),
  );
  assert.deepEqual(foreign, []);
});

test("CHANGELOG.md has sections by version, the unreleased first, and entries by kind", () => {
  const headings = read("CHANGELOG.md")
    .split("\n")
    .filter((line) => line.startsWith("#"));
  const [title, first, ...others] = headings;
  assert.equal(title, "# Changelog");
  assert.equal(first, "## [Unreleased]");
  for (const heading of others) {
    assert.match(
      heading,
      /^(## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d|### (Added|Changed|Deprecated|Removed|Fixed|Security))$/,
    );
  }
});

for (const [heading, tests] of [
  ["Bounds", BOUND_BY],
  ["Sandboxes", SANDBOX_BOUND_BY],
] as const)
  test(`each row in the section ${heading} of docs/security.md has tests that exist, and each test of a row has one`, () => {
    const bounds = rows(section(read("docs/security.md"), heading));
    assert.deepEqual(
      bounds.map(([object]) => object),
      Object.keys(tests),
    );
    for (const [object, files] of Object.entries(tests)) {
      assert.ok(files.length > 0, object);
      for (const file of files) assert.ok(existsSync(join(ROOT, file)), file);
    }
  });

for (const name of ["findings", "attack-surface"])
  test(`each row of launcher/${name}.tsv is whole, unique, and names tests that exist`, () => {
    const [header = "", ...lines] = read(`launcher/${name}.tsv`).replace(/\n$/, "").split("\n");
    const cells = lines.map((line) => line.split("\t"));
    assert.equal(new Set(cells.map(([first]) => first)).size, cells.length);
    for (const row of cells) {
      assert.equal(row.length, header.split("\t").length, row[0]);
      for (const file of row.at(-1)?.split(" ").filter(Boolean) ?? []) assert.ok(existsSync(join(ROOT, file)), file);
    }
  });
