import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { KEY_PLACEHOLDER } from "../../../dashboard/src/components/curl.ts";
import { snippets } from "../../../dashboard/src/pages/playground/snippets.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { report } from "../../support/verdict/reports.ts";
import { HANGS_MS } from "./browser.ts";

/** Characters that each language or the shell would interpret without escapes. */
const NASTY = `print('it''s "so" \\n \\\\') # $HOME \`id\` $(id) \${x} %s !! \tEND\nEND\n'END'\r\n\\u0041 </script> é 漢 😀 \u2028 \u0001\n`;

const PROGRAMS: Readonly<Record<string, readonly [program: string, ending: string]>> = {
  curl: ["sh", "sh"],
  TypeScript: [process.execPath, "ts"],
  Python: ["python3", "py"],
};

for (const [name, [program, ending]] of Object.entries(PROGRAMS)) {
  test(`the ${name} snippet submits the program of the playground and prints the result`, async (t) => {
    const { port, caPath, key, store } = await startHttp(t);
    const asked = { language: "python", code: NASTY, stdin: `${NASTY}\n`, profile: "judge" } as const;
    const text = snippets(`https://127.0.0.1:${port}`, asked).find((each) => each.name === name)?.text ?? "";
    assert.equal(text.split(KEY_PLACEHOLDER).length, 2);
    const directory = mkdtempSync(join(tmpdir(), "assay-snippet-"));
    t.after(() => rmSync(directory, { recursive: true }));
    const file = join(directory, `run.${ending}`);
    writeFileSync(file, text.replace(KEY_PLACEHOLDER, await key()));
    const running = run(program, file, caPath);
    const ran: object[] = [];
    while (ran.length === 0) {
      await runPending(store, ({ submission, program }) => {
        const { language, profile } = submission;
        ran.push({ language, profile, code: String(program.code), stdin: String(program.stdin) });
        return buildOutcome({ execute: report({ stdout: Buffer.from("as it should\n") }) });
      });
      await sleep(20);
    }
    assert.deepEqual(ran, [asked]);
    const said = await running;
    assert.match(said, /\bAC\b/);
    assert.match(said, /as it should/);
  });
}

for (const [name, [program, ending]] of Object.entries(PROGRAMS)) {
  test(`the ${name} snippet judges the program of the playground and prints the score`, async (t) => {
    const { port, caPath, key, store } = await startHttp(t);
    const tests = [
      { stdin: NASTY, expected: NASTY, points: 2.5 },
      { stdin: "x", expected: "y", points: 1 },
    ];
    const asked = {
      language: "python",
      code: NASTY,
      profile: "judge",
      checker: "exact",
      stop: "never",
      tests,
    } as const;
    const text = snippets(`https://127.0.0.1:${port}`, asked).find((each) => each.name === name)?.text ?? "";
    const directory = mkdtempSync(join(tmpdir(), "assay-snippet-"));
    t.after(() => rmSync(directory, { recursive: true }));
    const file = join(directory, `judge.${ending}`);
    writeFileSync(file, text.replace(KEY_PLACEHOLDER, await key()));
    const running = run(program, file, caPath);
    const ran: string[] = [];
    while (ran.length < tests.length) {
      await runPending(store, ({ program: { code, stdin } }) => {
        assert.equal(String(code), NASTY);
        ran.push(String(stdin));
        return buildOutcome({ execute: report({ stdout: stdin }) });
      });
      await sleep(20);
    }
    assert.deepEqual(ran, [NASTY, "x"]);
    assert.match(await running, /\bWA\b.*\b2\.5\b/s);
  });
}

test("a snippet omits an empty input", () => {
  const asked = { language: "c", code: "int main(void) { return 0; }", stdin: "", profile: "agent" } as const;
  for (const { text } of snippets("https://assay.example", asked)) assert.doesNotMatch(text, /stdin/);
});

/** Runs a snippet as a user who trusts the service's certificate. */
function run(program: string, file: string, caPath: string): Promise<string> {
  const { PATH } = process.env;
  const env = { PATH, CURL_CA_BUNDLE: caPath, NODE_EXTRA_CA_CERTS: caPath, SSL_CERT_FILE: caPath, LC_ALL: "C.UTF-8" };
  return new Promise((resolve, reject) => {
    execFile(program, [file], { env, timeout: HANGS_MS }, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}: ${stderr}`)) : resolve(stdout),
    );
  });
}
