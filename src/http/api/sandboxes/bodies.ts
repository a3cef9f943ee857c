import { z } from "zod";
import { networkPolicySchema } from "../../../domain/egress/policy.ts";
import {
  EXECUTION_BOUNDS,
  EXECUTION_KINDS,
  EXECUTION_STATUSES,
  type Execution,
  SIGNAL_NAMES,
  type SignalName,
} from "../../../domain/sandboxes/execution.ts";
import type { FileEvent, FileInfo } from "../../../domain/sandboxes/files.ts";
import type { SandboxMeasurement } from "../../../domain/sandboxes/host.ts";
import {
  DEFAULT_DISK_BYTES,
  DISK_INODE_BYTES,
  DISK_SIZES,
  ON_TIMEOUT,
  SANDBOX_BOUNDS,
  SANDBOX_LIMITS,
  SANDBOX_STORAGES,
  type SandboxLimitName,
} from "../../../domain/sandboxes/sandbox.ts";
import { executionSchema, sandboxSchema } from "../../../domain/sandboxes/sandbox-record.ts";
import { SNAPSHOT_NAME_CHARACTERS, snapshotSchema } from "../../../domain/sandboxes/snapshot.ts";
import { MAX_USAGE_SAMPLES, type UsageSample } from "../../../domain/sandboxes/usage.ts";
import { named } from "../../named-schemas.ts";
import { count, next, time, verdict } from "../fields.ts";
import { requestedLimits } from "../program-options.ts";

/** The bodies of the routes of sandboxes. */

export const sandboxBody = named("Sandbox", sandboxSchema);
export const executionBody = named("Execution", executionSchema);

const { lifetimeSecs, idleSecs, metadata, env } = SANDBOX_BOUNDS;
const seconds = ({ least, most }: { readonly least: number; readonly most: number }) => z.int().min(least).max(most);
const lifetime = seconds(lifetimeSecs).describe(
  `How long the sandbox lives at most, from its start; by default ${lifetimeSecs.default} s`,
);
const idle = seconds(idleSecs).describe(
  `How long the sandbox lives without any request or reader while its programs use less than 1 % of a CPU; by default ${idleSecs.default} s`,
);
const metadataField = z
  .record(z.string(), z.string())
  .describe(
    `Names and values by which the client finds its sandboxes: up to ${metadata.entries}, with names of up to ${metadata.keyCharacters} ` +
      `and values of up to ${metadata.valueCharacters} characters, together up to ${metadata.bytes} bytes`,
  );
const variables = (of: string, stored: string, { entries, variableBytes, bytes }: typeof SANDBOX_BOUNDS.env) =>
  z
    .record(z.string(), z.string())
    .describe(
      `Environment variables of ${of}: up to ${entries} with ${bytes} bytes, each with up to ${variableBytes}. They can be secrets: they are never shown, and ${stored}`,
    );

const limitField = (name: SandboxLimitName, what: string) => {
  const { least, most, default: usual } = SANDBOX_LIMITS[name];
  return z.int().min(least).max(most).describe(`${what}, from ${least} to ${most}; by default ${usual}`).optional();
};

export const networkBody = named("NetworkPolicy", networkPolicySchema);
/** A policy of 16 KiB can have more values than other bodies. */
export const POLICY_VALUES = 4_096;

export const createBody = named(
  "SandboxRequest",
  z
    .strictObject({
      lifetime_secs: lifetime.optional(),
      idle_secs: idle.optional(),
      limits: named(
        "NewSandboxLimits",
        z.strictObject({
          memory_bytes: limitField("memoryBytes", "Memory of all programs, and of files in memory, together"),
          processes: limitField("processes", "Processes and threads of all executions together"),
          storage: z
            .enum(SANDBOX_STORAGES)
            .describe(
              "Where the files are. `memory`: they count as memory, too. `disk`: the sandbox has a disk of its own, if the service permits that; by default `memory`",
            )
            .optional(),
          disk_bytes: z
            .int()
            .min(SANDBOX_LIMITS.diskBytes.least)
            .max(DISK_SIZES.at(-1) as number)
            .describe(
              `Bytes of all files that differ from the image. In memory: from ${SANDBOX_LIMITS.diskBytes.least} to ${SANDBOX_LIMITS.diskBytes.most}, by default ${SANDBOX_LIMITS.diskBytes.default}. ` +
                `On a disk: one of ${DISK_SIZES.join(", ")}, by default ${DEFAULT_DISK_BYTES}`,
            )
            .optional(),
          inodes: z
            .int()
            .min(SANDBOX_LIMITS.inodes.least)
            .max((DISK_SIZES.at(-1) as number) / DISK_INODE_BYTES)
            .describe(
              `Files and directories that differ from the image. In memory: from ${SANDBOX_LIMITS.inodes.least} to ${SANDBOX_LIMITS.inodes.most}, by default ${SANDBOX_LIMITS.inodes.default}. ` +
                `On a disk: one for each ${DISK_INODE_BYTES} bytes, so it need not be given`,
            )
            .optional(),
          cpus: limitField("cpus", "CPUs to which each execution is bound; a service can permit fewer"),
        }),
      ).optional(),
      env: variables("all executions", "stored only encrypted, until the end of the sandbox", env).optional(),
      metadata: metadataField.optional(),
      from: z
        .guid()
        .toLowerCase()
        .describe("Id of a snapshot of the account, whose files the sandbox begins with. They must fit into its limits")
        .optional(),
      on_timeout: z
        .enum(ON_TIMEOUT)
        .describe(
          "`snapshot`: when its lifetime or its idle time is over, a snapshot of its files is taken before it ends, and `last_snapshot` of its record names it; by default `end`",
        )
        .optional(),
      network: networkBody
        .optional()
        .describe(
          'What its programs may reach over the network, by default "none". A sandbox that is created with "none" has no network for good',
        ),
    })
    .meta({ examples: [{ lifetime_secs: 3_600, metadata: { task: "42" } }] }),
);

export const changeBody = named(
  "SandboxChange",
  z.strictObject({
    lifetime_secs: lifetime.optional(),
    idle_secs: idle.optional(),
    metadata: metadataField.optional(),
  }),
);

export const sandboxesBody = named("Sandboxes", z.strictObject({ sandboxes: z.array(sandboxBody), next }));

export const snapshotBody = named("Snapshot", snapshotSchema);
export const snapshotsBody = named("Snapshots", z.strictObject({ snapshots: z.array(snapshotBody), next }));
export const snapshotRequestBody = named(
  "SnapshotRequest",
  z
    .strictObject({
      name: z.string().describe(`A name for people, with 1 to ${SNAPSHOT_NAME_CHARACTERS} characters`).optional(),
    })
    .meta({ examples: [{ name: "before the upgrade" }] }),
);

export const metricsBody = named(
  "SandboxMetrics",
  z.strictObject({
    memory_bytes: count.describe("Memory of all programs and files now; 0 after the end"),
    memory_peak_bytes: count
      .nullable()
      .describe(
        "The highest use of memory since the start; after the end, that of the samples, or null if there are none",
      ),
    cpu_time_secs: z
      .number()
      .min(0)
      .nullable()
      .describe(
        "CPU time of all programs since the start; after the end, that of the last sample, or null if there is none",
      ),
    processes: count.describe("Processes and threads now; 0 after the end"),
    oom_kills: count
      .nullable()
      .describe("Processes that the kernel killed because the sandbox reached its memory limit; null after the end"),
    disk_bytes: count.describe("Bytes of all files that differ from the image; 0 after the end"),
    inodes: count.describe("Files and directories that differ from the image; 0 after the end"),
    samples: z
      .array(
        named(
          "SandboxSample",
          z.strictObject({
            at: time.describe("When it was measured"),
            cpu_time_secs: z.number().min(0).describe("CPU time of all programs from the start to this time"),
            memory_bytes: count.describe("The highest use of memory that was measured since the sample before"),
            processes: count.describe("Processes and threads, in the same way"),
            disk_bytes: count.describe("Bytes of files, in the same way"),
          }),
        ),
      )
      .max(MAX_USAGE_SAMPLES)
      .describe(`What it used over its life, oldest first, at most ${MAX_USAGE_SAMPLES}. Only with \`samples=true\``)
      .optional(),
  }),
);

function toSample({ atMs, cpuUsec, memoryBytes, processes, diskBytes }: UsageSample) {
  return {
    at: new Date(atMs).toISOString(),
    cpu_time_secs: cpuUsec / 1e6,
    memory_bytes: memoryBytes,
    processes,
    disk_bytes: diskBytes,
  };
}

/** @param samples null: the client did not ask for them. */
export function toMetrics(
  measured: SandboxMeasurement,
  samples: readonly UsageSample[] | null,
): z.output<typeof metricsBody> {
  return {
    ...samplesOf(samples),
    memory_bytes: measured.memoryBytes,
    memory_peak_bytes: measured.memoryPeakBytes,
    cpu_time_secs: measured.cpuUsec / 1e6,
    processes: measured.processes,
    oom_kills: measured.oomKills,
    disk_bytes: measured.diskBytes,
    inodes: measured.inodes,
  };
}

/** What a sandbox that has ended has used, by the samples that are stored. Nothing of it is left. @param isShown whether the client asked for them. */
export function toLastMetrics(samples: readonly UsageSample[], isShown: boolean): z.output<typeof metricsBody> {
  const last = samples.at(-1);
  return {
    ...samplesOf(isShown ? samples : null),
    memory_bytes: 0,
    memory_peak_bytes: last ? Math.max(...samples.map(({ memoryBytes }) => memoryBytes)) : null,
    cpu_time_secs: last ? last.cpuUsec / 1e6 : null,
    processes: 0,
    oom_kills: null,
    disk_bytes: 0,
    inodes: 0,
  };
}

function samplesOf(samples: readonly UsageSample[] | null): Pick<z.output<typeof metricsBody>, "samples"> {
  return samples ? { samples: samples.map(toSample) } : {};
}

const cells = z.int().min(EXECUTION_BOUNDS.terminal.least).max(EXECUTION_BOUNDS.terminal.most);
export const terminalBody = named("TerminalSize", z.strictObject({ rows: cells, cols: cells }));

export const executeBody = named(
  "ExecutionRequest",
  z
    .strictObject({
      argv: z
        .array(z.string())
        .describe(
          `A program, by its path or by its name in PATH, and its arguments: up to ${EXECUTION_BOUNDS.arguments} with ${EXECUTION_BOUNDS.argvBytes} bytes, each with up to ${EXECUTION_BOUNDS.argumentBytes}. ` +
            "A request has either `argv`, `shell` or `code`",
        )
        .optional(),
      shell: z.string().describe(`A command for bash, up to ${EXECUTION_BOUNDS.argumentBytes} bytes`).optional(),
      language: z.string().describe("Name or alias of the language of `code`").optional(),
      code: z.string().describe(`A program, up to ${EXECUTION_BOUNDS.codeBytes} bytes`).optional(),
      code_base64: z.string().describe("A program in base64, instead of `code`").optional(),
      stdin: z.string().describe(`Standard input, up to ${EXECUTION_BOUNDS.stdinBytes} bytes`).optional(),
      stdin_base64: z.string().describe("Standard input in base64, instead of `stdin`").optional(),
      open_input: z
        .boolean()
        .describe("Whether the standard input stays open after `stdin`, for requests that send more")
        .optional(),
      cwd: z.string().describe("The directory in which it starts, by default /home/user").optional(),
      env: variables(
        "the execution, in addition to those of the sandbox",
        "not stored",
        EXECUTION_BOUNDS.env,
      ).optional(),
      limits: requestedLimits.optional(),
      background: z
        .boolean()
        .describe("Whether processes that the program leaves go on. The response does not wait for its end")
        .optional(),
      terminal: terminalBody
        .describe(
          "The size of a terminal, which the program gets instead of pipes. The response does not wait for its end",
        )
        .optional(),
    })
    .meta({ examples: [{ shell: "git clone . copy && ls copy" }, { argv: ["python3", "-c", "print(6 * 7)"] }] }),
);

export const summaryBody = named(
  "ExecutionSummary",
  z.strictObject({
    number: z.int().min(1),
    kind: z.enum(EXECUTION_KINDS),
    argv: z.array(z.string()).nullable(),
    shell: z.string().nullable(),
    language: z.string().nullable(),
    background: z.boolean(),
    terminal: z.boolean(),
    status: z.enum(EXECUTION_STATUSES),
    verdict: verdict.nullable(),
    started_at: time,
    completed_at: time.nullable(),
    processes_left: count.nullable(),
  }),
);
export const executionsBody = named("Executions", z.strictObject({ executions: z.array(summaryBody), next }));

const isoTime = (ms: number) => new Date(ms).toISOString();

export function toSummary(execution: Execution): z.output<typeof summaryBody> {
  const { number, kind, argv, shell, language, background, hasTerminal, status, outcome, processesLeft } = execution;
  const { startedAtMs, completedAtMs } = execution;
  return {
    number,
    kind,
    argv: argv && [...argv],
    shell,
    language,
    background,
    terminal: hasTerminal,
    status,
    verdict: outcome?.result.verdict ?? null,
    started_at: isoTime(startedAtMs),
    completed_at: completedAtMs === null ? null : isoTime(completedAtMs),
    processes_left: processesLeft,
  };
}

export const signalBody = named(
  "ExecutionSignal",
  z.strictObject({ signal: z.enum(SIGNAL_NAMES as readonly [SignalName, ...SignalName[]]) }),
);

/** What a request that acts on an execution gets. */
export const actedBody = named(
  "ExecutionState",
  z.strictObject({ sandbox_id: z.uuid(), number: z.int().min(1), status: z.enum(EXECUTION_STATUSES) }),
);

export function toActed({ sandboxId, number, status }: Execution): z.output<typeof actedBody> {
  return { sandbox_id: sandboxId, number, status };
}

/** The data of the events of an execution, by the names of the events. */
const outputBody = named(
  "ExecutionOutput",
  z.strictObject({
    at: count.describe("The position of the first byte of the text in the whole output, in bytes"),
    text: z.string().describe("Output, in which bytes that are not UTF-8 are replaced"),
  }),
);
export const EXECUTION_EVENTS = {
  start: actedBody,
  stdout: outputBody,
  stderr: outputBody,
  ended: executionBody,
} as const;

/** The data of the events of a directory, by the names of the events. */
const changeOfFileBody = named("FileChanged", z.strictObject({ path: z.string() }));
export const FILE_EVENTS = {
  start: null,
  created: changeOfFileBody,
  changed: changeOfFileBody,
  removed: changeOfFileBody,
  moved: named(
    "FileMoved",
    z.strictObject({ path: z.string().describe("The new path"), from: z.string().describe("The path before") }),
  ),
  overflow: null,
} as const satisfies Record<FileEvent["type"] | "start", z.ZodType | null>;

export const fileBody = named(
  "FileInfo",
  z.strictObject({
    path: z.string(),
    type: z.enum(["file", "directory", "link", "other"]),
    bytes: count.describe("Size of the content of a file; 0 for everything else"),
    mode: count.describe("The permissions as a number: 420 for 0644"),
    modified_at: time,
    etag: z.string().describe("Changes with the content; for `If-Match` and `If-None-Match`, in quotation marks"),
    target: z.string().nullable().describe("Where a link leads, as it was written"),
  }),
);
export const filesBody = named(
  "Files",
  z.strictObject({
    entries: z.array(fileBody),
    next: next.describe("The value of `after` for the next page; null after the last one"),
  }),
);
export const pathBody = named("FilePath", z.strictObject({ path: z.string() }));
export const moveBody = named(
  "FileMove",
  z.strictObject({ path: z.string(), to: z.string().describe("The new path") }),
);
export const unpackedBody = named("Unpacked", z.strictObject({ files: count, bytes: count }));

export function toFile({ path, type, bytes, mode, modifiedAtMs, etag, target }: FileInfo): z.output<typeof fileBody> {
  return { path, type, bytes, mode, modified_at: timeOf(modifiedAtMs), etag, target: target ?? null };
}

/** The first and the last millisecond of the years with four digits. */
const [FIRST_MS, LAST_MS] = [-62_167_219_200_000, 253_402_300_799_999];

/** A program can set the time of a file to any value, so it is brought into the years that ISO 8601 has. */
function timeOf(ms: number): string {
  return isoTime(Math.round(Math.min(Math.max(ms, FIRST_MS), LAST_MS)));
}
