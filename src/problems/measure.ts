import type { Languages } from "../languages/load.ts";
import type { LocalJudge, LocalRun } from "../worker/judge-locally.ts";
import { compare, formatVerdict, tail } from "./compare.ts";
import { PackageError, type PackageFiles } from "./files.ts";
import { type JudgedSubmission, judgeSubmission, timeLimitOf } from "./judge-submission.ts";
import { ceilingOf } from "./limits.ts";
import type { ProblemPackage } from "./package.ts";
import { readSubmissions } from "./submissions.ts";
import { applies } from "./timing.ts";

/**
 * Measures the time limit that follows from the submissions that bound it from below, such as the accepted ones. The first run
 * of one of them that is not as the package expects ends the measurement, because the time of such a submission means nothing.
 * @param onProgress called before each submission.
 * @returns seconds. @throws SandboxError if the slot is lost, PackageError if a run is not as expected, or if no time limit
 * follows.
 */
export async function measureTimeLimit(
  files: PackageFiles,
  problem: ProblemPackage,
  judge: LocalJudge,
  languages: Languages,
  onProgress: (step: string) => void = () => {},
): Promise<number> {
  const { definition } = problem;
  const judged: JudgedSubmission[] = [];
  for (const submission of readSubmissions(files, problem, languages)) {
    const { path, about } = submission;
    const bounding = about.expectations.filter(({ timeLimit }) => timeLimit === "lower" || timeLimit === "both");
    if (bounding.length === 0) continue;
    if (submission.fault) throw submission.fault;
    onProgress(path);
    const concerns = bounding.map((expectation) => [expectation, applies(expectation, definition)] as const);
    const onRun = ({ test, verdict, message }: LocalRun) => {
      const expectations = concerns.filter(([, isIn]) => isIn(test));
      const found = formatVerdict(verdict);
      const expected = expectations.every(([{ permitted }]) => found !== "skipped" && permitted.includes(found));
      if (expected && !(expectations.length > 0 && verdict === "TLE") && verdict !== "CE" && verdict !== "IE") return;
      const testName = definition.tests[test]?.name ?? "";
      throw new PackageError(path, `cannot be measured for the time limit: ${verdict} on ${testName}${tail(message)}`);
    };
    const cpuSecs = ceilingOf("time_limit", languages);
    const one = await judgeSubmission(submission, problem, { judge, cpuSecs, onRun });
    const [fault] = one ? compare(path, bounding, one.result.runs, definition, null).faults : [];
    if (fault !== undefined) throw new PackageError(path, `cannot be measured for the time limit: ${fault}`);
    if (one) judged.push(one);
  }
  const { limitSecs, faults } = timeLimitOf(problem, judged, languages);
  const [fault] = faults;
  if (fault !== undefined) throw new PackageError("the package", fault);
  if (limitSecs === null)
    throw new PackageError("the package", "has no time limit, and no submission in an installed language to measure");
  return limitSecs;
}
