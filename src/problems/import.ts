import { createHash } from "node:crypto";
import type { Harness } from "../domain/harness.ts";
import { type Definition, MAX_GROUPS, MAX_TESTS } from "../domain/judgement.ts";
import { LIMIT_FIELDS } from "../domain/limits.ts";
import { MAX_WORDS, MAX_WORDS_BYTES } from "../domain/program-options.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { Faults } from "./faults.ts";
import { type LazyFile, PackageError, type PackageFiles } from "./files.ts";
import { ceilingOf } from "./limits.ts";
import { leaveEmpty, type Makings } from "./makers.ts";
import { type ProblemPackage, readProblem } from "./package.ts";
import { readVerifiable, type VerifiableSubmission } from "./submissions.ts";

/** The form of the name of a problem, which is by default the name of its directory. */
export const PROBLEM_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const MAX_TITLE = 200;
/**
 * The most bytes of a definition. A small package could have a large one, because the file of a group has the arguments of many
 * tests.
 */
const MAX_DEFINITION_BYTES = 1_048_576;

/** The hash of a content (SHA-256, hexadecimal) and its size. */
export interface Hashed {
  readonly hash: string;
  readonly bytes: number;
}

/** A package in the form in which it is stored. */
export interface Importable {
  readonly name: string;
  readonly title: string;
  readonly definition: Definition;
  readonly checker: Program | null;
  readonly grader: Program | null;
  /** What the problem adds to submissions. */
  readonly harness: Harness | null;
  /** The time limit: seconds of CPU time for each run. Null for a faulty version whose time limit cannot be measured. */
  readonly cpuSecs: number | null;
  /** Null if the package does not limit the memory: the limit of the profile holds. */
  readonly memoryBytes: number | null;
  /** The input of each test, followed by its answer. */
  readonly contents: readonly (readonly Hashed[])[];
  /** The submissions of the package; null unless they are to be verified. */
  readonly submissions: readonly VerifiableSubmission[] | null;
}

/** The name and the time limit, each of which replaces that of the package. */
export interface ImportOptions {
  readonly name?: string | undefined;
  readonly timeLimitSecs?: number | undefined;
  /** Whether a package whose programs have faults becomes a faulty version of the problem. */
  readonly allowFaults?: boolean | undefined;
}

export interface ReadOptions extends ImportOptions {
  /** Whether the submissions of the package are read as well. */
  readonly verify?: boolean;
}

export interface OpenImport {
  readonly importable: Importable;
  /**
   * Reads the input (`place` 0) or the answer (1) of a test. @throws PackageError if the file is no longer as it was when the
   * package was opened.
   */
  readonly read: (test: number, place: number) => Buffer;
}

/** What only sandboxes can do for an import. Each function throws a PackageError if it is not possible. */
export interface PackageRuns {
  /** Runs the programs that make tests. */
  readonly make: (makings: Makings) => Promise<void>;
  /** Measures the time limit of a package that has none. @returns seconds. */
  readonly measure: (problem: ProblemPackage) => Promise<number>;
}

/**
 * Reads and checks a package for an import.
 * @param runs called when everything else is checked. @throws PackageError for the first fault that is not allowed.
 */
export async function openImport(
  files: PackageFiles,
  languages: Languages,
  options: ReadOptions,
  runs: PackageRuns,
): Promise<OpenImport> {
  const faults = new Faults({ areAllowed: options.allowFaults === true });
  const problem = readProblem(files, languages, faults);
  const { tests, definition } = problem;
  if (tests.length > MAX_TESTS) throw new PackageError("data", `has more than ${MAX_TESTS} tests`);
  if (definition.groups.length > MAX_GROUPS) throw new PackageError("data", `has more than ${MAX_GROUPS} groups`);
  const name = nameOf(options.name ?? files.directory ?? problem.name ?? null);
  const title = titleOf(problem.title);
  checkWords(definition);
  const submissions = options.verify ? readVerifiable(files, problem, languages) : null;
  const given = options.timeLimitSecs ?? problem.timing.limitSecs;
  if (given !== null) checkedLimit(given, languages);
  const { makings } = problem;
  // The tests of a version that is faulty already are not made or measured: nothing runs on them.
  if (makings && faults.texts.length === 0) await faults.attemptRun(() => runs.make(makings));
  if (makings && faults.texts.length > 0) leaveEmpty(makings);
  const isMeasured = given === null && faults.texts.length === 0;
  const secs = isMeasured ? await runs.measure(problem) : given;
  const cpuSecs = secs === null ? null : checkedLimit(secs, languages);
  const hashed = hashing();
  const ofTest = cpuSecs === null ? {} : { cpu_time_secs: cpuSecs };
  const stored: Definition = {
    ...definition,
    tests: definition.tests.map((test) => ({ ...test, limits: { ...test.limits, ...ofTest } })),
    ...(faults.texts.length > 0 && { faults: faults.texts }),
  };
  return {
    importable: {
      name,
      title,
      definition: stored,
      checker: problem.checker,
      grader: problem.grader?.program ?? null,
      harness: problem.harness ?? null,
      cpuSecs,
      memoryBytes: definition.tests[0]?.limits.memory_bytes ?? null,
      contents: tests.map(({ parts }) => parts.map(hashed)),
      submissions,
    },
    read: (test, place) => tests[test]?.parts[place]?.read() as Buffer,
  };
}

/** @returns a function that reads and hashes each file only once: a small package can refer to a large file in all of its tests. */
function hashing(): (file: LazyFile) => Hashed {
  const known = new Map<LazyFile, Hashed>();
  return (file) => {
    const found = known.get(file) ?? hashOf(file.read());
    known.set(file, found);
    return found;
  };
}

function hashOf(content: Buffer): Hashed {
  return { hash: createHash("sha256").update(content).digest("hex"), bytes: content.length };
}

function nameOf(name: string | null): string {
  if (name === null)
    throw new PackageError("archive", "has no directory with the name of the problem: give the import a name");
  if (!PROBLEM_NAME.test(name))
    throw new PackageError("name", `${JSON.stringify(name.slice(0, 64))} is not 1 to 64 letters, digits and . _ -`);
  return name;
}

function titleOf(title: string): string {
  if (title.length > MAX_TITLE || /\p{Cc}/u.test(title) || !title.isWellFormed())
    throw new PackageError("problem.yaml", `name: must be at most ${MAX_TITLE} characters in one line`);
  return title;
}

function checkedLimit(secs: number, languages: Languages): number {
  const { least } = LIMIT_FIELDS.cpu_time_secs;
  const most = ceilingOf("time_limit", languages);
  if (!(secs >= least && secs <= most))
    throw new PackageError(
      "the package",
      `a time limit is ${least} s to ${most} s, the ceiling of this service (ASSAY_CEILINGS)`,
    );
  return secs;
}

/** Names and arguments have the bounds of those in requests, because the kernel and both databases must accept them. */
function checkWords(definition: Definition): void {
  for (const { name, args = [], checker } of definition.tests) {
    const path = `test ${name}`;
    for (const words of [args, checker?.type === "program" ? checker.args : []]) {
      const bytes = words.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0);
      if (words.length > MAX_WORDS || bytes > MAX_WORDS_BYTES)
        throw new PackageError(path, `has more than ${MAX_WORDS} arguments or ${MAX_WORDS_BYTES} bytes of them`);
      for (const word of [name, ...words])
        if (word.includes("\0") || !word.isWellFormed()) throw new PackageError(path, "an argument is not text");
    }
  }
  for (const { name, grader = [] } of definition.groups) {
    const bytes = grader.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0);
    if (grader.length > MAX_WORDS || bytes > MAX_WORDS_BYTES || grader.some((word) => word.includes("\0")))
      throw new PackageError(
        `group ${name}`,
        `has more than ${MAX_WORDS} arguments for its grader, or one is not text`,
      );
  }
  if (Buffer.byteLength(JSON.stringify(definition)) > MAX_DEFINITION_BYTES)
    throw new PackageError("data", `has more than ${MAX_DEFINITION_BYTES} bytes of names and arguments`);
}
