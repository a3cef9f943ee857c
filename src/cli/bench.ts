import { Command, InvalidArgumentError, Option } from "commander";
import { languageRows } from "../../bench/languages.ts";
import { launcherRows } from "../../bench/launcher.ts";
import { type Row, table } from "../../bench/row.ts";
import { serviceRow } from "../../bench/service.ts";
import type { EngineFlags } from "./engine.ts";

interface BenchFlags extends EngineFlags {
  readonly json?: boolean;
  readonly runs: number;
  readonly launcherSocket: string;
}

/** `assay bench`: what the sandbox costs, as ratios to floors of the same run; bench/README.md explains the rows. */
export function benchCommand(): Command {
  return new Command("bench")
    .description("measure this machine: boxes and languages against bare runs, as ratios in one run")
    .option("--json", "an array of {name, unit, median, p99, floor, ratio}")
    .option("--runs <number>", "boxes per row; a tenth of it per language", wholeNumber, 300)
    .option("--data <directory>", "data directory")
    .addOption(new Option("--launcher <path>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--image <directory>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--instance <name>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--uid-base <number>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--launcher-socket <path>").hideHelp().makeOptionMandatory())
    .action(bench);
}

async function bench(flags: BenchFlags): Promise<void> {
  const rows: Row[] = [
    ...(await launcherRows(flags, flags.runs)),
    await serviceRow(flags, flags.launcherSocket, flags.runs),
    ...(await languageRows(flags, flags.launcherSocket, Math.max(3, Math.round(flags.runs / 10)))),
  ];
  process.stdout.write(flags.json ? `${JSON.stringify(rows, null, 2)}\n` : `${table(rows)}\n`);
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("must be a whole number above 0");
  return Number(text);
}
