import { installedLanguages, type WorkerFlags } from "../src/cli/installed-languages.ts";
import { listed } from "../src/languages/load.ts";
import { bareRuns } from "./bare.ts";
import { PLAIN } from "./plain.ts";
import { type BenchRow, quantile, timesRow } from "./row.ts";
import { timed } from "./service.ts";
import { startWhole } from "./whole.ts";

/**
 * Measures the smoke test of every language from POST to record. The floor is compiling and running it without a box in the same image.
 * The service is a real one with durable storage, over plain HTTP on loopback. It keeps the compiled program of the first submission.
 */
export async function languageRows(flags: WorkerFlags, socket: string, runs: number): Promise<BenchRow[]> {
  const languages = listed(installedLanguages());
  const programs = languages.map(({ name, source, smokeTest, compile, execute }) => {
    const own = [compile, execute].flatMap((step) => (step ? [step.command] : []));
    const plain = PLAIN[name];
    const commands = plain ? [...plain.compile, plain.execute] : own;
    return { name, source, code: smokeTest.code, before: [], commands };
  });
  const floors = await bareRuns(flags.image, programs, runs);
  const service = await startWhole(socket, 1);
  try {
    const rows: BenchRow[] = [];
    for (const { name, smokeTest } of languages) {
      const times: number[] = [];
      for (let i = -2; i < runs; i++) {
        const ms = await timed(() => service.submit({ language: name, code: smokeTest.code }));
        if (i >= 0) times.push(ms);
      }
      rows.push(timesRow(`hello_${name}`, "ms", times, quantile(floors[name]?.times ?? [], 0.5)));
    }
    return rows;
  } finally {
    await service.stop();
  }
}
