import type { Language } from "../domain/language.ts";
import { OperatorError } from "../domain/operator-error.ts";
import type { Languages } from "../languages/load.ts";
import { findPackages } from "../problems/find.ts";
import { type ProblemPackage, readProblem } from "../problems/package.ts";
import { readPackage } from "../problems/read.ts";
import { type Verified, type VerifiedSubmission, verify } from "../problems/verify.ts";
import { Slot } from "../sandbox/slot.ts";
import { LocalJudge } from "../worker/judge-locally.ts";
import { answer, escaped, sayStep, table, toJson } from "./answer.ts";
import { installedLanguages } from "./installed-languages.ts";

interface VerifyFlags {
  readonly json?: boolean;
  /** The name of the language in which submissions in Python run. */
  readonly python: string;
  readonly launcherSocket: string;
}

/** With what packages are verified. */
interface VerifiedOn extends Pick<VerifyFlags, "launcherSocket"> {
  readonly languages: Languages;
  readonly python: Language;
}

/** The most lines of a package in the table of several packages. */
const MAX_LINES = 50;

/** A package that was read and verified. */
interface VerifiedPackage extends Verified, Pick<ProblemPackage, "title" | "format"> {}

/** One package of several: verified, or with the reason why it could not be. */
interface PackageResult {
  readonly path: string;
  readonly isReadable: boolean;
  readonly isClean: boolean;
  /** The faults of the package and of its submissions, or the reason why it could not be read or verified. */
  readonly faults: readonly string[];
  readonly skipped: readonly string[];
}

/** `assay problems verify`: verifies a package, or all packages in a directory, one after the other. */
export async function verifyPackages(path: string, flags: VerifyFlags): Promise<void> {
  const languages = installedLanguages();
  const python = languages.resolve(flags.python);
  if (!python) throw new OperatorError(`--python: ${flags.python} is no installed language`);
  const packages = await findPackages(path);
  const on = { languages, python, launcherSocket: flags.launcherSocket };
  const isClean = packages === null ? await verifyOne(path, on, flags) : await verifyAll(packages, on, flags);
  process.exitCode = isClean ? 0 : 1;
}

async function verifyOne(path: string, on: VerifiedOn, flags: VerifyFlags): Promise<boolean> {
  const verified = await verifyPackage(path, on);
  answer(flags.json, verified, () => toText(verified));
  return faultsOf(verified).length === 0;
}

/**
 * A package that fails does not keep the others from being verified. The lines of a package are printed when it has ended, because
 * hundreds of packages take hours.
 */
async function verifyAll(paths: readonly string[], on: VerifiedOn, flags: VerifyFlags): Promise<boolean> {
  const print = (text: string) => process.stdout.write(`${text}\n`);
  const results = { readable: 0, clean: 0 };
  if (!flags.json) print(HEAD);
  for (const path of paths) {
    sayStep(path);
    const result = await resultOf(path, on);
    results.readable += result.isReadable ? 1 : 0;
    results.clean += result.isClean ? 1 : 0;
    print(flags.json ? toJson(result) : linesOf(result));
  }
  if (!flags.json) print(`${results.readable} of ${paths.length} packages can be read, ${results.clean} have no fault`);
  return results.clean === paths.length;
}

async function resultOf(path: string, on: VerifiedOn): Promise<PackageResult> {
  let isReadable = false;
  try {
    const verified = await verifyPackage(path, on, () => {
      isReadable = true;
    });
    const faults = faultsOf(verified);
    return { path, isReadable, isClean: faults.length === 0, faults, skipped: verified.skipped };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { path, isReadable, isClean: false, faults: [error.message], skipped: [] };
  }
}

/** @param onRead called when the package has been read. @throws PackageError, SandboxError */
async function verifyPackage(
  path: string,
  { languages, python, launcherSocket }: VerifiedOn,
  onRead: () => void = () => {},
): Promise<VerifiedPackage> {
  const { files, close } = await readPackage(path);
  try {
    const problem = readProblem(files, languages);
    onRead();
    const slot = await Slot.open(launcherSocket);
    try {
      const verified = await verify(files, problem, new LocalJudge(slot, languages), languages, {
        onProgress: sayStep,
        python,
      });
      return { ...verified, title: problem.title, format: problem.format };
    } finally {
      slot.close();
    }
  } finally {
    close();
  }
}

function faultsOf({ faults, submissions }: Verified): string[] {
  return [...faults, ...submissions.flatMap((one) => one.faults.map((fault) => `${one.path}: ${fault}`))];
}

const HEAD = "readable  clean  package";

function linesOf({ path, isReadable, isClean, faults, skipped }: PackageResult): string {
  const lines = [...faults, ...skipped.map((one) => `skipped: ${one}`)];
  const more = lines.length > MAX_LINES ? [`and ${lines.length - MAX_LINES} more`] : [];
  const answered = (is: boolean) => (is ? "yes" : "no");
  const first = `${answered(isReadable).padEnd(8)}  ${answered(isClean).padEnd(5)}  ${escaped(path)}`;
  const indent = " ".repeat(HEAD.indexOf("package") + 2);
  return [first, ...[...lines.slice(0, MAX_LINES), ...more].map((line) => `${indent}${escaped(line)}`)].join("\n");
}

function toText({ faults, skipped, timeLimitSecs, submissions }: Verified): string {
  const rows = submissions.map((one) => [
    one.path,
    one.language ?? "",
    one.verdict ?? "skipped",
    one.slowestSecs === null ? "" : one.slowestSecs.toFixed(3),
    one.score === null ? "" : String(one.score),
    outcomeOf(one),
  ]);
  const head = ["submission", "language", "verdict", "CPU s", "score", "result"];
  const limit = timeLimitSecs === null ? "no time limit" : `time limit ${timeLimitSecs} s`;
  const all = faultsOf({ faults, skipped, timeLimitSecs, submissions });
  const lines = [...all.map((one) => `fault: ${one}`), ...skipped.map((one) => `skipped: ${one}`)];
  return [table(head, rows), limit, ...lines.map(escaped)].join("\n");
}

function outcomeOf({ verdict, faults }: VerifiedSubmission): string {
  if (faults.length > 0) return faults.length === 1 ? "1 fault" : `${faults.length} faults`;
  return verdict === null ? "no installed language" : "as expected";
}
