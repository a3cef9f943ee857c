import { z } from "zod";
import { type Facts, factsOf, schemaOf, type ValuesOf } from "./facts.ts";
import { RECORDED_FACTS } from "./measured.ts";
import type { Evidence } from "./outcome.ts";

const count = z.int().min(0);
export const rlimitSchema = z.strictObject({ soft: count, hard: count });
const action = z.strictObject({ action_type: z.enum(["forced_kill", "descendant_kill"]), details: z.string() });

const fact = factsOf<Evidence>();

function rlimit(name: string, meaning: string) {
  const read = ({ limits }: Evidence) => {
    const limit = limits.rlimits[name];
    return limit && { soft: limit.soft, hard: limit.hard };
  };
  return fact(rlimitSchema.exactOptional(), read, meaning);
}

/** The evidence of the record. Each fact that clients may see is one row, here or in MEASURED (measured.ts). */
export const EVIDENCE_FACTS = {
  isolation: {
    mode: fact(
      z.enum(["strict", "incomplete"]),
      ({ isolation }) => isolation.mode,
      "`strict`: every control below was in force before the first instruction of the program. In any other mode the verdict is IE.",
    ),
    controls_applied: fact(
      z.array(z.string()),
      ({ isolation }) => [...isolation.controlsApplied],
      "The controls that confined the program. Each was read back from the kernel before the program started, not copied from the request. The program cannot undo them.",
    ),
    controls_missing: fact(
      z.array(z.string()),
      ({ isolation }) => [...isolation.controlsMissing],
      "Controls that could not be confirmed: a single one makes the verdict IE, because the other evidence then proves nothing.",
    ),
    proc_policy: fact(
      z.enum(["hardened", "none"]),
      ({ isolation }) => isolation.procPolicy,
      "`hardened`: in `/proc` the program saw its own processes and nothing else of the machine.",
    ),
    sys_policy: fact(
      z.enum(["builtin-deny", "custom", "disabled"]),
      ({ isolation }) => isolation.sysPolicy,
      "The system call filter. `builtin-deny`: the kernel refuses calls that no submission needs.",
    ),
    pidfd_mode: fact(
      z.enum(["native", "fallback"]),
      ({ isolation }) => isolation.pidfdMode,
      "`native`: the launcher referred to processes by pidfds, which the kernel never reuses for another process, so it never killed or waited for a wrong one.",
    ),
    reason: fact(
      z.string(),
      ({ isolation }) => isolation.reason,
      "A summary of the isolation, with the cgroup version that the kernel uses for accounting.",
    ),
  },
  limits: {
    rlimits: {
      cpu_secs: rlimit(
        "cpu_secs",
        "A backstop above the CPU time limit, for a program that the launcher's timer did not end; the limits of wall and CPU time are not in the record, because they follow from profile, language and request.",
      ),
      as_bytes: rlimit(
        "as_bytes",
        "The address space that a process could reserve. The memory limit below counts memory in use, not reservations.",
      ),
      nofile: rlimit("nofile", "The number of files and connections that a process could have open at the same time."),
      nproc: rlimit("nproc", "A backstop above the process limit below, so that the kernel counts refusals there."),
    },
    cgroup_backend: fact(
      z.enum(["cgroup_v2", "cgroup_v1", "cgroup_hybrid"]),
      ({ limits }) => limits.cgroupBackend,
      "The cgroup version from which the numbers below were read.",
    ),
    cgroup: RECORDED_FACTS,
  },
  teardown: {
    reap_status: fact(
      z.enum(["clean", "incomplete"]),
      ({ teardown }) => teardown.reapStatus,
      "`clean`: the first process of the box ended and was reaped; its end makes the kernel kill all others.",
    ),
    descendant_containment: fact(
      z.enum(["ok", "leaked"]),
      ({ teardown }) => teardown.descendantContainment,
      "`ok`: after the box was removed, no process was left in its cgroups. Nothing continued in the background.",
    ),
    zombie_count: fact(
      count,
      ({ teardown }) => teardown.zombieCount,
      "Processes that had ended but had not been reaped.",
    ),
    cleanup_verified: fact(
      z.boolean(),
      ({ teardown }) => teardown.cleanupVerified,
      "`true`: the removal of the box's processes, cgroups and mounts is proven, so the next run inherits nothing from this one.",
    ),
    residual_mounts: fact(
      z.array(z.string()),
      ({ teardown }) => [...teardown.residualMounts],
      "Mounts of the box that remained after teardown. Empty: none.",
    ),
    collection_errors: fact(
      z.array(z.string()),
      ({ teardown }) => [...teardown.collectionErrors],
      "Evidence that could not be read, and cgroups that could not be removed. An unreadable counter does not count as zero, so it makes the verdict IE. A cgroup that was not removed does not change the verdict.",
    ),
    judge_actions: fact(
      z.array(action).exactOptional(),
      ({ teardown: { judgeActions } }) =>
        judgeActions.length === 0
          ? undefined
          : judgeActions.map(({ type, details }) => ({ action_type: type, details })),
      "Actions of the launcher on the program with their reasons, recorded before each action; absent if the launcher did not intervene.",
    ),
  },
} as const satisfies Facts;

export const evidenceSchema = schemaOf(EVIDENCE_FACTS);
export type EvidenceRecord = ValuesOf<typeof EVIDENCE_FACTS>;
