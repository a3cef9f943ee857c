import type { SandboxDetail } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { count, counted, duration, size } from "../../components/format.ts";
import { LimitBars } from "../../run/limit-usage.tsx";
import css from "./sandboxes.module.css";

/** What a sandbox uses now, next to its limits. */
export function UseNow({ of: { use, limits, executions } }: { of: SandboxDetail }) {
  if (!use)
    return (
      <p className={css.card}>
        What it uses is not known here, because it lives in another process of the service, or is not ready yet.
      </p>
    );
  const running = executions.executions.filter(({ status }) => status === "running").length;
  const bars = [
    { name: "Memory", used: use.memoryBytes, limit: limits.memoryBytes, written: size },
    { name: "Processes", used: use.processes, limit: limits.processes, written: count },
    { name: "Files", used: use.diskBytes, limit: limits.diskBytes, written: size },
    { name: "Number of files", used: use.inodes, limit: limits.inodes, written: count },
  ];
  return (
    <div className={css.card}>
      <LimitBars of={bars.map((bar) => ({ ...bar, met: bar.used >= bar.limit }))} />
      <p className={css.hint}>
        {running === 0 ? "No execution runs" : counted(running, "execution runs", "executions run")} now. CPU time so
        far: {duration(Math.round(use.cpuUsec / 1000))}. Memory peak: {size(use.memoryPeakBytes)}.
        {use.oomKills > 0 && ` ${counted(use.oomKills, "process", "processes")} killed at the memory limit.`}
      </p>
    </div>
  );
}
