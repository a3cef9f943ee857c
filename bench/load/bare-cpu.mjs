// bare.sh starts this inside the image, without a box. It starts python3 -I again and again, on every CPU at the same time. It reads
// {seconds, cores} as JSON from stdin, and prints the number of runs per second and the CPU time of one run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

const TICK_MS = 10;
const { seconds, cores } = JSON.parse(readFileSync(0, "utf8"));

/** @returns the CPU time of ended children. */
function childrenMs() {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

async function run() {
  const child = spawn("python3", ["-I", "main.py"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.resume();
  child.stderr.resume();
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`the bare run ended with ${code}`);
}

await run();
const [start, before] = [performance.now(), childrenMs()];
let runs = 0;
const loop = async () => {
  while (performance.now() < start + seconds * 1000) {
    await run();
    runs++;
  }
};
await Promise.all(Array.from({ length: cores }, loop));
const took = (performance.now() - start) / 1000;
process.stdout.write(JSON.stringify({ perSecond: runs / took, cpuMs: (childrenMs() - before) / runs }));
