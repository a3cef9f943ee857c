import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

const SCRIPT = join(import.meta.dirname, "../../../docs/sandbox.sh");
const OUTPUT = 'one\ntwo\\n"three"\t\u0001\n';

/** Whether this machine has a program. */
const has = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

/** A directory with a `curl` that responds as the service does: to a request for an execution with the record. */
function withCurl(t: TestContext, record: object): string {
  const directory = mkdtempSync(join(tmpdir(), "curl-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, "record"), JSON.stringify(record));
  const text = `#!/bin/sh\ncase $* in */executions*) cat ${directory}/record ;; *lifetime_secs*) echo '{"id":"x"}' ;; esac\n`;
  writeFileSync(join(directory, "curl"), text, { mode: 0o755 });
  return directory;
}

const programs = ["jq", ...(has("dash") ? ["dash"] : [])];
const missing = programs.find((program) => !has(program));

test("docs/sandbox.sh prints any output as it is, and exits as the command did", {
  skip: missing && `no ${missing}`,
}, (t) => {
  const record = {
    status: "completed",
    number: 1,
    output: { stdout: OUTPUT, stderr: "err\n" },
    result: { exit_code: 7, signal: null },
  };
  const env = { ...process.env, ASSAY_URL: "http://x", ASSAY_KEY: "k" };
  const directory = withCurl(t, record);
  for (const shell of has("dash") ? ["sh", "dash"] : ["sh"]) {
    const { status, stdout, stderr } = spawnSync(shell, [SCRIPT, SCRIPT, "true"], {
      env: { ...env, PATH: `${directory}:${process.env.PATH}` },
      encoding: "utf8",
    });
    assert.deepEqual([shell, status, stdout, stderr], [shell, 7, OUTPUT, "err\n"]);
  }
  execFileSync("sh", ["-n", SCRIPT]);
});
