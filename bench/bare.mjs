// Runs inside the image, without a box: compiles and runs the sources in the current directory, one directory for each
// program, with the commands of the plan. Reads the plan as JSON from stdin, and prints the times in ms as JSON.
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

// cutime and cstime of proc_pid_stat(5), in hundredths of a second.
function cpuOfChildren() {
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[13]) + Number(fields[14])) * 10;
}
