// Runs inside the image, without a box: compiles and runs the sources in the current directory, one directory for each
// language, with the commands of the plan. Reads the plan as JSON from stdin, and prints the times in ms as JSON.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

const { runs, languages } = JSON.parse(readFileSync(0, "utf8"));
const times = {};
for (const { name, commands } of languages) {
  times[name] = [];
  for (let i = -1; i < runs; i++) {
    const start = performance.now();
    for (const [program, ...args] of commands) await run(program, args, name);
    if (i >= 0) times[name].push(performance.now() - start);
  }
}
process.stdout.write(JSON.stringify(times));

async function run(program, args, cwd) {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let words = "";
  child.stdout.resume();
  child.stderr.setEncoding("utf8").on("data", (text) => {
    words += text;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${program} ${args.join(" ")}: ${words}`);
}
