import { z } from "zod";
import { CHECKER_TYPES } from "../../domain/check.ts";
import { GROUP_RULES, JUDGEMENT_VERDICTS, STOPS } from "../../domain/judgement.ts";
import { JUDGEMENT_SCHEMA_VERSION } from "../../domain/judgement-record.ts";
import { LIMIT_FIELD_NAMES, type LimitField } from "../../domain/program-options.ts";
import { MAX_SAMPLES } from "../../domain/samples.ts";
import { judgeBody } from "../api/judge.ts";
import { checkerField, judgementBody } from "../api/judgement-request.ts";
import { additionFields, content } from "../api/program-options.ts";
import { MAX_BATCH } from "../api/submissions.ts";
import { submitBody } from "../api/submit-request.ts";
import { profile, RECORD_PARTS, record, status, verdict } from "./record-schema.ts";

/** The bodies of all requests and responses, and parts of them, by their names in /openapi.json. */

const count = z.int().min(0);
const id = z.uuid().describe("Id of the submission");

const check = z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string() });
const enforcement = z.enum(["strict", "none"]).describe("`strict` if a recent self-test proved full isolation");

const error = z.strictObject({ error: z.string(), message: z.string().optional() });

const accepted = z.strictObject({
  id,
  status: z.literal("pending"),
  queue_depth: count.describe("Number of pending submissions of all keys, including this one"),
});
const time = z.iso.datetime();
const command = z.strictObject({ command: z.array(z.string()), env: z.record(z.string(), z.string()) });
const limits = z.strictObject(
  Object.fromEntries(LIMIT_FIELD_NAMES.map((field) => [field, z.number()])) as Record<LimitField, z.ZodNumber>,
);

const judgementId = z.uuid().describe("Id of the judgement");
const judgementVerdict = z
  .enum(JUDGEMENT_VERDICTS)
  .describe(
    "WA: the output is wrong. CE: the program does not compile. The other verdicts have the same meaning as in the record",
  );
const summaryFields = {
  id: judgementId,
  schema_version: z.literal(JUDGEMENT_SCHEMA_VERSION),
  language: z.string(),
  profile,
  problem: z
    .strictObject({ id: z.uuid(), version: z.int().min(1) })
    .nullable()
    .describe("The problem and its version; null if the request had the tests"),
  status: status.describe("`error` if and only if the verdict is IE"),
  timestamps: z.strictObject({ created_at: time, completed_at: time.nullable() }),
  verdict: judgementVerdict.nullable(),
  score: z.number().nullable().describe("Null until the judgement has ended"),
  tests: z.strictObject({ total: count, passed: count, ended: count }),
};

const judgementSummary = z.strictObject(summaryFields);
const groupResult = z.strictObject({
  name: z.string().describe("Empty for the tests without a group"),
  rule: z.enum(GROUP_RULES),
  score: z.number(),
  max_score: z.number(),
  passed: z.boolean().nullable().describe("Whether all tests passed; null while all of them can still pass"),
});
const run = z.strictObject({
  name: z.string(),
  group: z.string(),
  status: z.enum(["waiting", "queued", "completed", "skipped"]).describe("`skipped` if the test was not needed"),
  verdict: judgementVerdict.nullable(),
  points: z.number(),
  max_points: z.number(),
  message: z.string().nullable().describe("The message of the checker, or the error message of the record"),
  submission_id: id.nullable().describe("The id of the record; null until the run has ended"),
  cpu_time_secs: z.number().nullable(),
  wall_time_secs: z.number().nullable(),
  memory_peak_bytes: z.int().nullable(),
});
const caseResult = z.strictObject({
  submission_id: id.nullable(),
  verdict: judgementVerdict,
  passed: z.boolean(),
  message: z.string().nullable().describe("The first difference, or the error message of the record"),
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.int().nullable(),
  cpu_time_secs: z.number().nullable(),
  wall_time_secs: z.number().nullable(),
  memory_peak_bytes: z.int().nullable(),
});
const usageSample = z.strictObject({
  at_secs: z.number().min(0).describe("Time since the start of the program"),
  cpu_time_secs: z.number().min(0).describe("CPU time used until then"),
  memory_bytes: count.describe("The highest reading since the previous sample"),
});
const runUsage = z.strictObject({
  step: z.enum(["compile", "execute"]).describe("`compile` if only the compiler ran"),
  wall_time_secs: z.number().min(0),
  cpu_time_secs: z.number().min(0),
  memory_peak_bytes: count,
  memory_limit_bytes: count,
  samples: z.array(usageSample).max(MAX_SAMPLES),
});
const submissionSummary = z.strictObject({
  id,
  status,
  verdict: verdict.nullable(),
  language: z.string(),
  profile,
  created_at: time,
  started_at: time.nullable(),
  completed_at: time.nullable(),
});
const languageLimits = z.strictObject({ compile: limits.nullable(), execute: limits });
const language = z.strictObject({
  name: z.string(),
  label: z.string().describe("Name of the language with its version and standard"),
  aliases: z.array(z.string()),
  source: z.string().describe("Name of the source file in /box"),
  compile: command.nullable(),
  execute: command,
  limits: z.record(profile, languageLimits),
});
const [, builtInChecker, programChecker] = checkerField.options;
const [plainChecker, tokensChecker, floatsChecker] = builtInChecker.options;

const versionFields = {
  version: z.int().min(1),
  tests: count,
  bytes: count.describe("Size of all inputs and answers"),
  limits: z
    .strictObject({ cpu_time_secs: z.number().nullable(), memory_bytes: count.nullable() })
    .describe("Limits of each test. If a limit is null, that of the profile holds"),
  created_at: time,
};
const problemVersion = z.strictObject(versionFields);
const problemFields = {
  id: z.uuid().describe("Id of the problem"),
  name: z.string().describe("Name of the problem, unique in the account"),
  title: z.string(),
  ...versionFields,
  updated_at: time,
};

export const SCHEMAS = {
  SubmitRequest: submitBody,
  Accepted: accepted,
  Record: record,
  Usage: z.strictObject({
    id,
    usage: runUsage
      .nullable()
      .describe("Null until the run has ended, for a run of less than 30 ms, and if the platform failed"),
  }),
  Health: z.strictObject({
    status: z.enum(["ok", "degraded"]),
    enforcement_mode: enforcement,
    workers: count.describe("Number of submissions that can run at the same time"),
    queue_depth: count.describe("Number of pending submissions of all keys"),
  }),
  Ready: z.strictObject({
    status: z.literal("ready"),
    enforcement_mode: enforcement,
    cgroup_backend: z.enum(["cgroup_v2", "cgroup_v1", "cgroup_hybrid"]).nullable(),
    checks: z.array(check),
  }),
  Submissions: z.strictObject({
    submissions: z.array(submissionSummary),
    next: z.string().nullable().describe("The value of `before` for the next page; null if there are no older entries"),
  }),
  BatchRequest: z.array(submitBody).min(1).max(MAX_BATCH),
  Batch: z.array(z.union([accepted, error])),
  LanguageDetails: z.array(language),
  Languages: z.array(z.string()).describe("The canonical names of the languages"),
  Error: error,
  NotFinished: z.strictObject({ error: z.string(), id, status }),
  JudgeRequest: judgeBody,
  Judged: z.strictObject({
    results: z.array(caseResult),
    all_passed: z.boolean(),
  }),
  JudgementRequest: judgementBody,
  JudgementAccepted: z.strictObject({ id: judgementId, status: z.literal("pending") }),
  Judgement: z.strictObject({
    ...summaryFields,
    max_score: z.number(),
    stop: z.enum(STOPS),
    checker: z.enum([...CHECKER_TYPES, "program"]),
    groups: z.array(groupResult),
    runs: z.array(run).describe("The runs, in the order of the tests"),
  }),
  Judgements: z.strictObject({
    judgements: z.array(judgementSummary),
    next: z.string().nullable().describe("The value of `before` for the next page; null if there are no older entries"),
  }),
  Problem: z.strictObject({
    ...problemFields,
    versions: z.array(problemVersion).describe("All versions that are stored, newest first"),
  }),
  Problems: z.strictObject({
    problems: z.array(z.strictObject(problemFields)),
    next: z.string().nullable().describe("The value of `before` for the next page; null if there are no older entries"),
  }),
  NotReady: z.strictObject({ error: z.string(), status: z.literal("not_ready"), checks: z.array(check) }),
} as const;

/** Parts of bodies that have a name in /openapi.json, so that generated clients get a type for each. */
const PARTS = {
  ...RECORD_PARTS,
  Content: content,
  Base64: content.options[1],
  RunLimits: additionFields.limits.unwrap(),
  RunUsage: runUsage,
  UsageSample: usageSample,
  SubmissionSummary: submissionSummary,
  Language: language,
  LanguageLimits: languageLimits,
  Limits: limits,
  Command: command,
  Check: check,
  Case: judgeBody.shape.cases.element,
  CaseResult: caseResult,
  JudgementTest: judgementBody.shape.tests.unwrap().element,
  JudgementGroup: judgementBody.shape.groups.unwrap().element,
  BuiltInChecker: builtInChecker,
  PlainChecker: plainChecker,
  TokensChecker: tokensChecker,
  FloatsChecker: floatsChecker,
  ProgramChecker: programChecker,
  JudgementVerdict: judgementVerdict,
  JudgementSummary: judgementSummary,
  GroupResult: groupResult,
  Run: run,
} as const;

export type SchemaName = keyof typeof SCHEMAS;

/** A JSON Schema 2020-12 for each body. It has no references to others. */
export function jsonSchemas(): Record<SchemaName, Record<string, unknown>> {
  const named = Object.entries(SCHEMAS).map(([name, schema]) => {
    // Input and output types are the same: no schema has transforms or defaults.
    const { $schema: _, ...json } = z.toJSONSchema(schema as z.ZodType, { target: "draft-2020-12" });
    return [name, json];
  });
  return Object.fromEntries(named);
}

/** The schemas of bodies and parts, with references to each other, for the components of /openapi.json. */
export function componentSchemas(): Record<string, Record<string, unknown>> {
  const named = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries({ ...SCHEMAS, ...PARTS })) named.add(schema, { id });
  const uri = (id: string) => `#/components/schemas/${id}`;
  const { schemas } = z.toJSONSchema(named, { target: "draft-2020-12", uri });
  return Object.fromEntries(Object.entries(schemas).map(([name, { $schema, $id, ...json }]) => [name, json]));
}
