import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PATIENCE } from "../engine/patience.ts";

/** Uids of one launcher: two for each of at most 16 slots. A whole run starts some 180 launchers. */
export const UIDS_EACH = 32;
const UIDS_OF_A_RUN = 10_000;
const SANITIZER = /Sanitizer|runtime error: /;
const START_PATIENCE_MS = 15_000 * PATIENCE;

export interface LauncherOptions {
  /** The build with address and undefined-behaviour sanitizers. */
  readonly sanitize?: boolean;
  /** The build for faults, with this one (launcher/faults.c). */
  readonly fault?: string;
  /** Whose connections it takes besides root's; root's alone when absent. */
  readonly clientUid?: number;
  /** Two when absent. */
  readonly slots?: number;
  /** What becomes the launcher when it has made the machine that it wants; see test/hosts/. */
  readonly within?: readonly string[];
  /** Instead of the one that was built. */
  readonly program?: string;
  /** The directory of an image, instead of the one that was built. */
  readonly image?: string;
  /** A launcher that is dead: take its instance name, uids and socket, as a restart does. */
  readonly after?: Launcher;
}

export interface Launcher {
  readonly socket: string;
  readonly pid: number;
  /** Part of the name of its control groups: `assay-<instance>`. */
  readonly instance: string;
  readonly uidBase: number;
  /** What it wrote on standard error so far; a sanitizer's report would be there. */
  readonly stderr: () => string;
  /** SIGTERM; resolves with the exit code when it has ended. @throws when a signal ended it. */
  readonly stop: () => Promise<number>;
  /** SIGKILL; resolves when it has ended. What it leaves behind is the next one's to sweep (`after`). */
  readonly kill: () => Promise<void>;
}

/** A variable that `assay test` sets. A test without it fails: it must not pass by not running. */
export function environment(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with "sudo ./assay test"`);
  return value;
}

/**
 * A real launcher for one test: own instance name, own uids, own socket, ended by `stop` (or
 * with this process, if a test forgets). Test files run in processes of their own, at the same
 * time, so the places are given out by the file system.
 */
export async function startLauncher(options: LauncherOptions = {}): Promise<Launcher> {
  const build = options.fault ? "_FAULTS" : options.sanitize ? "_ASAN" : "";
  const program = options.program ?? `${environment(`ASSAY_TEST_LAUNCHER${build}`)}.delegated`;
  const rootfs = join(options.image ?? environment("ASSAY_TEST_IMAGE"), "rootfs");
  const place = options.after ? placeOf(options.after) : takePlace();
  const arguments_ = [
    ...[
      "--pdeathsig",
      "TERM",
      ...(options.within ?? []),
      program,
      "--socket",
      place.socket,
      "--image",
      rootfs,
      "--instance",
      place.instance,
    ],
    ...["--uid-base", String(place.uidBase), "--slots", String(options.slots ?? 2)],
    ...["--client-uid", String(options.clientUid ?? 0)],
  ];
  rmSync(place.socket, { force: true });
  const env = { ...process.env, ...(options.fault && { ASSAY_FAULT: options.fault }) };
  const child = spawn("setpriv", arguments_, { stdio: ["ignore", "ignore", "pipe"], cwd: "/", env });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  // A launcher that a failed test forgets must not keep the test process, with which it ends.
  const words = child.stderr as unknown as Socket;
  const hold = (held: boolean) => {
    for (const handle of [child, words]) held ? handle.ref() : handle.unref();
  };
  hold(false);
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal ?? "nothing"));
  });
  // Of a slot or a box, too, which have the same standard error: whatever the test makes of it, it fails.
  child.once("close", () => {
    if (SANITIZER.test(stderr)) throw new Error(`a sanitizer found something: ${stderr}`);
  });
  for (let waited = 0; !existsSync(place.socket); waited += 10) {
    const how = await Promise.race([ended, sleep(10, null)]);
    if (how !== null) throw new Error(`the launcher ended with ${how} at its start: ${stderr}`);
    if (waited > START_PATIENCE_MS) throw new Error(`the launcher does not listen: ${stderr}`);
  }
  return {
    ...place,
    pid: child.pid as number,
    stderr: () => stderr,
    async stop() {
      hold(true);
      child.kill("SIGTERM");
      const how = await ended;
      if (typeof how === "string") throw new Error(`the launcher was ended by ${how}: ${stderr}`);
      return how;
    },
    async kill() {
      hold(true);
      child.kill("SIGKILL");
      await ended;
    },
  };
}

type Place = Pick<Launcher, "socket" | "instance" | "uidBase">;

function placeOf({ socket, instance, uidBase }: Launcher): Place {
  return { socket, instance, uidBase };
}

function takePlace(): Place {
  const data = environment("ASSAY_TEST_DATA");
  const instance = environment("ASSAY_TEST_INSTANCE");
  const base = Number(environment("ASSAY_TEST_UID_BASE"));
  for (let number = 0; (number + 1) * UIDS_EACH <= UIDS_OF_A_RUN; number++) {
    const directory = join(data, `launcher-${number}`);
    try {
      mkdirSync(directory); // atomic: exactly one process gets it
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw error;
    }
    chmodSync(directory, 0o755); // another uid must be able to try
    return {
      socket: join(directory, "socket"),
      instance: `${instance}-${number}`,
      uidBase: base + number * UIDS_EACH,
    };
  }
  throw new Error("this test run has used up its uids: are launchers started in a loop?");
}
