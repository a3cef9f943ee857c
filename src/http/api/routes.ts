import type { Route } from "../route.ts";
import { health, ready } from "./health.ts";
import { judge } from "./judge.ts";
import { cancelJudgement, judgeAgain, judgement, judgementEvents, judgements, judgeOnTests } from "./judgements.ts";
import { languageDetails, languages } from "./languages.ts";
import { connect, endInput, input, signal } from "./live-input.ts";
import { deleteProblem, importProblem, problem, problems } from "./problems.ts";
import { cancel, compileOutput, events, result, runs, stderr, stdout, submissionEgress } from "./result.ts";
import { attachExecution } from "./sandboxes/attach.ts";
import {
  execute,
  execution,
  executionEvents,
  executionInput,
  executionSignal,
  executionStderr,
  executionStdout,
  executions,
  killExecution,
  resizeTerminal,
} from "./sandboxes/executions.ts";
import {
  fileEvents,
  fileInfo,
  listFiles,
  makeDirectory,
  moveFile,
  readArchive,
  readFile,
  removeFile,
  writeArchive,
  writeFile,
} from "./sandboxes/files.ts";
import { networkOffer, replaceNetwork, sandboxEgress } from "./sandboxes/network.ts";
import {
  changeSandbox,
  createSandbox,
  endSandbox,
  pauseSandbox,
  resumeSandbox,
  sandbox,
  sandboxes,
  sandboxMetrics,
} from "./sandboxes/sandboxes.ts";
import { deleteSnapshot, snapshot, snapshots, takeSnapshot } from "./sandboxes/snapshots.ts";
import { batch, submissions } from "./submissions.ts";
import { submit } from "./submit.ts";
import { usage } from "./usage.ts";

/** All routes of the public API, in the order of the reference. */
export const ROUTES: readonly Route[] = [
  submit,
  result,
  stdout,
  stderr,
  compileOutput,
  runs,
  submissionEgress,
  usage,
  cancel,
  events,
  input,
  endInput,
  signal,
  connect,
  submissions,
  batch,
  judge,
  judgeOnTests,
  judgements,
  judgement,
  cancelJudgement,
  judgeAgain,
  judgementEvents,
  importProblem,
  problems,
  problem,
  deleteProblem,
  createSandbox,
  sandboxes,
  sandbox,
  changeSandbox,
  endSandbox,
  pauseSandbox,
  resumeSandbox,
  sandboxMetrics,
  replaceNetwork,
  sandboxEgress,
  execute,
  executions,
  execution,
  executionEvents,
  executionStdout,
  executionStderr,
  executionInput,
  executionSignal,
  resizeTerminal,
  killExecution,
  attachExecution,
  readFile,
  writeFile,
  removeFile,
  fileInfo,
  listFiles,
  makeDirectory,
  moveFile,
  readArchive,
  writeArchive,
  fileEvents,
  takeSnapshot,
  snapshots,
  snapshot,
  deleteSnapshot,
  networkOffer,
  languages,
  languageDetails,
  health,
  ready,
];
