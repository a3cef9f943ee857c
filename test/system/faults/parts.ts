import { readdirSync } from "node:fs";
import { childrenOf, groupsInUse, read } from "../../support/launcher/machine.ts";
import { family } from "./footprint.ts";
import type { RealCommand } from "./real-serve.ts";

export type Victim = "service" | "launcher" | "slot" | "init";

/** Pids of one kind of part. */
export function victims(there: RealCommand, kind: Victim): number[] {
  const [service, launcher] = [there.service(), there.launcher()];
  if (kind === "service") return service ? [service] : [];
  if (!launcher) return [];
  if (kind === "launcher") return [launcher];
  const slots = childrenOf(launcher);
  if (kind === "slot") return slots;
  return slots.flatMap(childrenOf).filter((pid) => read(`/proc/${pid}/comm`) === "assay-init\n");
}

/** Counts its processes and groups; called when nothing runs. */
export function remains(there: RealCommand) {
  const launcher = there.launcher() ?? 0;
  const processes = family(there.process.pid ?? 0);
  const uids = processes.map((pid) => Number(/^Uid:\t(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1]));
  const base = Number(/--uid-base\0(\d+)/.exec(read(`/proc/${launcher}/cmdline`))?.[1]);
  const allPids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const inRange = allPids.filter((pid) => {
    const uid = Number(/^Uid:\t(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? -1);
    return uid >= base && uid < base + 10_000;
  });
  return {
    owned: uids.filter((uid) => uid >= base && uid < base + 10_000).length,
    inUidRange: inRange.length,
    slots: childrenOf(launcher).length,
    groups: groupsInUse({ instance: there.instance() }).length,
  };
}
