import type { Language } from "../domain/language.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import type { LocalJudge } from "../worker/judge-locally.ts";
import type { ProblemPackage } from "./problem.ts";
import { toProgram } from "./source.ts";

/** The exit code with which validators accept. */
const ACCEPTS = "exit code 42";

/** Every validator must accept every valid input, and one must reject each invalid one. @returns faults. */
export async function verifyInputs(
  { inputValidators, tests, validation }: ProblemPackage,
  judge: LocalJudge,
  languages: Languages,
  onProgress: (step: string) => void,
): Promise<string[]> {
  const faults: string[] = [];
  const rejected = new Set<string>();
  const own = tests.map(({ meta, contents, inputValidatorArgs }) => ({
    name: meta.name,
    input: () => contents()[0],
    inputValidatorArgs,
    isInputValid: true,
  }));
  const inputs = [...own, ...validation.filter(({ isInputValid }) => isInputValid !== null)];
  for (const source of inputValidators) {
    onProgress(source.path);
    const found = toProgram(source, languages);
    if (!found) {
      faults.push(`${source.path}: is in no installed language`);
      continue;
    }
    const validator = source.path.split("/").at(-1) ?? "";
    for (const { name, input, inputValidatorArgs: args, isInputValid } of inputs) {
      const ended = await exitOf(judge, found, input(), args[validator] ?? args[""] ?? []);
      if (ended === ACCEPTS) continue;
      if (isInputValid) faults.push(`data/${name}.in: ${source.path} ends with ${ended}`);
      else rejected.add(name);
    }
  }
  for (const { name, isInputValid } of inputs)
    if (isInputValid === false && !rejected.has(name)) faults.push(`data/${name}.in: no input validator rejects it`);
  return faults;
}

async function exitOf(
  judge: LocalJudge,
  { language, program }: { readonly language: Language; readonly program: Program },
  stdin: Buffer,
  args: readonly string[],
): Promise<string> {
  const { judgement } = await judge.run(language, "judge", program, stdin, args);
  if (judgement.cause.startsWith("compile_")) return "an error of its compiler";
  return judgement.exitCode === null ? judgement.verdict : `exit code ${judgement.exitCode}`;
}

/**
 * Outputs of the package that the output validator must accept or reject. A package of DMOJ has none: its checker must work with
 * the answers. @returns faults.
 */
export async function verifyOutputs(problem: ProblemPackage, judge: LocalJudge): Promise<string[]> {
  const faults: string[] = [];
  for (const { name, input, output, checker } of problem.validation) {
    if (!output) continue;
    const wanted = output.isValid ? "AC" : "WA";
    const test = { checker, checkerProgram: problem.checker, answers: [output.answer()], points: 0 };
    const { verdict, message } = await judge.check(test, input(), output.content());
    if (verdict !== wanted) faults.push(`data/${name}.out: is ${verdict}, not ${wanted}${tail(message)}`);
  }
  for (const { meta, contents } of problem.format === "dmoj" ? problem.tests : []) {
    const { checker = problem.definition.checker, name, points } = meta;
    const [input, answer] = contents();
    const test = { checker, checkerProgram: problem.checker, answers: [answer], points };
    const { verdict, message } = await judge.check(test, input, answer);
    if (verdict === "IE") faults.push(`test ${name}: the checker fails for its answer${tail(message)}`);
  }
  return faults;
}

export function tail(message: string | null): string {
  return message ? `: ${message}` : "";
}
