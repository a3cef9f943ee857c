import {
  earned,
  type FoundJudgement,
  type GroupScore,
  groupScores,
  type Judgement,
  rounded,
  type TestState,
  totalOf,
  verdictIn,
} from "./judgement.ts";

/** The version of the JSON of a judgement. No other file builds this JSON. */
export const JUDGEMENT_SCHEMA_VERSION = "judgement-1.0" as const;

/** The summary of a judgement, as lists contain it. */
export function toJudgementSummary({ states, ...judgement }: FoundJudgement) {
  return {
    id: judgement.id,
    schema_version: JUDGEMENT_SCHEMA_VERSION,
    language: judgement.language,
    profile: judgement.profile,
    problem: judgement.problem,
    status: judgement.status,
    timestamps: {
      created_at: new Date(judgement.createdAtMs).toISOString(),
      completed_at: judgement.completedAtMs === null ? null : new Date(judgement.completedAtMs).toISOString(),
    },
    verdict: judgement.verdict,
    score: judgement.score,
    tests: {
      total: states.length,
      passed: states.filter((state) => state === "AC").length,
      ended: states.filter((state) => verdictIn(state) !== null).length,
    },
  };
}

/** The whole judgement in its present state. */
export function toJudgementRecord(judgement: Judgement) {
  const { definition, states, stop, grading } = judgement;
  const ended = new Map(judgement.runs.map((run) => [run.test, run]));
  const shares = states.map((_, test) => ended.get(test)?.share ?? 0);
  const groups = groupScores(definition, states, shares, grading);
  return {
    ...toJudgementSummary(judgement),
    max_score: totalOf(groups).maxScore,
    stop,
    checker: definition.checker.type,
    ...(definition.grader && {
      grader: { submission_id: grading?.submissionId ?? null, message: grading?.fault ?? null },
    }),
    groups: groups.map(toGroup),
    runs: states.map((state, test) => {
      const run = ended.get(test);
      const meta = definition.tests[test];
      const { name = "", group = "", points = 0 } = meta ?? {};
      return {
        name,
        group,
        status: statusOf(state),
        verdict: verdictIn(state),
        points: rounded(earned(meta, state, run?.share ?? 0)),
        max_points: points,
        message: run?.message ?? null,
        submission_id: run?.submissionId ?? null,
        cpu_time_secs: run?.cpuUsec == null ? null : rounded(run.cpuUsec / 1e6),
        wall_time_secs: run?.wallNs == null ? null : rounded(run.wallNs / 1e9),
        memory_peak_bytes: run?.memoryBytes ?? null,
      };
    }),
  };
}

function toGroup({ name, rule, parent, score, maxScore, passed }: GroupScore) {
  return { name, rule, parent, score, max_score: maxScore, passed };
}

function statusOf(state: TestState): "waiting" | "queued" | "completed" | "skipped" {
  return state === "waiting" || state === "queued" || state === "skipped" ? state : "completed";
}
