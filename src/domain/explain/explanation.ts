import { CAUSES, type Cause, LIMIT_CAUSES, type LimitCause, type StepCause } from "../causes.ts";
import type { RunStats } from "../outcome.ts";
import type { RunRecord } from "../record.ts";
import type { ExplainedRun, Explanation } from "./facts.ts";

/** Explains the verdict of a record by its row in the table of causes. @returns null for a submission that has not ended. */
export function explain(record: RunRecord, runStats?: RunStats): Explanation | null {
  const cause = record.result.cause as Cause | null;
  if (cause === null) return null;
  const facts: ExplainedRun = { record, runStats, group: record.evidence?.limits.cgroup };
  const limit = limitOfCompiler(cause);
  return limit ? ofCompiler(CAUSES[limit].explain(facts)) : CAUSES[cause as StepCause].explain(facts);
}

function limitOfCompiler(cause: Cause): LimitCause | undefined {
  return LIMIT_CAUSES.find((limit) => cause === `compile_${limit}`);
}

/** Turns the explanation of a limit of the execute step into that of the same limit of the compile step. */
function ofCompiler({ title, text, whyNot }: Explanation): Explanation {
  return {
    title: `${title} by the compiler`,
    text: `The compiler reached a limit, so your program was never run. ${text.replaceAll("The program", "The compiler").replaceAll("the program", "the compiler")}`,
    whyNot: [
      {
        verdict: "RE",
        text: "A program that the compiler rejects is RE. Here the compiler ended before it could accept or reject the program.",
      },
      ...whyNot.filter(({ verdict }) => verdict !== "RE"),
    ],
  };
}
