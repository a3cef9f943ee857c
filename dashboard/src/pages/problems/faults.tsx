import { StatusBadge } from "../../components/status-badge.tsx";
import css from "./problem.module.css";

/** A state that is bad, and why. */
export function Faults({ state, faults }: { state: string; faults: readonly string[] }) {
  return (
    <>
      <StatusBadge tone="bad">{state}</StatusBadge>
      <Lines of={faults} />
    </>
  );
}

export function Lines({ of: lines }: { of: readonly string[] }) {
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines can be equal, and do not change
    <div key={at} className={css.names}>
      {line}
    </div>
  ));
}
