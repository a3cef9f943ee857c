import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { CORPUS, CORPUS_DIRECTORY, isFound } from "./corpus.ts";

const FUZZ = new URL("../../../launcher/fuzz/", import.meta.url);
const SECONDS = 3;
/** Even a busy machine makes more executions than this, so a fuzzer that makes fewer does nothing. */
const EXECUTIONS_AT_LEAST = 200;
const KEPT_BYTES_MOST = 500_000;

const targets = Object.keys(CORPUS);
const committed = (target: string) => readdirSync(new URL(`${target}/`, CORPUS_DIRECTORY));

test("each target has a corpus, and each corpus has a target", () => {
  const sources = readdirSync(FUZZ).filter((name) => name.endsWith(".c") && name !== "driver.c");
  assert.deepEqual(sources.map((name) => name.slice(0, -2)).sort(), targets);
  assert.deepEqual(readdirSync(CORPUS_DIRECTORY).sort(), targets);
});

test("the committed corpora are current and small", () => {
  const remedy = "update it with: node test/system/launcher/corpus.ts";
  let bytes = 0;
  for (const [target, expected] of Object.entries(CORPUS)) {
    const written = committed(target).filter((name) => !isFound(name));
    assert.deepEqual(written.sort(), [...expected.keys()].sort(), `${target}: ${remedy}`);
    for (const [name, content] of expected) {
      const file = new URL(`${target}/${name}`, CORPUS_DIRECTORY);
      assert.deepEqual(readFileSync(file), content, `${target}/${name}: ${remedy}`);
    }
    for (const name of committed(target)) bytes += statSync(new URL(`${target}/${name}`, CORPUS_DIRECTORY)).size;
  }
  assert.ok(bytes < KEPT_BYTES_MOST, `${bytes} bytes`);
});

describe("no committed or derived input breaks an invariant of a reader", () => {
  const directory = mkdtempSync(join(tmpdir(), "assay-fuzz-"));
  before(() => {
    execFileSync("/bin/sh", [new URL("build", FUZZ).pathname, directory], { stdio: ["ignore", "inherit", "inherit"] });
  });
  after(() => rmSync(directory, { recursive: true }));

  for (const target of targets) {
    test(`${target}.c, for ${SECONDS} s`, (t) => {
      const cwd = join(directory, target);
      mkdirSync(cwd);
      const corpus = new URL(`${target}/`, CORPUS_DIRECTORY).pathname;
      const run = spawnSync(join(directory, `fuzz-${target}`), [String(SECONDS), corpus], { cwd, encoding: "utf8" });
      const input = join(cwd, "failed-input");
      const failed = existsSync(input) ? `\nthe input, in base64: ${readFileSync(input).toString("base64")}` : "";
      assert.equal(run.status, 0, `${run.error ?? ""}${run.stderr}${failed}`);
      const { executions, corpus: started, inputs, edges } = JSON.parse(run.stdout);
      t.diagnostic(`${executions} executions, ${inputs} inputs, ${edges} edges`);
      assert.equal(started, committed(target).length);
      assert.ok(executions >= EXECUTIONS_AT_LEAST, `only ${executions} executions`);
      assert.ok(edges > 100, `only ${edges} edges`);
    });
  }
});
