import assert from "node:assert/strict";
import { test } from "node:test";
import { read } from "../../support/repo/documents.ts";
import { files } from "./dialect.ts";

const MOST_LINES = 300;

test("a source file has at most 300 lines, or a reason at its top", () => {
  const sources = files(".").filter((path) => /\.(?:tsx?|mjs|c|h|def|css|sh)$/.test(path));
  assert.ok(sources.length > 500);
  const long = sources.filter((path) => read(path).trimEnd().split("\n").length > MOST_LINES);
  const top = (path: string) => read(path).split("\n").slice(0, 20).join("\n");
  assert.deepEqual(
    long.filter((path) => !/Over 300 lines: \w/.test(top(path))),
    [],
  );
});
