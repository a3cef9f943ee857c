import type { CheckerSpec } from "../../domain/check.ts";
import { explain } from "../../domain/explain/explanation.ts";
import { proofs } from "../../domain/explain/proofs.ts";
import { cutStreams, usage } from "../../domain/explain/usage.ts";
import { LongText } from "../../domain/json-pieces.ts";
import {
  earned,
  groupScores,
  type Judgement,
  limitsOfTest,
  rounded,
  totalOf,
  verdictIn,
} from "../../domain/judgement.ts";
import { lowered } from "../../domain/program-options.ts";
import { toLongRecord } from "../../domain/record.ts";
import type { Submission } from "../../domain/submission.ts";
import type { Languages } from "../../languages/load.ts";
import type { ContentStart, FoundJudgement, ReadJudgement } from "../../store/search/types.ts";
import type {
  JudgedChecker,
  JudgementDetail,
  JudgementRow,
  JudgementState,
  TestDetail,
  TestLimits,
  TestRun,
  TextBeginning,
} from "./api/judgements.ts";

/** The most bytes of an input, an answer or an output that a page shows. */
export const SHOWN_BYTES = 65_536;

/** A JudgementDetail whose source is decoded while the response is written. */
export interface LongJudgement extends Omit<JudgementDetail, "source"> {
  readonly source: { readonly name: string; readonly text: LongText };
}

export function toJudgementRow({ createdAtMs, completedAtMs, states, ...named }: FoundJudgement): JudgementRow {
  return {
    ...named,
    passed: states.filter((state) => state === "AC").length,
    ended: states.filter((state) => verdictIn(state) !== null).length,
    total: states.length,
    createdAt: new Date(createdAtMs).toISOString(),
    completedAt: completedAtMs === null ? null : new Date(completedAtMs).toISOString(),
  };
}

/** @param found the same judgement as a search found it, with the names that `judgement` does not have. */
export function stateOf(found: FoundJudgement, judgement: Judgement): JudgementState {
  const { definition, states, runs, status, verdict, score, grading, completedAtMs } = judgement;
  const ended = new Map(runs.map((run) => [run.test, run]));
  const shares = states.map((_, test) => ended.get(test)?.share ?? 0);
  const depends = new Map(definition.groups.map((group) => [group.name, group.depends]));
  const groups = groupScores(definition, states, shares, grading).map((group) => ({
    ...group,
    depends: depends.get(group.name) ?? [],
  }));
  const total = totalOf(groups);
  return {
    row: toJudgementRow({ ...found, states, status, verdict, score, completedAtMs }),
    grader: definition.grader ? { submissionId: grading?.submissionId ?? null, message: grading?.fault ?? null } : null,
    score: score ?? total.score,
    maxScore: total.maxScore,
    groups,
    tests: states.map((state, test) => {
      const run = ended.get(test);
      const meta = definition.tests[test];
      const { name = "", group = "", points = 0 } = meta ?? {};
      return {
        name,
        group,
        state,
        points: rounded(earned(meta, state, run?.share ?? 0)),
        maxPoints: points,
        message: run?.message ?? null,
        submissionId: run?.submissionId ?? null,
        cpuMs: run?.cpuUsec == null ? null : run.cpuUsec / 1e3,
        wallMs: run?.wallNs == null ? null : run.wallNs / 1e6,
        memoryBytes: run?.memoryBytes ?? null,
      };
    }),
  };
}

export function judgementDetailOf({ found, judgement, program }: ReadJudgement, languages: Languages): LongJudgement {
  const { options } = program;
  const entry = options?.files.find(({ name }) => name === options.entry);
  const language = languages.resolve(judgement.language);
  return {
    ...stateOf(found, judgement),
    stop: judgement.stop,
    checker: toChecker(judgement.definition.checker),
    limits: limitsOf({ judgement, program }, languages),
    source: {
      name: entry?.name ?? language?.source ?? "",
      text: new LongText(entry?.data ?? program.code),
    },
    files: (options?.files ?? []).filter((file) => file !== entry).map(({ name }) => name),
  };
}

function limitsOf({ judgement, program }: Pick<ReadJudgement, "judgement" | "program">, languages: Languages) {
  const language = languages.resolve(judgement.language);
  if (!language) return [];
  return judgement.definition.tests.map((_, test): TestLimits => {
    const { limits } = limitsOfTest(judgement.definition, test);
    const { execute } = languages.limitsForTest(language, judgement.profile, limits);
    const { cpuMs, wallMs, memoryBytes } = lowered(execute, program.options?.limits ?? {});
    return { cpuMs, wallMs, memoryBytes };
  });
}

export function toChecker(spec: CheckerSpec): JudgedChecker {
  if (spec.type === "program") {
    const program = { interface: spec.interface, language: spec.language };
    return { type: spec.type, caseSensitive: true, absolute: null, relative: null, program };
  }
  const { type, caseSensitive = true, absolute = null, relative = null } = spec;
  return { type, caseSensitive, absolute, relative, program: null };
}

/** A type whose texts are decoded while the response is written. */
type Long<T> = { readonly [K in keyof T]: T[K] extends string ? LongText : T[K] };
type LongShown = Long<TextBeginning>;

export interface LongTest extends Omit<TestDetail, "input" | "expected" | "run"> {
  readonly input: LongShown;
  readonly expected: readonly LongShown[];
  readonly run:
    | (Omit<TestRun, "stdout" | "stderr"> & { readonly stdout: LongShown | null; readonly stderr: LongShown | null })
    | null;
}

/** @param contents the input, then the answers. @param run the submission that ran the test; undefined if there is none. */
export function testDetailOf(contents: readonly ContentStart[], run: Submission | undefined): LongTest {
  const [input, ...expected] = contents.map(toShown);
  return {
    input: input ?? toShown({ bytes: Buffer.alloc(0), size: 0 }),
    expected,
    run: run?.outcome ? toRun(run) : null,
  };
}

function toRun(submission: Submission): LongTest["run"] {
  const record = toLongRecord(submission);
  const runStats = submission.outcome?.runStats;
  const { id, status, result, output, evidence } = record;
  const shown = (text: LongText | null) =>
    text && toShown({ bytes: text.bytes.subarray(0, SHOWN_BYTES), size: text.bytes.length });
  return {
    row: { id, status, verdict: result.verdict },
    record: { result },
    stdout: shown(output.stdout),
    stderr: shown(output.stderr),
    integrity: output.integrity,
    cut: cutStreams(output.integrity, runStats),
    explanation: explain(record, runStats),
    usage: usage(record, runStats),
    proofs: proofs(evidence),
  };
}

function toShown({ bytes, size }: ContentStart): LongShown {
  const cut = bytes.length < size;
  return { text: new LongText(bytes, cut), size, cut };
}
