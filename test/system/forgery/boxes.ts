import assert from "node:assert/strict";
import { after, before } from "node:test";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import type { Limits, ProfileName } from "../../../src/domain/limits.ts";
import type { Outcome } from "../../../src/domain/outcome.ts";
import type { StepReport } from "../../../src/domain/report.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { plan } from "../../../src/worker/plan.ts";
import { runSteps } from "../../../src/worker/run-steps.ts";
import { type Launcher, type LauncherOptions, startLauncher } from "../../support/launcher/launcher.ts";
import { source } from "../../support/programs/product.ts";
import { park } from "../../support/sandbox/parked.ts";

export interface Judged {
  /** The facts of the execute step, or of the compile step if there was no execute step. */
  readonly facts: StepReport;
  readonly outcome: Outcome;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Trial {
  readonly stdin?: string;
  readonly profile?: ProfileName;
  /** Changes to the language's limits for the execute step. */
  readonly limits?: Partial<Limits>;
}

export interface Boxes {
  readonly launcher: Launcher;
  /** Runs a program of test/programs/<language>/forgery/ with the plan, launcher and judge of normal submissions. */
  readonly judged: (language: string, name: string, trial?: Trial) => Promise<Judged>;
  readonly judgedCode: (language: string, code: string, trial?: Trial) => Promise<Judged>;
}

const languages = installedLanguages();

/** Runs a program on a slot with the plan and the judge of normal submissions. */
export async function judgedOn(
  slot: Slot,
  name: string,
  code: string,
  { stdin = "", profile = "judge", limits }: Trial = {},
): Promise<Judged> {
  const language = languages.resolve(name);
  assert.ok(language, `${name} is a language`);
  const given = languages.limitsFor(language, profile);
  const changed = { ...given, execute: { ...given.execute, ...limits } };
  const planned = plan(language, changed, { code: Buffer.from(code), stdin: Buffer.from(stdin) });
  await park(slot, planned);
  const steps = await runSteps(slot, planned);
  const facts = steps.execute ?? steps.compile;
  assert.ok(facts);
  return { facts, outcome: buildOutcome(steps), stdout: facts.stdout.toString(), stderr: facts.stderr.toString() };
}

/** One real launcher, and one slot at a time, for all tests of a file. */
export function useBoxes(options: LauncherOptions = { slots: 2 }): () => Boxes {
  let boxes: Boxes;
  let slot: Slot | undefined;
  before(async () => {
    const launcher = await startLauncher(options);
    const judgedCode = async (name: string, code: string, trial: Trial = {}) => {
      if (!slot?.alive) slot = await Slot.open(launcher.socket);
      return await judgedOn(slot, name, code, trial);
    };
    boxes = {
      launcher,
      judgedCode,
      judged: (language, name, trial) => judgedCode(language, source(language, `forgery/${name}`), trial),
    };
  });
  after(async () => {
    slot?.close();
    assert.equal(await boxes.launcher.stop(), 0, boxes.launcher.stderr());
  });
  return () => boxes;
}

/** A verdict and every counter that could have caused another one. */
interface Said {
  readonly verdict: string;
  readonly cause: string;
  readonly actor: string;
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly killReason: string;
  readonly oomKills: number;
  readonly forksRefused: number | "some";
  readonly fsizeSignals: number | "some";
  readonly cpuRlimitSignals: number;
  readonly survivors: number | "some";
}

const QUIET = { killReason: "none", oomKills: 0, forksRefused: 0, fsizeSignals: 0, cpuRlimitSignals: 0, survivors: 0 };
const BY_JUDGE = { ...QUIET, actor: "judge", exitCode: null, signal: 9 };

export const accepted: Said = {
  ...QUIET,
  verdict: "AC",
  cause: "normal_exit",
  actor: "runtime",
  exitCode: 0,
  signal: null,
};
export const wallTimeout: Said = { ...BY_JUDGE, verdict: "TLE", cause: "wall_timeout", killReason: "wall" };
export const cpuTimeout: Said = { ...BY_JUDGE, verdict: "TLE", cause: "cpu_timeout", killReason: "cpu" };
export const exited = (exitCode: number): Said => ({ ...accepted, verdict: "RE", cause: "nonzero_exit", exitCode });
export const signalled = (signal: number): Said => ({
  ...accepted,
  verdict: "SIG",
  cause: "fatal_signal",
  exitCode: null,
  signal,
});

/**
 * Whether the kernel reports the sender of a signal. Without that, nothing is counted, and a program that SIGXFSZ ended
 * is FSE (docs/security.md, Fallbacks).
 */
export const countsSignals = ({ facts }: Judged): boolean => facts.signalSource === "bpf";

/** The only forgery possible without sender reports: a program that sends itself SIGXFSZ is FSE. */
function asWithoutCounts(said: Said): Said {
  return said.verdict === "SIG" && said.signal === SIGXFSZ
    ? { ...said, verdict: "FSE", cause: "file_size_limit", actor: "kernel" }
    : said;
}
const SIGXFSZ = 25;

/** Compares verdict and counters exactly; `some` is a count above zero that depends on timing. */
export function assertSaid(judged: Judged, said: Said): void {
  const { facts, outcome } = judged;
  const expected = countsSignals(judged) ? said : asWithoutCounts(said);
  const { errorMessage, ...judgement } = outcome.result;
  const counted = (key: "forksRefused" | "fsizeSignals" | "survivors") =>
    expected[key] === "some" && facts[key] > 0 ? "some" : facts[key];
  const { killReason, oomKills, cpuRlimitSignals } = facts;
  const [forksRefused, fsizeSignals] = [counted("forksRefused"), counted("fsizeSignals")];
  const actual = { ...judgement, killReason, oomKills, forksRefused, fsizeSignals, cpuRlimitSignals };
  assert.deepEqual({ ...actual, survivors: counted("survivors") }, expected, errorMessage ?? "");
  const { teardown } = outcome.evidence ?? assert.fail("there is no evidence");
  assert.equal(teardown.cleanupVerified, true, JSON.stringify(teardown));
}
