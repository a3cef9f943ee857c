import type { EvidenceRecord } from "../record.ts";
import { bytesText, secondsText } from "./units.ts";

/** A field of the evidence, and what it proves. */
export interface Proof {
  /** Its path in the evidence: `limits.cgroup.oom_kill_events`. */
  readonly field: string;
  readonly value: string;
  readonly meaning: string;
}

type Rlimits = Required<EvidenceRecord["limits"]["rlimits"]>;
type Cgroup = EvidenceRecord["limits"]["cgroup"];

/** One sentence or two for each field there is: the compiler misses what is left out and refuses what is not there. */
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
    mode: "`strict`: every control below was in force before the first instruction of the program. With anything less there is no verdict but IE.",
    controls_applied:
      "What shut the program in, each read back from the kernel's account of the waiting program, never from what had been asked for. The program can undo none of them.",
    controls_missing:
      "Controls that could not be confirmed. One of them is enough for IE: then nothing else here proves anything.",
    proc_policy: "`hardened`: the program saw its own processes and nothing else of the machine.",
    sys_policy:
      "Which filter of system calls was on it. `builtin-deny`: calls that no submission needs are refused by the kernel.",
    pidfd_mode:
      "`native`: processes were held by handles that the kernel never gives to another one, so nothing that was killed or waited for was mistaken.",
    reason: "The same in one sentence, and which control groups the kernel keeps its accounts in.",
  },
  limits: {
    rlimits: {
      cpu_secs:
        "A backstop of the kernel, higher than the CPU time limit: it would end a program that our own timer did not.",
      as_bytes:
        "How much address space a process could ask for. Reserved is not used: the memory limit below counts what is used.",
      nofile: "How many files and connections a process could have open at once.",
      nproc: "A backstop, higher than the process limit below, so that the refusals are counted there.",
    },
    cgroup_backend: "Which of the kernel's ways of accounting the numbers below were read from.",
    cgroup: {
      memory_limit_bytes:
        "What all its processes together could use, as the kernel held it: read back, not repeated from the request.",
      memory_peak_bytes: "The most that they used at a time, files that they or the compiler wrote included.",
      oom_events: "How often the limit was met and nothing could be freed.",
      oom_kill_events:
        "Processes of this box that the kernel killed for memory. It is what MLE rests on: the box was made for this run, and no program can make the kernel count.",
      cpu_usage_usec:
        "CPU time of all its processes together, by the kernel's exact count: what was spent cannot be hidden in children.",
      process_count: "Processes and threads that were there when the facts were collected.",
      process_limit: "How many there could be at a time, as the kernel held it.",
    },
  },
  teardown: {
    reap_status:
      "`clean`: the first process of the box has ended and was waited for; with it the kernel ends all others.",
    descendant_containment:
      "`ok`: when the box was gone, no process was left in its groups. Nothing ran on in the background.",
    zombie_count: "Processes that had ended and that nobody had waited for.",
    cleanup_verified:
      "`true`: processes, groups and mounts of the box are proven to be gone, so the next run begins with nothing of this one.",
    residual_mounts: "Mounts of the box that were still there afterwards. Empty: none.",
    collection_errors:
      "Evidence that could not be read. A counter that cannot be read is not zero, so one of them means IE.",
    judge_actions:
      "What we did to the program ourselves, and why, noted before it was done. Absent: we did not lay hands on it.",
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

/** A limit has two numbers: what holds, and how far the program could have raised it. */
function partText(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  if ("soft" in value && "hard" in value) return `${value.soft} (at most ${value.hard})`;
  return Object.values(value).join(": ");
}
