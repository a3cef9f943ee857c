import { basename } from "node:path";
import { recordedOf } from "../domain/measured.ts";
import type { Evidence, JudgeAction } from "../domain/outcome.ts";
import type { KillReason, StepReport, StepReports, TeardownReport } from "../domain/report.ts";
import { missingControls } from "./controls.ts";
import { memoryPeak } from "./metrics.ts";

/**
 * Builds the evidence of a submission from the reports of its steps. Limits and counters are those of the execute step, or of the compile
 * step if the program was not executed. Missing controls and leftovers are those of all steps.
 * @returns null if no step ran, or if the set-up of a box failed.
 */
export function evidence({ compile, execute }: StepReports): Evidence | null {
  const steps = [compile, execute].filter((step) => step !== undefined);
  const decided = execute ?? compile;
  if (!decided || steps.some((step) => step.failure)) return null;
  const missing = [...new Set(steps.flatMap(missingControls))];
  return {
    isolation: isolation(decided, missing),
    limits: {
      rlimits: decided.rlimits,
      cgroupBackend: decided.backend,
      ...recordedOf(decided),
      memoryPeakBytes: memoryPeak(decided),
    },
    teardown: teardownOf(
      steps.map((step) => step.teardown),
      [...(compile ? judgeActions(compile, "compile step: ") : []), ...(execute ? judgeActions(execute, "") : [])],
    ),
  };
}

function isolation(report: StepReport, controlsMissing: readonly string[]): Evidence["isolation"] {
  const strict = controlsMissing.length === 0;
  return {
    mode: strict ? "strict" : "incomplete",
    controlsApplied: report.controls,
    controlsMissing,
    procPolicy: report.controls.includes("restricted_proc") ? "hardened" : "none",
    sysPolicy: report.controls.includes("seccomp_filter") ? report.seccompPolicy : "disabled",
    pidfdMode: report.pidfdMode,
    reason: strict
      ? `all controls applied and read back from the kernel (${report.backend})`
      : "strict isolation is required, but not every control could be read back",
  };
}

function teardownOf(parts: readonly TeardownReport[], judgeActions: readonly JudgeAction[]): Evidence["teardown"] {
  const reaped = parts.every((part) => part.reaped);
  const contained = parts.every((part) => part.populated !== true && part.pidsLeft === 0);
  const zombieCount = parts.reduce((sum, part) => sum + part.zombies, 0);
  const residualMounts = parts.flatMap((part) => part.residualMounts);
  // The schema of records has no field for cgroups, so a cgroup that remains is listed among the collection errors.
  const collectionErrors = parts.flatMap((part) => [
    ...part.unreadFacts,
    ...part.groupsLeft.map((group) => `cgroup not removed: ${basename(group)}`),
  ]);
  return {
    reapStatus: reaped && zombieCount === 0 ? "clean" : "incomplete",
    descendantContainment: contained ? "ok" : "leaked",
    zombieCount,
    cleanupVerified:
      reaped && contained && zombieCount === 0 && residualMounts.length === 0 && collectionErrors.length === 0,
    residualMounts,
    collectionErrors,
    judgeActions,
  };
}

/** The evidence of a run in a sandbox of its own, with that of the sandbox: its controls, and what was left when it was removed. */
export function withSandbox(
  evidence: Evidence,
  { controls, teardown: removed }: { readonly controls: readonly string[]; readonly teardown: TeardownReport },
): Evidence {
  const { isolation, teardown: ran } = evidence;
  const own = teardownOf([removed], []);
  const [runIsClean, boxIsClean] = [ran.reapStatus === "clean", own.reapStatus === "clean"];
  const [runIsContained, boxIsContained] = [ran.descendantContainment === "ok", own.descendantContainment === "ok"];
  return {
    ...evidence,
    isolation: { ...isolation, controlsApplied: [...new Set([...isolation.controlsApplied, ...controls])] },
    teardown: {
      reapStatus: runIsClean && boxIsClean ? "clean" : "incomplete",
      descendantContainment: runIsContained && boxIsContained ? "ok" : "leaked",
      zombieCount: ran.zombieCount + own.zombieCount,
      cleanupVerified: ran.cleanupVerified && own.cleanupVerified,
      residualMounts: [...ran.residualMounts, ...own.residualMounts],
      collectionErrors: [...ran.collectionErrors, ...own.collectionErrors],
      judgeActions: ran.judgeActions,
    },
  };
}

const KILL_DETAILS: Readonly<Record<Exclude<KillReason, "none">, string>> = {
  wall: "SIGKILL to every process of the box: wall time limit",
  cpu: "SIGKILL to every process of the box: CPU time limit",
  oom: "SIGKILL to every process of the box: the OOM killer had killed one of them",
  client: "SIGKILL to every process of the box: the run was stopped by the service",
};

function judgeActions(report: StepReport, prefix: string): JudgeAction[] {
  const actions: JudgeAction[] = [];
  if (report.killReason !== "none") {
    actions.push({ type: "forced_kill", details: prefix + KILL_DETAILS[report.killReason] });
  }
  if (report.survivors > 0) {
    const who = report.survivors === 1 ? "1 process" : `${report.survivors} processes`;
    actions.push({
      type: "descendant_kill",
      details: `${prefix}SIGKILL to ${who} still alive when the program had ended`,
    });
  }
  return actions;
}
