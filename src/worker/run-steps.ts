import type { WorkerSide } from "../conversation/conversation.ts";
import type { StepReport, StepReports } from "../domain/report.ts";
import { StepSizeError } from "../sandbox/refusal.ts";
import type { OnOutput, Slot } from "../sandbox/slot.ts";
import type { Step } from "../sandbox/step.ts";
import type { LiveInput } from "../store/live/input.ts";
import { judgeStep } from "../verdict/judge.ts";
import type { Artifact } from "./artifacts.ts";
import { type Plan, stepForArtifact } from "./plan.ts";

/** Access to artifacts of earlier compile steps, for one submission. */
export interface CompileCache {
  /**
   * The id of the account of the submission. A slot keeps the files of an artifact under this id, so that a later step of the account
   * need not send them again.
   */
  readonly owner: string;
  /** The artifact that an equal compile step of the account left; undefined if it is not in the cache. */
  readonly get: (compile: Step) => Artifact | undefined;
  readonly put: (compile: Step, artifact: Artifact) => void;
}

const NO_CACHE: CompileCache = { owner: "", get: () => undefined, put: () => {} };

/** Runs the execute step of a program. */
export type Execute = (step: Step, onOutput?: OnOutput) => Promise<StepReport>;

export interface RunOptions {
  /** Receives the output of the program while it runs. The output of the compiler is only in the report. */
  readonly onOutput?: OnOutput | undefined;
  readonly cache?: CompileCache;
  /** Runs the step together with an interactor, in place of a run on the slot alone. */
  readonly interact?: Execute | undefined;
}

/**
 * Runs the steps in sequence on one slot. The program runs only if the verdict table gives AC for the compile step. If the artifact is
 * in the cache, the compile step does not run, and its report is the one that was stored with the artifact.
 * @throws SandboxError or ProtocolError if the slot is lost.
 */
export async function runSteps(
  slot: Pick<Slot, "run">,
  { compile, execute, testFiles }: Plan,
  { onOutput, cache = NO_CACHE, interact = (step, output) => slot.run(step, output) }: RunOptions = {},
): Promise<StepReports> {
  if (!compile) return { execute: await interact(execute, onOutput) };
  const artifact = cache.get(compile);
  if (artifact) {
    const step = stepForArtifact(execute, compile, artifact.files, cache.owner, testFiles);
    const executed = await interact(step, onOutput);
    return { compile: artifact.report, execute: { ...executed, keptBytes: artifact.keptBytes }, compileCached: true };
  }
  // The files of a test can only be put into a new work directory.
  const { files, ...compiled } = await slot.run(testFiles ? { ...compile, more: false } : compile);
  if (judgeStep(compiled).verdict !== "AC") return { compile: compiled };
  if (testFiles) {
    if (!files) throw new StepSizeError("the compiled program is too large to be run with the files of the test");
    const step = stepForArtifact(execute, compile, files, cache.owner, testFiles);
    const executed = await interact(step, onOutput);
    cache.put(compile, { report: compiled, files, keptBytes: executed.keptBytes });
    return { compile: compiled, execute: executed };
  }
  const executed = await interact(execute, onOutput);
  if (files) cache.put(compile, { report: compiled, files, keptBytes: executed.keptBytes });
  return { compile: compiled, execute: executed };
}

const NOTHING = Buffer.alloc(0);

/**
 * Runs the execute step of a program to which clients give input, and passes it its stdin and then what they give, in order. If that
 * cannot be read, the program gets no more input. It then runs until it ends by itself or reaches a limit.
 * @param onFailure called with the error if the input of clients cannot be read.
 */
export async function runWithInput(
  slot: Pick<Slot, "run" | "input" | "signal">,
  conversation: Pick<WorkerSide, "inputs">,
  onFailure: (error: unknown) => void,
  step: Step,
  onOutput?: OnOutput,
): Promise<StepReport> {
  const over = new AbortController();
  const running = slot.run({ ...step, stdin: NOTHING, live: true }, onOutput).finally(() => over.abort());
  // An empty piece of output is the sign for clients that the program has started.
  onOutput?.("stdout", NOTHING);
  const passing = async () => {
    await pass(slot, { kind: "bytes", bytes: step.stdin });
    for await (const input of conversation.inputs(over.signal)) await pass(slot, input);
  };
  await Promise.all([running, passing().catch(onFailure)]);
  return await running;
}

async function pass(slot: Pick<Slot, "input" | "signal">, input: LiveInput): Promise<void> {
  if (input.kind === "signal") return slot.signal(input.signal);
  if (input.kind === "end") return slot.input(NOTHING);
  if (input.bytes.length > 0) await slot.input(input.bytes); // an empty buffer would end the input
}
