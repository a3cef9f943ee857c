/*
 * What the tier of an account permits for its sandboxes, each at the same time for the whole account. The table is the only place that lists these
 * limits: the store, the checks of the administration and `assay tiers` derive from it.
 */

const MOST_BYTES = 2 ** 44;

/**
 * `column`: in the table of tiers, where a migration sets the default. `what`: in messages. `most`: the highest value that a tier may have.
 * `option`: of `assay tiers set`, with its description.
 */
export const SANDBOX_ALLOWANCES = {
  sandboxes: {
    column: "sandboxes",
    what: "sandboxes",
    most: 10_000,
    option: "--sandboxes <number>",
    description: "sandboxes of an account at the same time",
  },
  sandboxMemoryBytes: {
    column: "sandbox_memory_bytes",
    what: "memory of sandboxes",
    most: MOST_BYTES,
    option: "--sandbox-memory <bytes>",
    description: "memory limits of all sandboxes of an account together",
  },
  sandboxDiskBytes: {
    column: "sandbox_disk_bytes",
    what: "disks of sandboxes",
    most: MOST_BYTES,
    option: "--sandbox-disk <bytes>",
    description: "disks of all sandboxes of an account together",
  },
  executions: {
    column: "executions",
    what: "executions",
    most: 10_000,
    option: "--executions <number>",
    description: "executions in all sandboxes of an account at the same time; each allows it 64 requests a second",
  },
  snapshots: {
    column: "snapshots",
    what: "snapshots",
    most: 10_000,
    option: "--snapshots <number>",
    description: "snapshots of sandboxes that an account may have",
  },
  snapshotBytes: {
    column: "snapshot_bytes",
    what: "bytes of snapshots",
    most: MOST_BYTES,
    option: "--snapshot-bytes <bytes>",
    description: "bytes of all snapshots of an account together",
  },
} as const;
export type SandboxAllowanceName = keyof typeof SANDBOX_ALLOWANCES;
export const SANDBOX_ALLOWANCE_NAMES = Object.keys(SANDBOX_ALLOWANCES) as readonly SandboxAllowanceName[];

/** What an account may have of sandboxes at the same time. */
export type SandboxAllowance = Readonly<Record<SandboxAllowanceName, number>>;
