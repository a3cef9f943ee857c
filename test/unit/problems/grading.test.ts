import assert from "node:assert/strict";
import { test } from "node:test";
import {
  advance,
  type Definition,
  gradedVerdict,
  groupScores,
  type JudgementVerdict,
  type TestState,
  totalOf,
} from "../../../src/domain/judgement.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { readProblem } from "../../../src/problems/package.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { type PackageTexts, toFiles } from "../../support/problems/packages.ts";

/**
 * Random trees of tests, graded by the groups of a judgement and by a direct reading of the formats, which judges one part after the other
 * and makes one result of the results of each group.
 */
const languages = loadLanguages(LANGUAGES);

/** Numbers that are the same in each run (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Result {
  readonly verdict: JudgementVerdict;
  readonly score: number;
}

interface Directory {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly parts: readonly (Directory | string)[];
}

const VERDICTS: readonly JudgementVerdict[] = ["AC", "AC", "AC", "WA", "TLE", "RE"];
const SEVERITY: readonly JudgementVerdict[] = ["RE", "TLE", "WA"];

/** Judges each test that is needed, with the results in a random order, until the judgement ends. */
function judged(definition: Definition, resultOf: (test: number) => JudgementVerdict, random: () => number) {
  const states: TestState[] = definition.tests.map(() => "waiting");
  for (;;) {
    const next = advance(states, definition, { stop: "never", mostQueued: 1 + Math.floor(random() * 4) });
    for (const at of next.skip) states[at] = "skipped";
    if (next.verdict) return states;
    for (const at of next.start) states[at] = "queued";
    const queued = states.flatMap((state, at) => (state === "queued" ? [at] : []));
    const one = queued[Math.floor(random() * queued.length)] ?? assert.fail("nothing is queued");
    states[one] = resultOf(one);
  }
}

function check(texts: PackageTexts, random: () => number, wanted: (resultOf: (name: string) => Result) => Wanted) {
  const { definition } = readProblem(toFiles(texts), languages);
  const given = definition.tests.map(() => VERDICTS[Math.floor(random() * VERDICTS.length)] ?? "AC");
  // A validator that gives points gives a part of them, in eighths, so that sums are exact.
  const shares = definition.tests.map(({ checker }, at) => {
    const scored = checker?.type === "program" && checker.acceptedShare === null;
    return given[at] !== "AC" ? 0 : scored ? Math.floor(random() * 9) / 8 : 1;
  });
  const states = judged(definition, (at) => given[at] ?? "AC", random);
  const byName = new Map(definition.tests.map(({ name }, at) => [name, at]));
  const { verdict, score, needed } = wanted((name) => {
    const at = byName.get(name) ?? assert.fail(name);
    return { verdict: given[at] ?? "AC", score: (definition.tests[at]?.points ?? 0) * (shares[at] ?? 0) };
  });
  const context = JSON.stringify({ texts, given: definition.tests.map(({ name }, at) => [name, given[at]]) }, null, 1);
  assert.deepEqual(
    definition.tests.flatMap(({ name }, at) => (states[at] === "skipped" ? [] : [name])).sort(),
    [...needed].sort(),
    context,
  );
  assert.equal(gradedVerdict(definition, states), verdict, context);
  const total = totalOf(groupScores(definition, states, shares));
  if (score !== null) assert.ok(Math.abs(total.score - score) < 1e-5, `${total.score}, not ${score}: ${context}`);
  // Points for rejected tests and scores above a range can be more, and the average or minimum of a group that broke counts fewer parts.
  const canExceed = Object.values(texts).some((text) => /reject_score|range|avg|min/.test(text));
  if (!canExceed) assert.ok(total.score <= total.maxScore + 1e-5, context);
}

interface Wanted extends Result {
  readonly needed: ReadonlySet<string>;
}

/** A directory of the format legacy with random settings. */
function legacyDirectory(name: string, depth: number, random: () => number): Directory {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const settings: Record<string, string> = {};
  const modes = [
    pick(["", "", "sum", "min", "max", "avg"]),
    pick(["", "", "first_error", "worst_error", "always_accept"]),
  ];
  if (random() < 0.2) modes.push("accept_if_any_accepted");
  if (random() < 0.7) settings.grader_flags = modes.join(" ").trim() || "sum";
  if (random() < 0.5) settings.on_reject = pick(["break", "continue"]);
  if (random() < 0.5) settings.accept_score = String(Math.floor(random() * 40));
  if (random() < 0.1) settings.reject_score = String(Math.floor(random() * 4));
  const parts: (Directory | string)[] = [];
  const amount = name === "" ? 0 : 1 + Math.floor(random() * 3);
  for (let at = 0; at < amount; at++) {
    const own = `${name}/${pick(["a", "b", "c"])}${at}`;
    parts.push(depth < 3 && random() < 0.5 ? legacyDirectory(own, depth + 1, random) : own);
  }
  return { name, settings, parts: parts.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)) };
}

const nameOf = (part: Directory | string) => (typeof part === "string" ? part : part.name);

function textsOf({ name, settings, parts }: Directory): PackageTexts {
  const yaml = Object.entries(settings).map(([key, value]) => `${key}: ${value}\n`);
  const own: Record<string, string> = {};
  if (yaml.length > 0) own[`data/${name === "" ? "" : `${name}/`}testdata.yaml`] = yaml.join("");
  for (const part of parts)
    if (typeof part === "string") Object.assign(own, { [`data/${part}.in`]: "", [`data/${part}.ans`]: "" });
    else Object.assign(own, textsOf(part));
  return own;
}

function gradeLegacy(root: Directory, resultOf: (name: string) => Result): Wanted {
  const needed = new Set<string>();
  const visit = ({ settings, parts }: Directory, inherited: Readonly<Record<string, string>>): Result => {
    const all = { ...inherited, ...settings };
    let results: Result[] = [];
    for (const part of parts) {
      let result: Result;
      if (typeof part === "string") {
        needed.add(part);
        const own = resultOf(part);
        result = own.verdict === "AC" ? own : { verdict: own.verdict, score: Number(all.reject_score ?? 0) };
      } else result = visit(part, all);
      results.push(result);
      if (result.verdict !== "AC" && all.on_reject !== "continue") break;
    }
    const modes = (all.grader_flags ?? "").split(" ");
    if (modes.includes("ignore_sample")) results = results.slice(-1);
    const scores = results.map(({ score }) => score);
    const sum = scores.reduce((total, score) => total + score, 0);
    const rule = modes.findLast((mode) => ["sum", "min", "max", "avg"].includes(mode));
    const score =
      rule === "min"
        ? Math.min(...scores)
        : rule === "max"
          ? Math.max(...scores)
          : rule === "avg"
            ? sum / scores.length
            : sum;
    const mode = modes.findLast((one) => ["first_error", "worst_error", "always_accept"].includes(one));
    const isAny = modes.includes("accept_if_any_accepted") && results.some(({ verdict }) => verdict === "AC");
    const failures = results.filter(({ verdict }) => verdict !== "AC").map(({ verdict }) => verdict);
    const error = mode === "first_error" ? failures[0] : SEVERITY.find((one) => failures.includes(one));
    return { verdict: isAny || mode === "always_accept" ? "AC" : (error ?? "AC"), score };
  };
  return { ...visit(root, {}), needed };
}

test("groups within groups of the format legacy are graded as the default grader does", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const random = randomFrom(seed);
    const [sample, secret] = [legacyDirectory("sample", 2, random), legacyDirectory("secret", 0, random)];
    const { settings } = legacyDirectory("", 0, random);
    const ignores = random() < 0.3;
    const root: Directory = {
      name: "",
      settings: ignores ? { ...settings, grader_flags: "ignore_sample" } : settings,
      parts: [sample, secret],
    };
    // The flag is only for the directory with all data.
    const own = (directory: Directory): Directory =>
      ignores && directory.settings.grader_flags === undefined
        ? { ...directory, settings: { ...directory.settings, grader_flags: "sum" } }
        : directory;
    const tree = { ...root, parts: [own(sample), own(secret)] };
    const scored = random() < 0.3;
    const texts: PackageTexts = {
      "problem.yaml": `name: a\ntype: scoring\n${scored ? "validation: custom score\n" : ""}`,
      ...(scored && { "output_validators/check.py": "" }),
      ...textsOf(tree),
      ...(scored && { "data/testdata.yaml": `${textsOf(tree)["data/testdata.yaml"] ?? ""}range: 0 64\n` }),
    };
    check(texts, random, (resultOf) => {
      const wanted = gradeLegacy(tree, resultOf);
      // A rejected sample that is ignored is the result if nothing follows it; a rejected program has no score.
      return ignores && wanted.verdict !== "AC" ? { ...wanted, score: null as unknown as number } : wanted;
    });
  }
});

interface Group {
  readonly rule: string;
  readonly most: number;
  readonly requires: readonly string[];
  readonly tests: readonly string[];
}

test("groups of the format 2025-09 are graded as it says", () => {
  for (let seed = 1; seed <= 400; seed++) {
    const random = randomFrom(seed);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    const secretRule = pick(["sum", "sum", "min", "pass-fail"]);
    const names = ["secret/1", "secret/2", "secret/3"].slice(0, 1 + Math.floor(random() * 3));
    const groups = new Map<string, Group>();
    for (const name of names) {
      const before = [...groups].filter(([, { rule }]) => rule === "pass-fail").map(([other]) => other);
      const requires = ["sample", ...before].filter(() => random() < 0.3);
      const rule = secretRule === "pass-fail" ? "pass-fail" : pick(["sum", "min", "pass-fail"]);
      const tests = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, at) => `${name}/${at}`);
      groups.set(name, { rule, most: 8 * (1 + Math.floor(random() * 4)), requires, tests });
    }
    const secretRequires = random() < 0.2;
    const of = (name: string) => groups.get(name) ?? assert.fail(name);
    const texts: Record<string, string> = {
      "problem.yaml": "problem_format_version: 2025-09\nname: a\ntype: scoring\n",
      "data/secret/test_group.yaml": `score_aggregation: ${secretRule}\nmax_score: 100\n${secretRequires ? "require_pass: sample\n" : ""}`,
    };
    for (const [name, { rule, most, requires }] of groups)
      texts[`data/${name}/test_group.yaml`] =
        `score_aggregation: ${rule}\nmax_score: ${most}\nrequire_pass: [${requires.join(", ")}]\n`;
    for (const one of ["sample/1", ...names.flatMap((name) => of(name).tests)])
      Object.assign(texts, { [`data/${one}.in`]: "", [`data/${one}.ans`]: "" });
    check(texts, random, (resultOf) => {
      const needed = new Set(["sample/1"]);
      const passed = new Map([["sample", resultOf("sample/1").verdict === "AC"]]);
      const runsSecret = !secretRequires || passed.get("sample");
      let first: JudgementVerdict = resultOf("sample/1").verdict;
      const scores = names.map((name) => {
        const { rule, most, requires, tests } = of(name);
        passed.set(name, false);
        if (!runsSecret || !requires.every((other) => passed.get(other))) return 0;
        for (const one of tests) needed.add(one);
        const results = tests.map(resultOf);
        for (const { verdict } of results) if (first === "AC") first = verdict;
        const isAccepted = results.every(({ verdict }) => verdict === "AC");
        passed.set(name, isAccepted);
        const each = rule === "sum" ? most / tests.length : most;
        const own = results.map(({ verdict }) => (verdict === "AC" ? each : 0));
        if (rule === "pass-fail") return isAccepted ? most : 0;
        return rule === "min" ? Math.min(...own) : own.reduce((sum, score) => sum + score, 0);
      });
      const allPassed = runsSecret && names.every((name) => passed.get(name));
      const sum = scores.reduce((total, score) => total + score, 0);
      const score =
        secretRule === "pass-fail" ? (allPassed ? 100 : 0) : secretRule === "min" ? Math.min(...scores) : sum;
      return { verdict: first, score, needed };
    });
  }
});
