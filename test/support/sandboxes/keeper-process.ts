/**
 * A process with sandboxes, as a service has them, that a test can kill: it takes over what an earlier one has left, and then does what its parent asks for.
 * The argument is JSON of `KeeperSettings`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import { NO_METER } from "../../../src/domain/meter.ts";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import { openStore } from "../../../src/store/open.ts";
import { keySealer } from "../../../src/webhooks/seal.ts";
import { SandboxSweeper } from "../../../src/worker/sandboxes/sweeper.ts";
import { addKey } from "../store/temporary.ts";
import { callerOf, sandboxRequest, shellRequest } from "./caller.ts";
import { newKeeper } from "./keeper.ts";

export interface KeeperSettings {
  readonly database: DatabaseLocation;
  readonly launcherSocket: string;
  readonly worker: string;
  readonly sandboxes: number;
  /** Whether a stop leaves the sandboxes to the launcher. */
  readonly leaves: boolean;
  /** The key of an earlier process; null: one is made. */
  readonly key: { readonly keyId: string; readonly accountId: string } | null;
}

export interface KeeperCalls {
  create(metadata?: Record<string, string>): Promise<string>;
  /** Resolves with the number when the execution is accepted. */
  execute(id: string, shell: string, background?: boolean): Promise<number>;
  /** Executes a command to its end. */
  output(id: string, shell: string): Promise<string>;
  outcome(id: string, number: number): Promise<{ readonly verdict: string | null; readonly message: string | null }>;
  state(id: string): Promise<{ readonly state: string; readonly reason: string | null }>;
  end(id: string): Promise<string | null>;
}

async function main(settings: KeeperSettings): Promise<void> {
  const { database, launcherSocket, worker, sandboxes, leaves } = settings;
  const store = await openStore({ database });
  const key = settings.key ?? (await addKey(store, "one"));
  const log = pino({ level: process.env.ASSAY_TEST_LOG ?? "silent" });
  const keeper = newKeeper({
    store,
    engine: sandboxesOf(launcherSocket),
    worker,
    leaves,
    log,
    sealer: keySealer(Buffer.alloc(32, 1)), // the same in each process
    leaseMs: 20_000,
    capacity: {
      sandboxes: 4 * sandboxes,
      memoryBytes: 4 * sandboxes * 256 * 1_048_576,
      cpus: 1,
      diskBytes: 0,
      network: false,
    },
  });
  await keeper.takeOver();
  const sweeper = await SandboxSweeper.start({ store, leaseMs: 20_000, worker, log, meter: NO_METER });
  const { accountId } = key;
  const MIB = 1_048_576;
  const limits = { ...sandboxRequest().limits, memoryBytes: 128 * MIB, diskBytes: 16 * MIB };
  const calls: KeeperCalls = {
    create: async (metadata = {}) =>
      (await keeper.create(sandboxRequest({ limits, metadata }), callerOf(key), null)).id,
    execute: async (id, shell, background = false) => {
      const living = await keeper.find(id, accountId);
      return (await living.execute(shellRequest(shell, { background }))).number;
    },
    output: async (id, shell) => {
      const living = await keeper.find(id, accountId);
      const { outcome } = await (await living.execute(shellRequest(shell))).ended;
      if (outcome?.result.verdict !== "AC") throw new Error(`${shell}: ${JSON.stringify(outcome?.result)}`);
      return outcome.output?.stdout.toString("utf8") ?? "";
    },
    outcome: async (id, number) => {
      const stored = await store.sandboxes.execution(id, accountId, number);
      const { verdict = null, errorMessage: message = null } = stored?.outcome?.result ?? {};
      return { verdict, message };
    },
    state: async (id) => {
      const stored = await store.sandboxes.get(id, accountId);
      return { state: stored?.state ?? "none", reason: stored?.endReason ?? null };
    },
    end: async (id) => {
      const living = await keeper.find(id, accountId);
      return (await living.end()).endReason;
    },
  };
  process.on("message", ({ call, name, args }: { call: number; name: keyof KeeperCalls; args: never[] }) => {
    (calls[name] as (...given: never[]) => Promise<unknown>)(...args).then(
      (value) => process.send?.({ call, value }),
      (error: Error) => process.send?.({ call, error: `${error.name} ${error.message}` }),
    );
  });
  process.on("SIGTERM", async () => {
    await keeper.stop();
    await sweeper.stop();
    await store.close();
    process.exit(0);
  });
  process.send?.({ key });
  await sleep(2 ** 31 - 1);
}

if (process.argv[2] !== undefined && process.send) await main(JSON.parse(process.argv[2]) as KeeperSettings);
