import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import type { WorkerFlags } from "../src/cli/installed-languages.ts";
import { DATA } from "../src/cli/with-store.ts";
import { echoRows } from "./echo.ts";
import { endTogether } from "./end-together.ts";
import { floodTable, measureFloods } from "./floods.ts";
import { judgementRow } from "./judgement.ts";
import { languageRows } from "./languages.ts";
import { launcherRows } from "./launcher.ts";
import { type LoadMix, MIXES } from "./load/mixes.ts";
import { wholeTable } from "./load/tables.ts";
import { measureWhole } from "./load/whole.ts";
import { peerTable } from "./peers/measure.ts";
import { measurePeers } from "./peers/peers.ts";
import { type BenchRow, rowTable } from "./row.ts";
import { measureSandboxes, sandboxTable } from "./sandboxes.ts";
import { serviceRow } from "./service.ts";

interface BenchFlags extends WorkerFlags {
  readonly json?: boolean;
  readonly runs: number;
  readonly launcherSocket: string;
}

/** `assay bench`: the cost of the sandbox, as ratios to floors that are measured in the same run; bench/README.md explains the rows. */
export function benchCommand(): Command {
  return new Command("bench")
    .enablePositionalOptions()
    .description(
      "Measure boxes and languages on this machine. Each figure is a ratio to the same work without a box, measured in turn. bench/README.md explains the rows.",
    )
    .option("--json", "print an array of {name, unit, median, p99, floor, ratio}")
    .option("--runs <number>", "boxes per row; a tenth of that per language, and judgements", wholeNumber, 300)
    .option(...DATA)
    .addOption(new Option("--launcher <path>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--image <directory>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--instance <name>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--uid-base <number>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--launcher-socket <path>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--sandboxes <number>").argParser(wholeNumber).hideHelp().default(0))
    .addOption(new Option("--sandbox-memory <bytes>").argParser(Number).hideHelp().default(0))
    .addOption(new Option("--egress-directory <directory>").hideHelp())
    .hook("preAction", endTogether)
    .action(bench)
    .addCommand(serviceCommand())
    .addCommand(peersCommand())
    .addCommand(floodsCommand())
    .addCommand(echoCommand())
    .addCommand(sandboxesCommand());
}

interface PeersFlags extends BenchFlags {
  readonly data: string;
  readonly seconds: number;
  readonly clients: readonly number[];
  readonly programs?: string;
}

/** `assay bench peers`: programs of all languages on this service and on go-judge; bench/README.md explains the rows. */
function peersCommand(): Command {
  return new Command("peers")
    .description(
      "Measure a service and go-judge in turn, with programs of the same image. The command builds go-judge with the machine's Go.",
    )
    .option("--json", "print an array of {program, clients, ours, peer, ratio}")
    .option("--seconds <number>", "duration of each round; each side has two", wholeNumber, 2)
    .option("--clients <numbers>", "numbers of clients", wholeNumbers, [1, 4, 16])
    .option("--programs <names>", "only programs whose names begin with one of these, such as hello_,mid_python")
    .action(async (_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<PeersFlags>();
      const tell = (words: string) => process.stderr.write(`${words}\n`);
      const programs = flags.programs?.split(",") ?? [];
      const [built, workers] = [join(flags.data, "peers"), availableParallelism()];
      const rows = await measurePeers({ ...flags, built, workers, programs, tell });
      process.stdout.write(flags.json ? `${JSON.stringify(rows, null, 2)}\n` : `${peerTable(rows)}\n`);
    });
}

/** `assay bench floods`: the latency of one account during floods of another account; bench/README.md explains the rows. */
function floodsCommand(): Command {
  return new Command("floods")
    .description("Measure the latency of one account, alone and next to floods of another account, in turn.")
    .option("--json", "print an array of {flood, alone, beside, ratio}")
    .action(async (_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<BenchFlags>();
      const tell = (words: string) => process.stderr.write(`${words}\n`);
      const rows = await measureFloods(flags, tell);
      process.stdout.write(flags.json ? `${JSON.stringify(rows, null, 2)}\n` : `${floodTable(rows)}\n`);
    });
}

interface EchoCommandFlags extends BenchFlags {
  readonly database?: string;
  readonly rounds: number;
}

/** `assay bench echo`: how long a line takes to a running program and back; bench/README.md explains the rows. */
function echoCommand(): Command {
  return new Command("echo")
    .description("Measure the time from a client's line of input until the client has the same line from the program.")
    .option("--json", "print an array of {name, unit, median, p99, floor, ratio}")
    .option("--database <url>", "PostgreSQL server; the command creates and drops a database on it (default: SQLite)")
    .option("--rounds <number>", "sessions of each row, with 100 echoes each", wholeNumber, 10)
    .action(async (_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<EchoCommandFlags>();
      const rows = await echoRows(flags);
      process.stdout.write(flags.json ? `${JSON.stringify(rows, null, 2)}\n` : `${rowTable(rows)}\n`);
    });
}

interface SandboxesFlags extends BenchFlags {
  readonly data: string;
  readonly image: string;
  readonly database?: string;
  readonly only: readonly string[];
  readonly quick?: boolean;
  readonly idle?: number;
  readonly sandboxes: number;
  readonly sandboxMemory: number;
  readonly egressDirectory?: string;
}

/** `assay bench sandboxes`: what a client of sandboxes waits for, next to the targets; bench/README.md explains the rows. */
function sandboxesCommand(): Command {
  return new Command("sandboxes")
    .description(
      "Measure sandboxes over HTTPS, with durable storage: latency, throughput, idle sandboxes, and what they leave in the kernel, next to the targets.",
    )
    .option("--json", "print an array of {name, unit, value, p99, target, reached, floor, note}")
    .option(
      "--only <names>",
      "only rows of the measurements that begin with one of these, such as execute,leaks",
      names,
      [],
    )
    .option("--quick", "few measurements of each row, to see whether all of them work")
    .option("--idle <number>", "idle sandboxes at once (default: 2,000, or what the machine admits)", wholeNumber)
    .option("--database <url>", "PostgreSQL server; the command creates and drops a database on it (default: SQLite)")
    .action(async (_: unknown, command: Command) => {
      const {
        sandboxes,
        sandboxMemory: memoryBytes,
        quick = false,
        ...flags
      } = command.optsWithGlobals<SandboxesFlags>();
      const tell = (words: string) => process.stderr.write(`${words}\n`);
      const built = join(flags.data, "peers");
      const rows = await measureSandboxes({ ...flags, quick, built, capacity: { sandboxes, memoryBytes }, tell });
      process.stdout.write(flags.json ? `${JSON.stringify(rows, null, 2)}\n` : `${sandboxTable(rows)}\n`);
    });
}

interface ServiceFlags extends BenchFlags {
  readonly database?: string;
  readonly seconds: number;
  readonly keys: readonly number[];
  readonly mixes: readonly LoadMix[];
  readonly records: readonly number[];
  readonly services: readonly number[];
}

/** `assay bench service`: throughput and resource use of a service under load; bench/README.md explains the rows. */
function serviceCommand(): Command {
  return new Command("service")
    .description(
      "Measure a whole service over HTTPS under load: throughput, latency, and the CPU time and memory of each part. bench/CAPACITY.md derives sizes from it.",
    )
    .option("--json", "print all measurements")
    .option("--database <url>", "PostgreSQL server; the command creates and drops databases on it (default: SQLite)")
    .option("--seconds <number>", "duration of each load", wholeNumber, 5)
    .option("--keys <numbers>", "numbers of submitting keys", wholeNumbers, [10, 100])
    .option("--mixes <names>", "loads to run: wait, poll, submit; wait is always included", mixList, [...MIXES])
    .option("--records <numbers>", "numbers of records stored before the load", wholeNumbers, [0, 1_000_000])
    .option("--services <numbers>", "numbers of services that share the PostgreSQL database", wholeNumbers, [2, 4])
    .action(async (_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ServiceFlags>();
      const tell = (words: string) => process.stderr.write(`${words}\n`);
      const whole = await measureWhole({ ...flags, tell });
      process.stdout.write(flags.json ? `${JSON.stringify(whole, null, 2)}\n` : `${wholeTable(whole)}\n`);
    });
}

async function bench(flags: BenchFlags): Promise<void> {
  const rows: BenchRow[] = [
    ...(await launcherRows(flags, flags.runs)),
    await serviceRow(flags, flags.launcherSocket, flags.runs),
    ...(await languageRows(flags, flags.launcherSocket, Math.max(3, Math.round(flags.runs / 10)))),
    await judgementRow(flags, flags.launcherSocket, Math.max(3, Math.round(flags.runs / 10))),
  ];
  process.stdout.write(flags.json ? `${JSON.stringify(rows, null, 2)}\n` : `${rowTable(rows)}\n`);
}

function mixList(text: string): LoadMix[] {
  return text.split(",").map((name) => {
    const mix = MIXES.find((one) => one === name);
    if (!mix) throw new InvalidArgumentError(`must be some of ${MIXES.join(", ")}`);
    return mix;
  });
}

function names(text: string): string[] {
  return text.split(",");
}

function wholeNumbers(text: string): number[] {
  if (!/^\d{1,8}(,\d{1,8})*$/.test(text)) throw new InvalidArgumentError("must be whole numbers, separated by commas");
  return text.split(",").map(Number);
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("must be a whole number above 0");
  return Number(text);
}
