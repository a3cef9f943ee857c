import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import pino from "pino";
import { NO_METER } from "../../../src/domain/meter.ts";
import type { Execution } from "../../../src/domain/sandboxes/execution.ts";
import type { ExecutionEvent, RunningExecution } from "../../../src/domain/sandboxes/host.ts";
import type { Store } from "../../../src/store/store.ts";
import { SandboxKeeper, type SandboxKeeperOptions } from "../../../src/worker/sandboxes/keeper.ts";
import { SnapshotStore } from "../../../src/worker/sandboxes/snapshot-store.ts";
import { Snapshots } from "../../../src/worker/sandboxes/snapshots.ts";
import { sealer } from "../webhooks/project.ts";

const MIB = 1_048_576;

/** Snapshots in a new directory of temporary files. */
export async function temporarySnapshots(store: Store, bytes = 1024 * MIB): Promise<Snapshots> {
  const files = await SnapshotStore.open(mkdtempSync(join(tmpdir(), "snapshots-")));
  return await Snapshots.start({ store, files, bytes, log: pino({ level: "silent" }) });
}

/** For tests that take no snapshots. */
const NO_SNAPSHOTS = {
  storeId: "none",
  remove: () => Promise.reject(new Error("this test has no snapshots")),
} as unknown as Snapshots;

type Options = Pick<SandboxKeeperOptions, "engine"> & { readonly store: Store } & Partial<
    Omit<SandboxKeeperOptions, "engine" | "store">
  >;

/** Starts a keeper. Its leases are so long that no test waits for them. */
export function newKeeper(options: Options): SandboxKeeper {
  return SandboxKeeper.start({
    languages: { resolve: () => undefined },
    worker: "here",
    capacity: { sandboxes: 8, memoryBytes: 4096 * MIB, cpus: 2, diskBytes: 0, network: false },
    bufferBytes: 128 * MIB,
    leaseMs: 3_600_000,
    snapshots: NO_SNAPSHOTS,
    sealer,
    leaves: false,
    log: pino({ level: "silent" }),
    meter: NO_METER,
    ...options,
  });
}

/** As `newKeeper`, but stopped after the test. */
export function keeperOf(t: TestContext, options: Options): SandboxKeeper {
  const keeper = newKeeper(options);
  t.after(() => keeper.stop());
  return keeper;
}

/** Reads all output of an execution, to its end. */
export async function outputOf(
  execution: RunningExecution,
  from = { stdout: 0, stderr: 0 },
): Promise<{ readonly stdout: string; readonly stderr: string; readonly execution: Execution }> {
  const texts = { stdout: "", stderr: "" };
  for await (const event of execution.follow(from, new AbortController().signal)) {
    if (event.type === "end") return { ...texts, execution: event.execution };
    texts[event.stream] += event.bytes.toString("utf8");
  }
  throw new Error("the output ended without the execution");
}

/** Resolves with the first output that makes the text of a stream end with this. */
export async function untilOutput(execution: RunningExecution, wanted: string): Promise<string> {
  const over = new AbortController();
  let text = "";
  for await (const event of execution.follow({ stdout: 0, stderr: 0 }, over.signal) as AsyncIterable<ExecutionEvent>) {
    if (event.type === "end") throw new Error(`the execution ended after: ${text}`);
    text += event.bytes.toString("utf8");
    if (text.includes(wanted)) return text;
  }
  throw new Error("unreachable");
}
