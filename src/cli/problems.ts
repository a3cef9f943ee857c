import { Command, Option } from "commander";
import { readProblem } from "../problems/package.ts";
import { readPackage } from "../problems/read.ts";
import { type Verified, verify } from "../problems/verify.ts";
import { Slot } from "../sandbox/slot.ts";
import { LocalJudge } from "../worker/judge-locally.ts";
import { answer, escaped, sayStep, table } from "./answer.ts";
import { installedLanguages } from "./installed-languages.ts";
import { addStored } from "./problems-stored.ts";
import { DATA } from "./with-store.ts";

interface VerifyFlags {
  readonly json?: boolean;
  readonly launcherSocket: string;
}

/** `assay problems`: problem packages. */
export function problemsCommand(): Command {
  const problems = new Command("problems")
    .description("Check and store problem packages.")
    .option(...DATA)
    .addOption(new Option("--launcher-socket <path>").hideHelp());
  problems
    .command("verify")
    .description(
      "Run the validators and the submissions of a problem package in the format legacy, 2025-09 or DMOJ, without a service. Print a table of the submissions, the time limit and the faults. Submissions in languages that are not installed are skipped. The exit code is 0 only if there is no fault and all other submissions meet the expectations of the package.",
    )
    .argument("<directory|zip>", "problem package")
    .option("--json", "print the result as JSON")
    .action((directory: string, _: unknown, command: Command) => verifyPackage(directory, command.optsWithGlobals()));
  addStored(problems);
  return problems;
}

async function verifyPackage(directory: string, flags: VerifyFlags): Promise<void> {
  const languages = installedLanguages();
  const files = await readPackage(directory);
  const problem = readProblem(files, languages);
  const slot = await Slot.open(flags.launcherSocket);
  try {
    const verified = await verify(files, problem, new LocalJudge(slot, languages), languages, sayStep);
    answer(flags.json, { ...verified, title: problem.title, format: problem.format }, () => toText(verified));
    const isClean = verified.faults.length === 0 && verified.submissions.every(({ faults }) => faults.length === 0);
    process.exitCode = isClean ? 0 : 1;
  } finally {
    slot.close();
  }
}

function toText({ faults, timeLimitSecs, submissions }: Verified): string {
  const rows = submissions.map((one) => [
    one.path,
    one.language ?? "",
    one.verdict ?? "skipped",
    one.slowestSecs === null ? "" : one.slowestSecs.toFixed(3),
    one.score === null ? "" : String(one.score),
    one.verdict === null ? "no installed language" : one.faults.join("; ") || "as expected",
  ]);
  const head = ["submission", "language", "verdict", "CPU s", "score", "result"];
  const limit = timeLimitSecs === null ? "no time limit" : `time limit ${timeLimitSecs} s`;
  return [table(head, rows), limit, ...faults.map((fault) => `fault: ${escaped(fault)}`)].join("\n");
}
