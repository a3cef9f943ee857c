import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CORPUS_DIRECTORY, corpus } from "./corpus.ts";

const SECONDS = 10;
/** A machine that is busy still does more; a fuzzer that does nothing must not pass. */
const EXECUTIONS_AT_LEAST = 5_000;

test("the kept corpus is what valid and nearly valid steps look like today", () => {
  const expected = corpus();
  const remedy = "write it anew with: node test/launcher/corpus.ts";
  assert.deepEqual(readdirSync(CORPUS_DIRECTORY).sort(), [...expected.keys()].sort(), remedy);
  for (const [name, content] of expected) {
    assert.deepEqual(readFileSync(new URL(name, CORPUS_DIRECTORY)), content, `${name}: ${remedy}`);
  }
});

test(`no input in ${SECONDS} s breaks a promise of the protocol's reader or writer`, (t) => {
  const directory = mkdtempSync(join(tmpdir(), "assay-fuzz-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const build = new URL("../../launcher/fuzz/build", import.meta.url).pathname;
  execFileSync("/bin/sh", [build, directory], { stdio: ["ignore", "inherit", "inherit"] });
  const run = spawnSync(join(directory, "fuzz"), [String(SECONDS), CORPUS_DIRECTORY.pathname], {
    cwd: directory,
    encoding: "utf8",
    timeout: SECONDS * 10_000,
  });
  const failed = readdirSync(directory).includes("failed-input")
    ? `\nthe input, in base64: ${readFileSync(join(directory, "failed-input")).toString("base64")}`
    : "";
  assert.equal(run.status, 0, `${run.error ?? ""}${run.stderr}${failed}`);
  const { executions, corpus: started, inputs, edges } = JSON.parse(run.stdout);
  t.diagnostic(`${executions} executions, ${inputs} inputs, ${edges} edges`);
  assert.equal(started, corpus().size);
  assert.ok(executions >= EXECUTIONS_AT_LEAST, `only ${executions} executions`);
  assert.ok(inputs > started && edges > 100, "it finds its way into the code");
});
