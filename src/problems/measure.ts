import type { Languages } from "../languages/load.ts";
import type { LocalJudge } from "../worker/judge-locally.ts";
import { PackageError, type PackageFiles } from "./files.ts";
import type { ProblemPackage } from "./package.ts";
import { formatVerdict, type Judged, SubmissionJudge } from "./submissions.ts";
import { applies } from "./timing.ts";

/**
 * The time limit that follows from the submissions that bound it from below, such as the accepted ones. The first run of one of them
 * that is not as the package expects ends the measurement: of such a submission, the time means nothing.
 * @param onProgress called before each submission. @throws SandboxError if the slot is lost, PackageError.
 */
export async function measureTimeLimit(
  files: PackageFiles,
  problem: ProblemPackage,
  judge: LocalJudge,
  languages: Languages,
  onProgress: (step: string) => void = () => {},
): Promise<number> {
  const { definition, submissions } = problem;
  const submissionJudge = new SubmissionJudge(files, problem, judge, languages);
  const judged: Judged[] = [];
  for (const source of submissions) {
    const bounding = submissionJudge
      .aboutOf(source)
      .expectations.filter(({ timeLimit }) => timeLimit === "lower" || timeLimit === "both");
    if (bounding.length === 0) continue;
    onProgress(source.path);
    const one = await submissionJudge.run(source, ({ test, verdict, message }) => {
      const own = bounding.filter((expectation) => applies(expectation, definition, test));
      const found = formatVerdict(verdict);
      const expected = own.every(({ permitted }) => found !== "skipped" && permitted.includes(found));
      if (expected && !(own.length > 0 && verdict === "TLE") && verdict !== "CE" && verdict !== "IE") return;
      const where = definition.tests[test]?.name ?? "";
      const tail = message ? `: ${message}` : "";
      throw new PackageError(source.path, `cannot be measured for the time limit: ${verdict} on ${where}${tail}`);
    });
    if (one) judged.push(one);
  }
  const { limitSecs, faults } = submissionJudge.timeLimit(judged);
  const [fault] = faults;
  if (fault !== undefined) throw new PackageError("the package", fault);
  if (limitSecs === null)
    throw new PackageError("the package", "has no time limit, and no submission in an installed language to measure");
  return limitSecs;
}
