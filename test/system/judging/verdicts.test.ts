import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JUDGEMENT_VERDICTS, type JudgementVerdict } from "../../../src/domain/judgement.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { source, useProduct } from "../../support/programs/product.ts";
import { INPUT, LANGUAGES, MATRIX } from "../matrix/cells.ts";
import { judge } from "./judged.ts";

interface RunRecord {
  readonly evidence: { readonly isolation: { readonly mode: string } };
  readonly result: { readonly verdict: string };
}

/** A checker that fails. */
const BROKEN = { type: "program", interface: "kattis", language: "python", code: "raise SystemExit(1)" };
/** Shortens the programs that run into these limits. */
const SHORT = { wall_time_secs: 1.5, cpu_time_secs: 1 };

/** A judgement with this verdict, by the programs of the matrix. */
function requestFor(verdict: JudgementVerdict, language: string): object | null {
  const echo = { language, code: source(language, "echo") };
  if (verdict === "AC") return { ...echo, tests: [{ stdin: INPUT, expected: INPUT }] };
  if (verdict === "WA") return { ...echo, tests: [{ stdin: INPUT, expected: "another line" }] };
  if (verdict === "IE") return { ...echo, tests: [{ stdin: INPUT }], checker: BROKEN };
  const wanted = verdict === "CE" ? "compile_error" : verdict;
  const row = MATRIX.find(
    ({ program, cause, verdict: own, ends, injected }) =>
      language in ends &&
      !injected &&
      program !== "busy-threads" &&
      (cause === "compile_error" ? cause : own) === wanted,
  );
  if (!row) return null;
  const limits = verdict === "TLE" ? SHORT : {};
  return { language, code: source(language, row.program), limits, tests: [{ stdin: INPUT, expected: "" }] };
}

/** Databases with the languages of a run: what a database stores of a verdict is the same for all languages with a compile step. */
const RUNS = [
  { database: "sqlite", languages: LANGUAGES },
  { database: "postgres", languages: SKIPS_LONG ? (["c", "python"] as const) : LANGUAGES },
] as const;

for (const { database, languages } of RUNS)
  describe(`every verdict of a judgement, in ${languages.join(", ")}, on ${database}`, { concurrency: 2 }, () => {
    const product = useProduct({ workers: 2, parked: true, database });
    for (const language of languages)
      for (const verdict of JUDGEMENT_VERDICTS) {
        const request = requestFor(verdict, language);
        if (!request) {
          // JavaScript and Python have no compile step.
          assert.deepEqual([verdict, ["javascript", "python"].includes(language)], ["CE", true]);
          continue;
        }
        test(`${language}: ${verdict}`, { timeout: 60_000 }, async () => {
          const judged = await judge(product(), request);
          const [run] = judged.runs;
          assert.deepEqual([judged.verdict, run?.verdict], [verdict, verdict], JSON.stringify(judged));
          assert.equal(judged.status, verdict === "IE" ? "error" : "completed");
          const { json } = await product().ask("GET", `/api/result/${run?.submission_id}`);
          const { evidence, result } = json as RunRecord;
          assert.equal(evidence.isolation.mode, "strict");
          if (!["WA", "IE", "CE"].includes(verdict)) assert.equal(result.verdict, verdict);
        });
      }
  });
