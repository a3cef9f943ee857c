import { type Command, InvalidArgumentError, Option } from "commander";
import { ConfigError } from "../config.ts";
import { Faults, UnavailableError } from "../problems/faults.ts";
import { PackageError } from "../problems/files.ts";
import { openImport, type PackageRuns } from "../problems/import.ts";
import { makeTests } from "../problems/makers.ts";
import { measureTimeLimit } from "../problems/measure.ts";
import { readProblem } from "../problems/package.ts";
import { readPackage } from "../problems/read.ts";
import { Slot } from "../sandbox/slot.ts";
import type { Store } from "../store/store.ts";
import { LocalJudge } from "../worker/judge-locally.ts";
import { answer, sayStep, table } from "./answer.ts";
import { readImport, writeImport } from "./import-stream.ts";
import { installedLanguages } from "./installed-languages.ts";
import { wholeNumber } from "./option-values.ts";
import { ACTOR, commandOnStore, type StoreCommandOptions, withStore } from "./with-store.ts";

interface ImportFlags extends StoreCommandOptions {
  readonly account: string;
  readonly name?: string;
  readonly timeLimit?: number;
  readonly allowFaults?: boolean;
  /** Whether the package comes over standard input, from the process that reads the files of the operator (setup/command-admin.sh). */
  readonly packed?: boolean;
  /** Whether the command only finds out if the import needs a launcher, in which case the exit code is NEEDS_LAUNCHER. */
  readonly probe?: boolean;
  readonly launcherSocket?: string;
}

/** The exit code of `--probe` for a package whose time limit must be measured, or whose programs make tests. */
const NEEDS_LAUNCHER = 3;

/** How often an import is tried. It is repeated if a purge deletes the version before the problem refers to it. */
const MAX_TRIES = 3;

/** Adds the commands of `assay problems` that use the store. Options before the name of the command are merged with those after it. */
export function addStored(problems: Command): void {
  commandOnStore(
    problems,
    "import",
    "Store a problem package of up to 1 GiB as the current version of the problem with that name. If the content is that of the current version, nothing changes. If neither the package nor the command has a time limit, the accepted submissions of the package run in sandboxes first, and the limit follows from their times. Generators of the package run in sandboxes, too.",
  )
    .argument("<directory|zip>", "problem package")
    .requiredOption("--account <account>", "owning account, by name or id")
    .option("--name <name>", "name of the problem (default: the name of its directory)")
    .option("--time-limit <seconds>", "time limit in seconds of CPU time, which replaces that of the package", seconds)
    .option(
      "--allow-faults",
      "store a package whose structure can be read, but whose programs or their settings have faults, as a faulty version, on which each judgement ends with IE; by default, such a package is refused",
    )
    .addOption(new Option("--packed").hideHelp())
    .addOption(new Option("--probe").hideHelp())
    .action((path: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ImportFlags>();
      if (flags.probe) return probe(path, flags);
      return flags.packed ? withStore(flags, (store) => storeImport(store, flags)) : pack(path, flags);
    });

  commandOnStore(problems, "list", "List the problems of an account, newest first.")
    .requiredOption("--account <account>", "account, by name or id")
    .option("--limit <number>", "number of rows, up to 1000", wholeNumber, 100)
    .action((_: unknown, command: Command) => {
      const flags = command.optsWithGlobals<StoreCommandOptions & { account: string; limit: number }>();
      return withStore(flags, (store) => listProblems(store, flags));
    });

  commandOnStore(problems, "delete", "Delete a problem. Its judgements stay until they expire.")
    .argument("<problem>", "name or id")
    .requiredOption("--account <account>", "account, by name or id")
    .action((which: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<StoreCommandOptions & { account: string }>();
      return withStore(flags, (store) => deleteProblem(store, which, flags));
    });
}

async function listProblems(
  store: Store,
  { account, limit, json }: StoreCommandOptions & { readonly account: string; readonly limit: number },
): Promise<void> {
  const found = await store.problems.list([await accountId(store, account)], Math.min(limit, 1_000));
  const rows = found.map(({ id, name, title, current, updatedAtMs }) => ({
    ...{ id, name, title, version: current.number, tests: current.tests, bytes: current.bytes },
    updatedAt: new Date(updatedAtMs).toISOString(),
    faults: current.faults,
  }));
  answer(json, rows, () => {
    const shown = table(
      ["ID", "NAME", "VERSION", "TESTS", "MIB", "UPDATED", "FAULTS", "TITLE"],
      rows.map((row) => [
        ...[row.id, row.name, `${row.version}`, `${row.tests}`, (row.bytes / 1_048_576).toFixed(1)],
        ...[row.updatedAt, `${row.faults.length}`, row.title],
      ]),
    );
    return [shown, ...rows.flatMap(({ name, faults }) => faultLines(name, faults))].join("\n");
  });
}

/** The faults of a version, one in each line. */
function faultLines(name: string, faults: readonly string[]): string[] {
  return faults.map((fault) => `${name} is faulty: ${fault}`);
}

async function deleteProblem(
  store: Store,
  which: string,
  { account, json }: StoreCommandOptions & { readonly account: string },
): Promise<void> {
  const owner = await accountId(store, account);
  const id = await store.problems.find(owner, which);
  if (id === undefined || !(await store.problems.delete(id, owner, ACTOR)))
    throw new ConfigError(`there is no problem ${which} in this account`);
  answer(json, { id }, () => `deleted ${which}`);
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) throw new InvalidArgumentError("must be a number of seconds.");
  return value;
}

/** Reads the package for the process that can write to the database (setup/command-admin.sh). */
async function pack(path: string, { name, timeLimit, allowFaults, launcherSocket }: ImportFlags): Promise<void> {
  if (process.stdout.isTTY) throw new ConfigError("start it as ./assay problems import");
  process.stdout.once("error", () => process.exit(1)); // the other process has ended, with the reason
  const [{ files }, languages] = [await readPackage(path), installedLanguages()];
  /** @param need why the package needs a launcher. Without `--probe`, set-up starts none. */
  const withJudge = async <T>(need: string, work: (judge: LocalJudge) => Promise<T>): Promise<T> => {
    if (launcherSocket === undefined) throw new UnavailableError("the package", need);
    const slot = await Slot.open(launcherSocket);
    try {
      return await work(new LocalJudge(slot, languages));
    } finally {
      slot.close();
    }
  };
  const runs: PackageRuns = {
    make: (makings) => withJudge("has tests that its programs make", (judge) => makeTests(makings, judge, sayStep)),
    measure: (problem) =>
      withJudge(`has no time limit: ${WAYS}`, (judge) => measureTimeLimit(files, problem, judge, languages, sayStep)),
  };
  const options = { name, timeLimitSecs: timeLimit, allowFaults };
  await writeImport(await openImport(files, languages, options, runs), process.stdout);
}

const WAYS = "give --time-limit or, in its problem.yaml, limits.time_limit";

/** Reports to set-up whether a launcher is needed (setup/command-admin.sh). */
async function probe(path: string, { timeLimit, allowFaults }: ImportFlags): Promise<void> {
  const faults = new Faults({ areAllowed: allowFaults === true });
  const { files } = await readPackage(path);
  const { timing, submissions, makings } = readProblem(files, installedLanguages(), faults);
  if (faults.texts.length > 0) return; // nothing runs on a faulty version
  const hasLimit = timeLimit !== undefined || timing.limitSecs !== null;
  if (makings) process.exitCode = NEEDS_LAUNCHER;
  if (hasLimit) return;
  if (submissions.length === 0)
    throw new PackageError("the package", `has no time limit, and no submissions to measure: ${WAYS}`);
  sayStep(`the package has no time limit, so its submissions are measured; otherwise ${WAYS}`);
  process.exitCode = NEEDS_LAUNCHER;
}

async function storeImport(store: Store, { account, json }: ImportFlags): Promise<void> {
  const accountOf = await accountId(store, account);
  const found = await readImport(process.stdin);
  if (!found) {
    process.exitCode = 1;
    return;
  }
  const { importable, read, end } = found;
  const { name, title, definition, checker, grader, harness, cpuSecs, memoryBytes } = importable;
  const { faults = [] } = definition;
  const tests = importable.contents.length;
  const bytes = importable.contents.flat().reduce((sum, one) => sum + one.bytes, 0);
  const contents = importable.contents.map((parts, test) =>
    parts.map((one, place) => ({ ...one, read: () => read(test, place) })),
  );
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const version = { accountId: accountOf, definition, checker, grader, harness, contents };
    const versionSeq = await store.judgements.putVersion(version, async () => {});
    const problem = { accountId: accountOf, name, title, versionSeq, tests, bytes, cpuSecs, memoryBytes };
    const put = await store.problems.put(problem, null, ACTOR);
    if (put.kind !== "stored") continue;
    await end();
    const { id, version: number, isNew } = put;
    const limit = cpuSecs === null ? "the time limit of the profile" : `time limit ${cpuSecs} s`;
    answer(json, { id, name, version: number, tests, bytes, timeLimitSecs: cpuSecs, faults, isNew }, () => {
      const said = isNew ? `, ${tests} tests, ${limit}` : " is unchanged";
      return [`${id}: version ${number} of ${name}${said}`, ...faultLines(name, faults)].join("\n");
    });
    return;
  }
  throw new ConfigError("the tests were deleted while they were stored: import the package again");
}

async function accountId(store: Store, nameOrId: string): Promise<string> {
  const account = await store.accounts.find(nameOrId);
  if (!account) throw new ConfigError(`there is no account ${nameOrId}`);
  return account.id;
}
