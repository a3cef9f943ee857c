import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Turns } from "../../support/bounds/measured.ts";

/** The real server in its own process, over HTTPS on loopback, with records of two accounts. */
export interface BoundedService {
  readonly port: number;
  readonly ca: string;
  /**
   * The attacker's account: a key, a key with 1 request a minute, ids of records with 2 MiB of output, and a member's
   * cookie.
   */
  readonly attacker: {
    readonly key: string;
    readonly spentKey: string;
    readonly ids: readonly string[];
    readonly cookie: string;
  };
  /** The other account: a key and the id of a small record. */
  readonly honest: { readonly key: string; readonly id: string };
  /** Measures the event loop during the work. */
  readonly during: (work: () => Promise<unknown>) => Promise<Turns>;
  /** The peak memory of the process in bytes. */
  readonly peakMemoryBytes: () => number;
}

interface Hooks {
  readonly after: (work: () => unknown) => void;
}

/** @param engine the database engine. @param runs whether pending submissions end, or stay pending. */
export async function boundedService(
  t: Hooks,
  engine: "sqlite" | "postgres",
  runs: "end" | "stay" = "end",
): Promise<BoundedService> {
  const child = fork(new URL("./served.ts", import.meta.url), [engine, runs], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  t.after(async () => {
    if (child.connected) child.disconnect();
    if (child.exitCode === null) await once(child, "exit");
  });
  const begun = await message<Pick<BoundedService, "port" | "ca" | "attacker" | "honest">>(child);
  return {
    ...begun,
    during: async (work) => {
      child.send("begin");
      await work();
      child.send("end");
      return await message<Turns>(child);
    },
    peakMemoryBytes: () => {
      const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
      return Number(kib) * 1024;
    },
  };
}

async function message<T>(child: ChildProcess): Promise<T> {
  const over = new AbortController();
  try {
    const [received] = await Promise.race([
      once(child, "message", { signal: over.signal }),
      once(child, "exit", { signal: over.signal }).then(() => Promise.reject(new Error("the service ended"))),
    ]);
    return received as T;
  } finally {
    over.abort();
  }
}
