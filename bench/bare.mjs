// bare.sh starts this inside the image, without a box. It compiles and runs programs with the commands of the plan. The current directory
// has a directory with the source of each program. It reads the plan as JSON from stdin, and prints the times in ms as JSON.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

const { runs, programs } = JSON.parse(readFileSync(0, "utf8"));
const measured = {};
for (const { name, before, commands } of programs) {
  for (const command of before) await run(command, name);
  const times = [];
  let cpuBefore = 0;
  for (let i = -1; i < runs; i++) {
    if (i === 0) cpuBefore = cpuOfChildren();
    const start = performance.now();
    for (const command of commands) await run(command, name);
    if (i >= 0) times.push(performance.now() - start);
  }
  measured[name] = { times, cpuMs: (cpuOfChildren() - cpuBefore) / runs };
}
process.stdout.write(JSON.stringify(measured));

async function run([program, ...args], cwd) {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let words = "";
  child.stdout.resume();
  child.stderr.setEncoding("utf8").on("data", (text) => {
    words += text;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${program} ${args.join(" ")}: ${words}`);
}

// The CPU time of ended children in ms: the fields cutime and cstime of proc_pid_stat(5), which are in hundredths of a second.
function cpuOfChildren() {
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[13]) + Number(fields[14])) * 10;
}
