import { MEASURED, MEASURED_NAMES, type Measured, type MeasuredName, type MeasuredRow } from "../domain/measured.ts";
import type {
  CgroupBackend,
  KillReason,
  Rlimits,
  SetupFailure,
  StepReport,
  TeardownReport,
  WorkFile,
} from "../domain/report.ts";
import { MAX_SAMPLES, type Sample } from "../domain/samples.ts";
import { type KeyName, UNLIMITED } from "./protocol.ts";
import { type Entries, ProtocolError } from "./wire.ts";

/** The properties of a slot, from its HELLO frame. */
export interface Hello {
  readonly build: string;
  readonly slot: number;
  /** Names the process of the launcher: another one has another name. */
  readonly launcher: string;
  readonly backend: CgroupBackend;
  readonly signalSource: "bpf" | "none";
  readonly pressure: boolean;
  readonly seccompPolicy: StepReport["seccompPolicy"];
  readonly pidfdMode: StepReport["pidfdMode"];
  readonly kernel: string;
}

export function decodeHello(entries: Entries): Hello {
  return {
    build: entries.text("BUILD"),
    slot: entries.int("SLOT"),
    launcher: entries.text("LAUNCHER"),
    backend: oneOf(entries, "BACKEND", ["cgroup_v2", "cgroup_hybrid"]),
    signalSource: oneOf(entries, "SIGNAL_SOURCE", ["bpf", "none"]),
    pressure: entries.int("PRESSURE") === 1,
    seccompPolicy: oneOf(entries, "SECCOMP_POLICY", ["builtin-deny", "custom", "disabled"]),
    pidfdMode: oneOf(entries, "PIDFD_MODE", ["native", "fallback"]),
    kernel: entries.text("KERNEL"),
  };
}

/** Decodes the report of a step from its ENDED and TEARDOWN frames and its output. */
export function decodeReport(
  hello: Hello,
  ended: Entries,
  torn: Entries,
  output: { readonly stdout: Buffer; readonly stderr: Buffer },
): Omit<StepReport, "spentMs" | "cpuLimitUsec" | "kernelLimitBytes" | "walkableLimitBytes"> {
  const failure = decodeFailure(ended);
  const [samples, elapsedNs] = [decodeSamples(ended.bytes("SAMPLES")), ended.int("WALL_NS")];
  return {
    ...decodeMeasured(ended),
    exitCode: ended.optionalInt("EXIT_CODE"),
    signal: ended.optionalInt("SIGNAL"),
    sentSignal: ended.optionalInt("SENT_SIGNAL"),
    killReason: oneOf<KillReason>(ended, "KILL_REASON", ["none", "wall", "cpu", "oom", "client"]),
    wallNs: elapsedNs - (ended.optionalInt("WAITED_NS") ?? 0),
    elapsedNs,
    endedFirst: ended.optionalInt("ENDED_FIRST") === 1,
    exceededFirst: ended.optionalInt("EXCEEDED_FIRST") === 1,
    signalSource: hello.signalSource,
    stdoutKept: output.stdout.length,
    stderrKept: output.stderr.length,
    readError: ended.int("READ_ERROR") === 1,
    controls: ended.texts("CONTROL"),
    controlsMissing: ended.texts("CONTROL_MISSING"),
    rlimits: decodeRlimits(ended),
    backend: hello.backend,
    parkedRuntime: ended.int("PARKED_RUNTIME") === 1,
    pidfdMode: hello.pidfdMode,
    seccompPolicy: hello.seccompPolicy,
    teardown: decodeTeardown(ended.texts("EVIDENCE_ERROR"), torn),
    stdout: output.stdout,
    stderr: output.stderr,
    ...(failure && { failure }),
    ...(samples.length > 0 && { samples }),
  };
}

const MEASURED_KEYS = MEASURED_NAMES.map((name) => {
  const { key, isOptional }: MeasuredRow = MEASURED[name];
  return { name, key: key.name as KeyName, isOptional };
});

function decodeMeasured(ended: Entries): Measured {
  const values: Partial<Record<MeasuredName, number | null>> = {};
  for (const { name, key, isOptional } of MEASURED_KEYS)
    values[name] = isOptional ? ended.optionalInt(key) : ended.int(key);
  return values as Measured;
}

/** A program that has ended and whose box is not removed yet. */
export interface EndedProgram {
  readonly memoryPeakBytes: number;
  /** Processes of the box that are still alive. */
  readonly processes: number;
}

export function decodeEndedProgram(ended: Entries): EndedProgram {
  return { memoryPeakBytes: ended.int("MEMORY_PEAK"), processes: ended.int("PIDS_CURRENT") };
}

/** Copies the bytes, because they would keep the whole frame in memory. */
export function decodeFile(entries: Entries): WorkFile {
  const [name, mode] = [entries.text("LEFT_NAME"), entries.int("LEFT_MODE")];
  return { name, data: Buffer.from(entries.bytes("LEFT_DATA")), mode };
}

function decodeFailure(ended: Entries): SetupFailure | undefined {
  const step = ended.optionalText("FAIL_STEP");
  if (step === null) return undefined;
  return { step, object: ended.text("FAIL_OBJECT"), errno: ended.int("FAIL_ERRNO") };
}

/** The rlimits that a record contains. An rlimit that is unlimited is absent. */
function decodeRlimits(ended: Entries): Rlimits {
  const names: readonly [string, KeyName, KeyName][] = [
    ["cpu_secs", "RLIMIT_CPU_SOFT", "RLIMIT_CPU_HARD"],
    ["as_bytes", "RLIMIT_AS_SOFT", "RLIMIT_AS_HARD"],
    ["nofile", "RLIMIT_NOFILE_SOFT", "RLIMIT_NOFILE_HARD"],
    ["nproc", "RLIMIT_NPROC_SOFT", "RLIMIT_NPROC_HARD"],
  ];
  const limited = names.filter(([, soft]) => ended.big(soft) !== UNLIMITED);
  return Object.fromEntries(
    limited.map(([name, soft, hard]) => [name, { soft: ended.int(soft), hard: ended.int(hard) }]),
  );
}

/** @param unread facts about the run that could not be read. */
export function decodeTeardown(unread: readonly string[], torn: Entries): TeardownReport {
  const populated = torn.optionalInt("POPULATED");
  return {
    reaped: torn.int("REAPED") === 1,
    populated: populated === null ? null : populated === 1,
    pidsLeft: torn.int("PIDS_LEFT"),
    zombies: torn.int("ZOMBIES"),
    residualMounts: torn.texts("RESIDUAL_MOUNT"),
    groupsLeft: torn.texts("GROUP_LEFT"),
    unreadFacts: [...unread, ...torn.texts("COLLECTION_ERROR")],
  };
}

function oneOf<T extends string>(entries: Entries, key: KeyName, values: readonly T[]): T {
  const text = entries.text(key);
  const value = values.find((candidate) => candidate === text);
  if (value === undefined) throw new ProtocolError(`${key} is "${text}"`);
  return value;
}

/** A sample has three numbers of 8 bytes. */
const SAMPLE_BYTES = 24;

/** Decodes the value of the key SAMPLES. @throws ProtocolError unless the times increase and the CPU time never decreases. */
export function decodeSamples(bytes: Buffer): Sample[] {
  if (bytes.length % SAMPLE_BYTES !== 0 || bytes.length > MAX_SAMPLES * SAMPLE_BYTES)
    throw new ProtocolError(`SAMPLES of ${bytes.length} bytes`);
  const samples: Sample[] = [];
  let before = { atUsec: 0, cpuUsec: 0 };
  for (let at = 0; at < bytes.length; at += SAMPLE_BYTES) {
    const number = (offset: number) => Number(bytes.readBigUInt64LE(at + offset));
    const sample = { atUsec: number(0), cpuUsec: number(8), memoryBytes: number(16) };
    if (at > 0 && sample.atUsec <= before.atUsec) throw new ProtocolError("SAMPLES whose times do not increase");
    if (sample.cpuUsec < before.cpuUsec) throw new ProtocolError("SAMPLES whose CPU time decreases");
    if (!Object.values(sample).every(Number.isSafeInteger)) throw new ProtocolError("SAMPLES with too large a number");
    samples.push(sample);
    before = sample;
  }
  return samples;
}
