import { spawnSync } from "node:child_process";
import { askOperator } from "../../../src/cli/ask-operator.ts";

/** The samples of an exposition: `name{label="value"}` → value. */
export function samplesOf(text: string): Map<string, number> {
  const samples = text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, series = "", value] = /^(.+) (\S+)$/.exec(line) ?? [];
      return [series, Number(value)] as const;
    });
  return new Map(samples);
}

/** The current metrics of a service. */
export async function scrape(path: string): Promise<Map<string, number>> {
  return samplesOf(await askOperator({ path }, "/metrics"));
}

/** The sum over all series with this name and these labels. */
export function total(samples: ReadonlyMap<string, number>, name: string, labels: Record<string, string> = {}): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return [...samples]
    .filter(([series]) => series.split("{")[0] === name && wanted.every((one) => series.includes(one)))
    .reduce((sum, [, value]) => sum + value, 0);
}

/** The values of a label in all series whose name begins with `begin`. */
export function valuesOf(samples: ReadonlyMap<string, number>, label: string, begin = "assay_"): Set<string> {
  const pattern = new RegExp(`[{,]${label}="([^"]*)"`);
  const values = [...samples.keys()].filter((series) => series.startsWith(begin)).map((one) => pattern.exec(one)?.[1]);
  return new Set(values.filter((value) => value !== undefined));
}

/** Runs promtool, which `assay test` unpacks. @throws if it is missing, so that a test cannot pass without running. */
export function promtool(args: readonly string[], input = ""): { status: number | null; words: string } {
  const program = process.env.ASSAY_TEST_PROMTOOL;
  if (!program) throw new Error('ASSAY_TEST_PROMTOOL is not set: run the tests with "sudo ./assay test"');
  const { status, stdout, stderr, error } = spawnSync(program, args, { input, encoding: "utf8" });
  if (error) throw error;
  return { status, words: `${stdout}${stderr}` };
}
