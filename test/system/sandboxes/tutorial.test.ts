import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { MAIN } from "../../support/cli/processes.ts";
import { useProduct } from "../../support/programs/product.ts";
import { read } from "../../support/repo/documents.ts";
import { blocks, outputPattern, shown } from "../../support/repo/transcripts.ts";

const TUTORIAL = read("docs/tutorials/a-computer-for-an-agent.md");
const product = useProduct({ sandboxes: 8 });

/** A directory with the `./assay` of the tutorial, the program of the agent, and a `sudo` for a test that may do everything already. */
function directory(t: TestContext): { readonly cwd: string; readonly env: NodeJS.ProcessEnv } {
  const { service, data, key } = product();
  const cwd = mkdtempSync(join(tmpdir(), "assay-tutorial-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  const program = (name: string, text: string) => writeFileSync(join(cwd, name), `#!/bin/sh\n${text}`, { mode: 0o755 });
  const assay = `exec ${process.execPath} ${MAIN} "$@"`;
  program("assay", `case $1 in keys) ${assay} --data ${data} ;; esac\n${assay}\n`);
  program("sudo", 'exec "$@"\n');
  program("node", `exec ${process.execPath} "$@"\n`);
  writeFileSync(join(cwd, "agent.mjs"), blocks(TUTORIAL).find(({ language }) => language === "js")?.text ?? "");
  const env = {
    PATH: `${cwd}:${process.env.PATH}`,
    HOME: cwd,
    TERM: "xterm",
    ASSAY_URL: `https://127.0.0.1:${service.port}`,
    ASSAY_CA: join(data, "tls", "server.pem"),
    ASSAY_KEY: key,
  };
  return { cwd, env };
}

test("each command of the tutorial prints what the tutorial says", async (t) => {
  const { cwd, env } = directory(t);
  const steps = shown(TUTORIAL);
  assert.ok(steps.length >= 6);
  // One shell for all, because later commands use variables of earlier ones. A line separates what each block prints.
  const mark = "-- end of a block --";
  const script = steps.map(({ commands }) => `${commands}\necho '${mark}'\n`).join("");
  // A person sees both streams as one.
  writeFileSync(join(cwd, "commands"), `exec 2>&1\n${script}`);
  // Without the key that the first command makes.
  const { ASSAY_KEY: _, ...found } = env;
  const output = await new Promise<string>((resolve) => {
    const shell = execFile("bash", ["commands"], { cwd, env: found }, (_error, stdout) => resolve(stdout));
    shell.stdin?.end();
  });
  const printed = output.split(`${mark}\n`);
  assert.equal(printed.length, steps.length + 1, output);
  for (const [at, { commands, output: expected }] of steps.entries())
    assert.match(printed[at] ?? "", outputPattern(expected), commands);
});

test("the shell of the tutorial answers as the tutorial says", async (t) => {
  const { cwd, env } = directory(t);
  const all = blocks(TUTORIAL);
  const at = all.findIndex(({ text }) => text === "./assay sandbox shell\n");
  const PROMPT = "user@assay:~$ ";
  // Each part begins with what a person types at the prompt, and goes on with what the shell prints until the next one.
  const typed = (all[at + 1]?.text ?? "").split(PROMPT).slice(1);
  assert.deepEqual([typed.length > 2, typed.at(-1)], [true, "exit\n"]);
  // A shell needs a terminal, which script(1) makes.
  const shell = spawn("script", ["-qec", all[at]?.text.trim() ?? "", join(cwd, "log")], { cwd, env });
  let seen = "";
  let sent = 0;
  shell.stdout.on("data", (text: Buffer) => {
    seen += text;
    const prompts = seen.split(PROMPT).length - 1;
    for (; sent < Math.min(prompts, typed.length); sent++) shell.stdin.write(`${typed[sent]?.split("\n")[0]}\r`);
  });
  assert.equal(await new Promise<number>((resolve) => shell.on("close", resolve)), 0, seen);
  const plain = stripVTControlCharacters(seen).replaceAll("\r", "");
  for (const part of typed.slice(0, -1)) assert.ok(plain.includes(`${PROMPT}${part}`), `${part}\n${plain}`);
});
