import { z } from "zod";
import { PackageError, type PackageFiles } from "./files.ts";
import type { ProblemPackage } from "./package.ts";
import { type Read, readYaml } from "./yaml.ts";

/** Verdicts in the words of the format. */
export const FORMAT_VERDICTS = ["AC", "WA", "TLE", "RTE"] as const;
export type FormatVerdict = (typeof FORMAT_VERDICTS)[number];
/** Verdicts that can be expected: MLE is one of the failures that are RTE, for formats that tell it from the others. */
export const EXPECTED_VERDICTS = [...FORMAT_VERDICTS, "MLE"] as const;
export type ExpectedVerdict = (typeof EXPECTED_VERDICTS)[number];

/** What the package demands of the runs of a submission, on all tests or on some of them. */
export interface Expectation {
  /** A pattern for the names of test groups and tests; null for all tests. */
  readonly tests: string | null;
  /** The verdicts that a run on these tests may have. */
  readonly permitted: readonly ExpectedVerdict[];
  /** At least one of these runs must have one of these verdicts. */
  readonly required: readonly ExpectedVerdict[];
  /** The verdict of the submission by the groups of the package, for packages that state only this one (`gradedVerdict`). */
  readonly verdict?: FormatVerdict;
  /** The lowest and the highest permitted score, of the submission or of each group that `tests` names. */
  readonly score?: readonly [number, number];
  /** Part of a message of the output validator. */
  readonly message?: string;
  /** Whether the CPU time on these tests bounds the time limit from below, from above, in both ways or not at all. */
  readonly timeLimit: "lower" | "upper" | "both" | "none";
}

/** The expectations of the package for a submission. */
export interface SubmissionExpectations {
  readonly expectations: readonly Expectation[];
  readonly language?: string;
  readonly entrypoint?: string;
}

/** The most characters and alternatives of a glob. */
const MAX_GLOB = 200;
const MAX_ALTERNATIVES = 64;
/**
 * Bounds of what a service compares: the expectations of a submission, and the characters of their globs and messages. Within
 * them, 500 tests take some 0.1 s.
 */
const MAX_COMPARED = 8;
const MAX_COMPARED_GLOB = 80;
const MAX_MESSAGE = 200;
/** Each comma at most doubles the number of alternatives. */
const FEW_ALTERNATIVES = /^[^,]*(,[^,]*){0,3}$/;

const verdicts = z.array(z.enum(FORMAT_VERDICTS)).min(1);
const rules = {
  permitted: verdicts.optional(),
  required: verdicts.optional(),
  score: z.union([z.number(), z.tuple([z.number(), z.number()])]).optional(),
  message: z.string().optional(),
  use_for_time_limit: z.union([z.boolean(), z.enum(["lower", "upper"])]).optional(),
};
const entry = z
  .object({
    ...rules,
    language: z.string().optional(),
    entrypoint: z.string().optional(),
    authors: z.unknown().optional(),
    model_solution: z.boolean().optional(),
  })
  .catchall(z.strictObject(rules));
const submissionsFile = z.record(z.string(), entry.nullable());
type Rules = Readonly<z.output<z.ZodObject<typeof rules>>>;

const expectedVerdicts = z.array(z.enum(EXPECTED_VERDICTS)).min(1).max(EXPECTED_VERDICTS.length);

/** The expectations of a submission that a service compares: bounded, because a stranger writes them. */
export const comparedExpectations: z.ZodType<readonly Expectation[]> = z
  .array(
    z.strictObject({
      tests: z.string().max(MAX_COMPARED_GLOB).regex(FEW_ALTERNATIVES).nullable(),
      permitted: expectedVerdicts,
      required: expectedVerdicts,
      verdict: z.enum(FORMAT_VERDICTS).exactOptional(),
      score: z.tuple([z.number(), z.number()]).exactOptional(),
      message: z.string().max(MAX_MESSAGE).exactOptional(),
      timeLimit: z.enum(["lower", "upper", "both", "none"]),
    }),
  )
  .max(MAX_COMPARED);

export const COMPARED_BOUNDS = `${MAX_COMPARED} expectations, ${EXPECTED_VERDICTS.length} verdicts each, ${MAX_COMPARED_GLOB} characters and 3 commas for tests and ${MAX_MESSAGE} for a message`;

const FILE = "submissions/submissions.yaml";
const OWN_KEYS = new Set([...Object.keys(rules), "language", "entrypoint", "authors", "model_solution"]);

/** What the format demands of the submissions in each directory. toExpectation() derives how they bound the time limit. */
const DIRECTORIES: Readonly<Record<string, Rules>> = {
  accepted: { permitted: ["AC"] },
  rejected: { required: ["RTE", "TLE", "WA"] },
  wrong_answer: { permitted: ["AC", "WA"], required: ["WA"] },
  time_limit_exceeded: { permitted: ["AC", "TLE"], required: ["TLE"] },
  run_time_error: { permitted: ["AC", "RTE"], required: ["RTE"] },
  brute_force: { permitted: ["AC", "RTE", "TLE"], required: ["RTE", "TLE"] },
};
/** What the format legacy demands: one verdict for all. In it, only accepted submissions bound the time limit from below. */
const LEGACY: Readonly<Record<string, Rules & Pick<Expectation, "verdict">>> = {
  accepted: { verdict: "AC", use_for_time_limit: "lower" },
  partially_accepted: { verdict: "AC", use_for_time_limit: false },
  wrong_answer: { verdict: "WA", use_for_time_limit: false },
  time_limit_exceeded: { verdict: "TLE", use_for_time_limit: "upper" },
  run_time_error: { verdict: "RTE", use_for_time_limit: false },
};

/** Reads submissions.yaml. @returns a function that finds the expectations for a submission by its path below `submissions`. */
export function readExpectations(
  files: PackageFiles,
  format: ProblemPackage["format"],
): (path: string) => SubmissionExpectations {
  const read = format === "legacy" ? undefined : readYaml(files, FILE, submissionsFile);
  const given = (read as Read<z.output<typeof submissionsFile>> | undefined)?.value ?? {};
  const known: Readonly<Record<string, Rules & Pick<Expectation, "verdict">>> =
    format === "legacy" ? LEGACY : DIRECTORIES;
  // Globs are expanded once, and not for each submission, because a glob can have many alternatives.
  const globs = Object.entries(given).flatMap(([glob, own]) => (own ? [{ glob, own, isFor: matcher(glob) }] : []));
  return (path) => {
    const [directory = ""] = path.split("/");
    const defaults = Object.hasOwn(known, directory) ? known[directory] : undefined;
    const expectations = defaults ? [toExpectation(null, { ...defaults, ...given[directory] })] : [];
    let about: Omit<SubmissionExpectations, "expectations"> = {};
    for (const { glob, own, isFor } of globs) {
      if (!isFor(path)) continue;
      const { language, entrypoint } = own;
      about = { ...about, ...(language && { language }), ...(entrypoint && { entrypoint }) };
      if (glob !== directory || !defaults) expectations.push(toExpectation(null, own));
      for (const [tests, some] of Object.entries(own))
        if (!OWN_KEYS.has(tests)) expectations.push(toExpectation(tests, some as Rules));
    }
    return { ...about, expectations };
  };
}

function toExpectation(
  tests: string | null,
  {
    permitted = [...FORMAT_VERDICTS],
    required = [...FORMAT_VERDICTS],
    score,
    message,
    verdict,
    use_for_time_limit: use = true,
  }: Rules & Pick<Expectation, "verdict">,
): Expectation {
  const lower = !permitted.includes("TLE") || use === "lower";
  const upper = (required.length === 1 && required[0] === "TLE") || use === "upper";
  const timeLimit = use === false ? "none" : lower && upper ? "both" : lower ? "lower" : upper ? "upper" : "none";
  const range = typeof score === "number" ? ([score, score] as const) : score;
  return {
    ...{ tests, permitted, required, timeLimit },
    ...(verdict && { verdict }),
    ...(range && { score: range }),
    ...(message && { message }),
  };
}

/** The expectation as text, as the dashboard shows it. */
export function expected({ tests, permitted, required, verdict, score, message }: Expectation): string {
  const words = [
    ...(verdict ? [verdict] : []),
    ...(permitted.length < FORMAT_VERDICTS.length ? [permitted.join(" or ")] : []),
    ...(required.length < FORMAT_VERDICTS.length ? [`${required.join(" or ")} at least once`] : []),
    ...(score ? [`score ${score[0] === score[1] ? score[0] : score.join(" to ")}`] : []),
    ...(message === undefined ? [] : [`message ${JSON.stringify(message)}`]),
  ];
  return `${tests === null ? "" : `${tests}: `}${words.join(", ") || "any"}`;
}

/** Whether a glob matches a path or one of its directories: `*` within a name, `{a,b}` for alternatives. */
export function matches(glob: string, path: string): boolean {
  return matcher(glob)(path);
}

/** A function that tests many paths against one pattern. @throws PackageError for too many alternatives. */
export function matcher(glob: string): (path: string) => boolean {
  const alternatives = [...new Set(expand(glob))].map((one) => one.split("/").map((name) => name.split("*")));
  return (path) => {
    const parts = path.split("/");
    return alternatives.some((one) => one.length <= parts.length && fits(one, parts));
  };
}

/** Whether a glob matches a path, or the directory of the path that has as many parts as the glob. */
function fits(glob: readonly (readonly string[])[], parts: readonly string[]): boolean {
  return glob.every((one, at) => fitsName(one, parts[at] ?? ""));
}

/**
 * Whether a name matches the pieces of a glob, between which there are stars. Each star takes as little as possible, so that the
 * time is bounded by the product of both lengths.
 */
function fitsName(pieces: readonly string[], name: string): boolean {
  const [first = ""] = pieces;
  const last = pieces.at(-1) ?? "";
  if (pieces.length === 1) return name === first;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  const end = name.length - last.length;
  for (const part of pieces.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** @throws PackageError for too many alternatives. */
function expand(glob: string): string[] {
  let all = [glob];
  for (;;) {
    const next = all.flatMap((one) => {
      const [, before, inside, after] = /^([^{]*)\{([^{}]*)\}(.*)$/.exec(one) ?? [];
      return inside === undefined ? [one] : inside.split(",").map((part) => `${before}${part.trim()}${after}`);
    });
    if (glob.length > MAX_GLOB || next.length > MAX_ALTERNATIVES)
      throw new PackageError(FILE, `a glob has at most ${MAX_GLOB} characters and ${MAX_ALTERNATIVES} alternatives`);
    if (next.length === all.length && next.every((one, at) => one === all[at])) return all;
    all = next;
  }
}
