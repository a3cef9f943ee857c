import assert from "node:assert/strict";
import { test } from "node:test";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

const product = useProduct({ workers: 1 });

/** Prints a line for each way to start Node in which the command `node` differs from the interpreter itself. */
const PROGRAM = `const { spawnSync } = require("node:child_process");
const { writeFileSync } = require("node:fs");
const shows = \`
  let read;
  try { read = require("node:fs").readFileSync("/etc/hosts").length > 0; } catch (error) { read = error.code; }
  const { permission } = process;
  const may = permission && ["fs.read", "fs.write", "child", "worker"].map((scope) => permission.has(scope));
  console.log(JSON.stringify([process.execArgv, process.argv.slice(1), read, may]));\`;
const starts = \`
  const { spawnSync } = require("node:child_process");
  const { stdout, stderr, status } = spawnSync(process.execPath, ["-e", \${JSON.stringify(shows)}], { encoding: "utf8" });
  console.log(stdout, status);\`;
const thread = \`new (require("node:worker_threads").Worker)(\${JSON.stringify(shows)}, { eval: true });\`;
const imports = 'import { readFileSync } from "node:fs"; try { readFileSync("/etc/hosts"); } catch (error) { console.log(error.code); }';
writeFileSync("shows.js", shows);
writeFileSync("starts.js", starts);
writeFileSync("thread.js", thread);
writeFileSync("first.js", "console.log('first')");
const plain = { input: "", env: process.env };
const restricted = { ...plain, env: { ...process.env, NODE_OPTIONS: "--no-warnings --permission" } };
const all = [
  [["shows.js"], plain],
  [["shows.js", "--permission"], plain],
  [["--", "shows.js", "--permission"], plain],
  [["--permission", "shows.js"], plain],
  [["--permission", "shows.js", "word"], plain],
  [["--permission", "-e", shows], plain],
  [["--permission", "--eval", shows, "word"], plain],
  [["-e", shows, "--permission"], plain],
  [["-p", "1 + 1", "--permission"], plain],
  [["--permission", "-p", "1 + 1"], plain],
  [["--permission", "--input-type=module", "-e", imports], plain],
  [["--input-type", "module", "--permission", "-e", imports], plain],
  [["--permission"], { ...plain, input: shows }],
  [["--permission", "-"], { ...plain, input: shows }],
  [["-", "--permission"], { ...plain, input: shows }],
  [["--permission", "--check", "shows.js"], plain],
  [["--permission", "--allow-fs-read=/etc", "shows.js"], plain],
  [["--allow-fs-read", "/etc/hosts", "--permission", "-e", shows], plain],
  [["--allow-fs-read=/etc", "-e", shows], plain],
  [["-r", "./first.js", "--permission", "shows.js"], plain],
  [["--permission-audit", "-e", shows], plain],
  [["--permission", "--allow-worker", "thread.js"], plain],
  [["--permission", "--allow-worker", "-e", thread], plain],
  [["--permission", "--allow-child-process", "starts.js"], plain],
  [["--permission", "--allow-child-process", "-e", starts], plain],
  [["shows.js"], restricted],
  [["-e", shows], restricted],
];
for (const [args, options] of all) {
  const [mine, its] = ["node", "/opt/assay/node/node"].map((name) => {
    const { stdout, stderr, status } = spawnSync(name, args, { ...options, encoding: "utf8" });
    return { stdout, status, error: stderr.match(/^\\w*Error.*/m)?.[0] };
  });
  console.log(JSON.stringify({ args, mine, its }));
}
`;

test("the command node does the same as the interpreter, also if it restricts the program", async () => {
  const { result, output } = checked(await product().run("javascript", PROGRAM, { profile: "agent" }));
  assert.equal(result.verdict, "AC", output.stderr);
  const all = output.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(all.length, 27);
  for (const { args, mine, its } of all) assert.deepEqual(mine, its, args.join(" "));
});
