import type { EvidenceRecord } from "../record.ts";
import { bytesText, secondsText } from "./units.ts";

/** A field of the evidence with its meaning. */
export interface Proof {
  /** The path of the field in the evidence, such as `limits.cgroup.oom_kill_events`. */
  readonly field: string;
  readonly value: string;
  readonly meaning: string;
}

type Rlimits = Required<EvidenceRecord["limits"]["rlimits"]>;
type Cgroup = EvidenceRecord["limits"]["cgroup"];

/** The meaning of each field of the evidence. The types reject missing and unknown fields. */
interface Meanings {
  readonly isolation: Readonly<Record<keyof EvidenceRecord["isolation"], string>>;
  readonly limits: {
    readonly rlimits: Readonly<Record<keyof Rlimits, string>>;
    readonly cgroup_backend: string;
    readonly cgroup: Readonly<Record<keyof Cgroup, string>>;
  };
  readonly teardown: Readonly<Record<keyof Required<EvidenceRecord["teardown"]>, string>>;
}

const MEANINGS: Meanings = {
  isolation: {
    mode: "`strict`: every control below was in force before the first instruction of the program. In any other mode the verdict is IE.",
    controls_applied:
      "The controls that confined the program. Each was read back from the kernel before the program started, not copied from the request. The program cannot undo them.",
    controls_missing:
      "Controls that could not be confirmed. A single one makes the verdict IE, because the other evidence then proves nothing.",
    proc_policy: "`hardened`: in `/proc` the program saw its own processes and nothing else of the machine.",
    sys_policy: "The system call filter. `builtin-deny`: the kernel refuses calls that no submission needs.",
    pidfd_mode:
      "`native`: the launcher referred to processes by pidfds, which the kernel never reuses for another process, so it never killed or waited for a wrong one.",
    reason: "A summary of the isolation, with the cgroup version that the kernel uses for accounting.",
  },
  limits: {
    rlimits: {
      cpu_secs: "A backstop above the CPU time limit: the kernel ends a program that the launcher's timer did not end.",
      as_bytes:
        "The address space that a process could reserve. The memory limit below counts memory in use, not reservations.",
      nofile: "The number of files and connections that a process could have open at the same time.",
      nproc: "A backstop above the process limit below, so that the kernel counts refusals there.",
    },
    cgroup_backend: "The cgroup version from which the numbers below were read.",
    cgroup: {
      memory_limit_bytes:
        "The memory that all processes together could use, read back from the kernel, not copied from the request.",
      memory_peak_bytes:
        "The most memory that they used at the same time, including files that they or the compiler wrote.",
      oom_events: "How often the memory limit was reached and the kernel could not free memory.",
      oom_kill_events:
        "Processes of this box that the kernel killed for memory. MLE is based on this counter: the box was created for this run alone, and no program can change the counter.",
      cpu_usage_usec:
        "CPU time of all processes together, counted exactly by the kernel. CPU time of child processes is included.",
      process_count: "Processes and threads that existed when the evidence was collected.",
      process_limit:
        "The number of processes and threads that could exist at the same time, read back from the kernel.",
    },
  },
  teardown: {
    reap_status:
      "`clean`: the first process of the box ended and was reaped; its end makes the kernel kill all others.",
    descendant_containment:
      "`ok`: after the box was removed, no process was left in its cgroups. Nothing continued in the background.",
    zombie_count: "Processes that had ended but had not been reaped.",
    cleanup_verified:
      "`true`: the removal of the box's processes, cgroups and mounts is proven, so the next run inherits nothing from this one.",
    residual_mounts: "Mounts of the box that remained after teardown. Empty: none.",
    collection_errors:
      "Evidence that could not be read, and cgroups that could not be removed. An unreadable counter does not count as zero, so it makes the verdict IE. A cgroup that was not removed does not change the verdict.",
    judge_actions:
      "Actions of the launcher on the program with their reasons, recorded before each action. Absent: the launcher did not intervene.",
  },
};

/** Every field of the evidence with its value, in the record's order. */
export function proofs(evidence: EvidenceRecord | null): Proof[] {
  if (!evidence) return [];
  const { isolation, limits, teardown } = evidence;
  return [
    ...rows("isolation.", isolation, MEANINGS.isolation),
    ...rows("limits.rlimits.", limits.rlimits, MEANINGS.limits.rlimits),
    row("limits.cgroup_backend", limits.cgroup_backend, MEANINGS.limits.cgroup_backend),
    ...rows("limits.cgroup.", limits.cgroup, MEANINGS.limits.cgroup),
    ...rows("teardown.", teardown, MEANINGS.teardown),
  ];
}

function rows<Group extends object>(
  prefix: string,
  group: Group,
  meanings: Readonly<Record<keyof Group & string, string>>,
): Proof[] {
  return (Object.keys(group) as (keyof Group & string)[]).map((name) =>
    row(prefix + name, group[name], meanings[name]),
  );
}

const row = (field: string, value: unknown, meaning: string): Proof => ({
  field,
  value: valueText(field, value),
  meaning,
});

function valueText(field: string, value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(partText).join(", ");
  if (typeof value === "number") {
    if (field.endsWith("_bytes")) return bytesText(value);
    return field.endsWith("_usec") ? secondsText(value / 1e6) : String(value);
  }
  return partText(value);
}

/** An rlimit has a soft value, which is in force, and a hard value, up to which the program could raise it. */
function partText(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  if ("soft" in value && "hard" in value) return `${value.soft} (at most ${value.hard})`;
  return Object.values(value).join(": ");
}
