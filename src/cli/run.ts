import { readFile } from "node:fs/promises";
import { Command, Option } from "commander";
import type { Language } from "../domain/language.ts";
import { PROFILE_NAMES, type ProfileName } from "../domain/limits.ts";
import type { Outcome } from "../domain/outcome.ts";
import { type SubmissionRecord, toRecord } from "../domain/record.ts";
import { newSubmission, type Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { Slot } from "../sandbox/slot.ts";
import { buildOutcome } from "../verdict/build-outcome.ts";
import { plan } from "../worker/plan.ts";
import { runSteps } from "../worker/run-steps.ts";
import { toJson } from "./answer.ts";
import { installedLanguages } from "./installed-languages.ts";
import { type ProgramFlags, readProgram, withProgram } from "./read-program.ts";
import { describe } from "./verdict-text.ts";
import { DATA } from "./with-store.ts";

interface RunFlags extends ProgramFlags {
  readonly stdin?: string;
  readonly profile: ProfileName;
  readonly json?: boolean;
  readonly launcherSocket: string;
}

/** The caller of a run without a service. */
const NOBODY = {
  keyId: "",
  accountId: "",
  projectId: null,
  requestsPerMinute: 0,
  concurrency: 1,
  executions: 1,
  profiles: PROFILE_NAMES,
  defaultProfile: PROFILE_NAMES[0],
};

/** `assay run PATH`: runs one program in the sandbox. The exit code is 0 only for AC. */
export function runCommand(): Command {
  return withProgram(new Command("run"))
    .description(
      "Run one program in the sandbox, without a service, and print its verdict and evidence. The exit code is 0 only for AC.",
    )
    .option("--stdin <file>", "standard input of the program; - passes on the input of this command")
    .addOption(new Option("--profile <name>", "set of limits").choices(PROFILE_NAMES).default("judge"))
    .option("--json", "print the record as the API returns it")
    .option(...DATA)
    .addOption(new Option("--launcher-socket <path>").hideHelp().makeOptionMandatory())
    .action(runFile);
}

async function runFile(path: string, flags: RunFlags): Promise<void> {
  const languages = installedLanguages();
  const { language, program: read } = await readProgram(path, flags, languages);
  const program = { ...read, stdin: await readInput(flags.stdin) };
  const record = await runProgram(program, language, flags.profile, languages, flags.launcherSocket);
  process.stdout.write(flags.json ? `${toJson(record, 2)}\n` : describe(record));
  process.exitCode = record.result.verdict === "AC" ? 0 : 1;
}

async function runProgram(
  program: Program,
  language: Language,
  profile: ProfileName,
  languages: Languages,
  socket: string,
): Promise<SubmissionRecord> {
  const request = { language: language.name, profile, code: "", stdin: "" };
  const submission = newSubmission(request, NOBODY, Date.now());
  const slot = await Slot.open(socket);
  const startedAtMs = Date.now();
  let outcome: Outcome;
  try {
    outcome = buildOutcome(await runSteps(slot, plan(language, languages.limitsFor(language, profile), program)));
  } finally {
    slot.close();
  }
  const ended = { status: outcome.status, attempts: 1, startedAtMs, completedAtMs: Date.now(), outcome };
  return toRecord({ ...submission, ...ended });
}

async function readInput(from: string | undefined): Promise<Buffer> {
  if (from === undefined) return Buffer.alloc(0);
  if (from !== "-") return readFile(from);
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
