import { availableParallelism } from "node:os";
import type { WorkerFlags } from "../src/cli/installed-languages.ts";
import { bareRuns } from "./bare.ts";
import { PLAIN } from "./plain.ts";
import { type BenchRow, timesRow } from "./row.ts";
import { timed } from "./service.ts";
import { startWhole } from "./whole.ts";

const TESTS = 100;
/** Uses about 10 ms of CPU time. */
const CODE = `#include <cstdint>
#include <iostream>
int main() {
  uint64_t x = 1;
  for (int i = 0; i < 5600000; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  std::cout << (x != 0) << "\\n";
}
`;

/**
 * Measures a judgement of 100 runs of a C++ program that takes 10 ms. The floor is the CPU time of 100 such runs without a box, divided by
 * the number of CPUs.
 */
export async function judgementRow({ image }: WorkerFlags, socket: string, runs: number): Promise<BenchRow> {
  const { cpp: plain } = PLAIN;
  if (!plain) throw new Error("no plain commands for C++");
  const program = { name: "cpp", source: "main.cpp", code: CODE, before: plain.compile, commands: [plain.execute] };
  const { cpp: bare } = await bareRuns(image, [program], TESTS);
  if (!bare) throw new Error("nothing was measured");
  const cpus = availableParallelism();
  const service = await startWhole(socket, cpus);
  try {
    const tests = Array.from({ length: TESTS }, () => ({ stdin: "", expected: "1\n" }));
    const times: number[] = [];
    for (let i = -3; i < runs; i++) {
      const ms = await timed(() => service.judge({ language: "cpp", code: CODE, tests, stop: "never" }));
      if (i >= 0) times.push(ms);
    }
    return timesRow("judgement_100x10ms", "ms", times, (bare.cpuMs * TESTS) / cpus);
  } finally {
    await service.stop();
  }
}
