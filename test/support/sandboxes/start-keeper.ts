import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { KeeperCalls, KeeperSettings } from "./keeper-process.ts";

const PROGRAM = fileURLToPath(new URL("keeper-process.ts", import.meta.url));

/** A process that has sandboxes. */
export interface KeeperProcess extends KeeperCalls {
  readonly key: NonNullable<KeeperSettings["key"]>;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

const NAMES = [
  "create",
  "execute",
  "output",
  "outcome",
  "state",
  "end",
] as const satisfies readonly (keyof KeeperCalls)[];

/** Starts the process, and waits until it has taken over what an earlier one has left. Calls that are under way at its end are rejected. */
export async function startKeeper(settings: KeeperSettings): Promise<KeeperProcess> {
  const child = fork(PROGRAM, [JSON.stringify(settings)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const ready = Promise.withResolvers<KeeperProcess["key"]>();
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let last = 0;
  child.on("message", (message: { key?: KeeperProcess["key"]; call?: number; value?: unknown; error?: string }) => {
    if (message.key) ready.resolve(message.key);
    const one = waiting.get(message.call ?? -1);
    waiting.delete(message.call ?? -1);
    if (message.error === undefined) one?.resolve(message.value);
    else one?.reject(new Error(message.error));
  });
  void ended.then((code) => {
    const error = new Error(`the process has ended with ${code}`);
    ready.reject(error);
    for (const one of waiting.values()) one.reject(error);
    waiting.clear();
  });
  const ask = (name: keyof KeeperCalls, args: unknown[]): Promise<unknown> => {
    if (hasEnded(child)) return Promise.reject(new Error("the process has ended"));
    const one = Promise.withResolvers<unknown>();
    waiting.set(++last, one);
    const call = last;
    // The process can be killed at any moment, also before it has read this.
    child.send({ call, name, args }, (error) => {
      if (error) one.reject(error);
    });
    return one.promise;
  };
  const calls = Object.fromEntries(NAMES.map((name) => [name, (...args: unknown[]) => ask(name, args)]));
  const key = await ready.promise;
  return {
    ...(calls as unknown as KeeperCalls),
    key,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
    stop: async () => {
      child.kill("SIGTERM");
      return await ended;
    },
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || !child.connected;
}
