import { Command, Option } from "commander";
import { addStored } from "./problems-stored.ts";
import { verifyPackages } from "./problems-verify.ts";
import { DATA } from "./with-store.ts";

/** `assay problems`: problem packages. */
export function problemsCommand(): Command {
  const problems = new Command("problems")
    .description("Check and store problem packages.")
    .option(...DATA)
    .addOption(new Option("--launcher-socket <path>").hideHelp());
  problems
    .command("verify")
    .description(
      "Run the validators and the submissions of a problem package in the format legacy or 2025-09, or of DMOJ, Polygon or CMS, without a service. Print a table of the submissions, the time limit and the faults. Submissions in languages that are not installed are skipped. The exit code is 0 only if there is no fault and all other submissions meet the expectations of the package. For a directory that contains packages, print for each of them whether it can be read, whether it has no fault, and each fault, as soon as it has ended.",
    )
    .argument("<directory|zip>", "problem package, or a directory that contains packages")
    .option("--json", "print the result as JSON; for several packages, one line for each of them")
    .option(
      "--python <language>",
      "the language in which submissions in Python run, such as the pack pypy, with which problemtools and BAPCtools run them",
      "python",
    )
    .action((path: string, _: unknown, command: Command) => verifyPackages(path, command.optsWithGlobals()));
  addStored(problems);
  return problems;
}
