import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { read } from "../../support/repo/documents.ts";
import { blocks } from "../../support/repo/transcripts.ts";
import { installation } from "../faults/real-serve.ts";

const TUTORIAL = read("docs/tutorials/a-computer-for-an-agent.md");
const PROMPT = "user@assay:~$ ";
/** What docs/sandboxes.md promises for a machine where Assay is set up. */
const MOST_MS = 120_000;

/** The command of the tutorial that begins with these words, without what this test does itself: it is root, and chooses the port. */
function command(begin: string): string[] {
  const lines = blocks(TUTORIAL).flatMap(({ text }) => text.split("\n"));
  const line = lines.find((one) => one.includes(begin));
  assert.ok(line, `the tutorial has no command with ${begin}`);
  return line
    .slice(line.indexOf(begin) + "./assay ".length)
    .split(/[ )]+/)
    .filter((word) => word !== "");
}

test("where Assay is set up, a shell answers within two minutes of the first command of the tutorial", {
  timeout: 600_000,
}, async (t) => {
  const [, sandboxes = ""] = /sudo ASSAY_SANDBOXES=(\d+) \.\/assay serve/.exec(TUTORIAL) ?? [];
  const { checkout, data, env, serve } = installation(t, { ASSAY_SANDBOXES: sandboxes }, { everyLanguage: true });
  const assay = join(checkout, "assay");
  const began = performance.now();
  const seconds = () => ((performance.now() - began) / 1_000).toFixed(1);

  assert.deepEqual(command("./assay serve"), ["serve"]);
  const { port } = await serve();
  t.diagnostic(`the service is ready after ${seconds()} s`);
  const { stdout: key } = await promisify(execFile)(assay, command("./assay keys create"), { env });
  t.diagnostic(`the key is there after ${seconds()} s`);

  const where = { ASSAY_URL: `https://127.0.0.1:${port}`, ASSAY_CA: join(data, "tls/ca.pem"), ASSAY_KEY: key.trim() };
  const words = [assay, ...command("./assay sandbox shell")].join(" ");
  // A shell needs a terminal, which script(1) makes.
  const shell = spawn("script", ["-qec", words, "/dev/null"], { env: { ...env, ...where, TERM: "xterm" } });
  let seen = "";
  let answered = Number.POSITIVE_INFINITY;
  let typed = 0;
  shell.stdout.on("data", (bytes: Buffer) => {
    seen += bytes;
    const prompts = seen.split(PROMPT).length - 1;
    if (prompts > 0 && typed === 0) shell.stdin.write("echo $((6 * 7))\r");
    if (prompts > 1 && typed === 1) {
      answered = performance.now() - began;
      shell.stdin.write("exit\r");
    }
    typed = Math.min(prompts, 2);
  });
  assert.equal(await new Promise<number>((resolve) => shell.once("close", resolve)), 0, seen);
  assert.match(seen, /\b42\r*\n/);
  t.diagnostic(`the shell has answered after ${(answered / 1_000).toFixed(1)} s`);
  assert.ok(answered < MOST_MS, `${answered} ms`);
});
