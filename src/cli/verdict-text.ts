import { styleText } from "node:util";
import type { SubmissionRecord } from "../domain/record.ts";
import { escaped, escapedOutput } from "./answer.ts";

const NAMES: Readonly<Record<string, string>> = {
  AC: "accepted",
  RE: "runtime error",
  TLE: "time limit exceeded",
  MLE: "memory limit exceeded",
  PLE: "process limit exceeded",
  FSE: "file size exceeded",
  SIG: "killed by a signal",
  IE: "internal error of the platform",
};

/** A record as text for a terminal: verdict, output, usage and evidence. */
export function describe(record: SubmissionRecord): string {
  return [...verdict(record), ...output(record), ...measured(record), ...proof(record)].join("\n").concat("\n");
}

function verdict({ result, language, profile }: SubmissionRecord): string[] {
  const code = result.verdict ?? "IE";
  const title = styleText(["bold", code === "AC" ? "green" : "red"], `${code}  ${NAMES[code] ?? ""}`);
  const ended =
    result.exit_code !== null
      ? `exit code ${result.exit_code}`
      : result.signal !== null
        ? `signal ${result.signal}`
        : "no exit";
  return [
    `${title}   ${language}, ${profile}`,
    row("cause", `${result.cause}, by the ${result.actor}; ${ended}`),
    ...(result.error_message ? [row("", result.error_message)] : []),
  ];
}

function output({ output: { stdout, stderr, integrity } }: SubmissionRecord): string[] {
  const stream = (name: string, text: string | null) =>
    text ? [styleText("bold", `--- ${name}`), escapedOutput(text.replace(/\n$/, ""))] : [];
  const cut = integrity && integrity !== "complete" ? [row("output", integrity)] : [];
  return [...stream("stdout", stdout), ...stream("stderr", stderr), ...cut, styleText("bold", "---")];
}

function measured({ metrics, evidence }: SubmissionRecord): string[] {
  const { wall_time_secs: wall, cpu_time_secs: cpu, memory_peak_bytes: peak, divergence } = metrics;
  if (wall === null || cpu === null || peak === null) return [];
  const limit = evidence ? ` of ${mebibytes(evidence.limits.cgroup.memory_limit_bytes)}` : "";
  return [
    row("time", `${wall.toFixed(3)} s wall, ${cpu.toFixed(3)} s CPU${divergence ? ` (${divergence})` : ""}`),
    row("memory", `${mebibytes(peak)} at its peak${limit}`),
  ];
}

function proof({ evidence }: SubmissionRecord): string[] {
  if (!evidence) return [row("evidence", "none: the sandbox returned no report")];
  const { isolation, limits, teardown } = evidence;
  const { cgroup } = limits;
  return [
    row(
      "kernel",
      `${cgroup.oom_kill_events} OOM kills, ${cgroup.process_limit} processes allowed, ${limits.cgroup_backend}`,
    ),
    row("controls", `${isolation.mode}: ${isolation.controls_applied.join(", ")}`),
    ...isolation.controls_missing.map((missing) => row("missing", missing)),
    row("teardown", teardown.cleanup_verified ? "verified: nothing left" : "NOT verified"),
    ...[...teardown.residual_mounts, ...teardown.collection_errors].map((left) => row("left", left)),
    ...(teardown.judge_actions ?? []).map(({ action_type, details }) => row(action_type, details)),
  ];
}

function row(name: string, text: string): string {
  return `${styleText("dim", name.padEnd(17))}${escaped(text)}`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
