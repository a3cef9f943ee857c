import type { SandboxRow } from "../../../../src/http/dashboard/api/sandboxes.ts";
import { StatusBadge, type Tone } from "../../components/status-badge.tsx";

const TONES: Readonly<Record<SandboxRow["state"], Tone>> = {
  creating: "idle",
  running: "good",
  paused: "warn",
  ended: "idle",
};

/** The states, for a filter. */
export const STATES = Object.keys(TONES);

export function StateBadge({ of: state }: { of: SandboxRow["state"] }) {
  return <StatusBadge tone={TONES[state]}>{state}</StatusBadge>;
}
