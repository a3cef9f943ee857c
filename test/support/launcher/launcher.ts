import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PATIENCE } from "../programs/timeouts.ts";

/** Uids of one place for a launcher, which needs two for each slot and two for each sandbox. A launcher that needs more has several places. */
const UIDS_EACH = 52;
/** The range that `take_uid_range` takes, which is enough for ten times the launchers of a whole run. */
const UIDS_OF_A_RUN = 100_000;
const SANITIZER = /Sanitizer|runtime error: /;
const START_PATIENCE_MS = 15_000 * PATIENCE;

export interface LauncherOptions {
  /** The build with address and undefined-behaviour sanitizers. */
  readonly sanitize?: boolean;
  /** Uses the build with faults, with this fault (launcher/faults.c). */
  readonly fault?: string;
  /** The uid whose connections it accepts besides root's; only root's if absent. */
  readonly clientUid?: number;
  /** Default: 2. */
  readonly slots?: number;
  /** Whether the launcher also starts where the machine can have no sandboxes, and then refuses them. */
  readonly sandboxesIfPossible?: boolean;
  /** Sandboxes at most; default: 0. They may use `sandboxMemory` bytes together, by default 2 GiB. */
  readonly sandboxes?: number;
  readonly sandboxMemory?: number;
  /** The directory of the templates for disks of sandboxes, and how many bytes all disks may have together; absent: sandboxes have none. */
  readonly disks?: { readonly directory: string; readonly bytes: number };
  /** The directory of the socket of a proxy, for sandboxes with a network; absent: they have none. */
  readonly egress?: string;
  /** How long a kept sandbox waits for another client, in seconds; default: that of the launcher. */
  readonly keepSeconds?: number;
  /** Whether sandboxes have sockets on their loopback interface; yes by default. */
  readonly loopback?: boolean;
  /** Keeps the files of the image in memory, as the launcher of a service does. */
  readonly lockImage?: boolean;
  /** Command prefix that prepares a machine and then executes the launcher; see test/system/hosts/. */
  readonly within?: readonly string[];
  /** The path of a program that runs instead of the built launcher. */
  readonly program?: string;
  /** The directory of an image that is used instead of the built one. */
  readonly image?: string;
  /** A dead launcher whose instance name, uids and socket are reused, as in a restart. */
  readonly after?: Launcher;
}

export interface Launcher {
  readonly socket: string;
  readonly pid: number;
  /** Part of the name of its control groups: `assay-<instance>`. */
  readonly instance: string;
  readonly uidBase: number;
  /** How many uids it has, from `uidBase` on. */
  readonly uids: number;
  /** Standard error so far, including sanitizer reports. */
  readonly stderr: () => string;
  /** SIGTERM; resolves with the exit code when it has ended. @throws when a signal ended it. */
  readonly stop: () => Promise<number>;
  /** SIGKILL; resolves when it has ended. The next launcher (`after`) must remove what is left. */
  readonly kill: () => Promise<void>;
}

/** A variable that `assay test` sets. @throws if it is missing, so that a test cannot pass without running. */
export function environment(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with "sudo ./assay test"`);
  return value;
}

/**
 * A real launcher for one test, with its own instance name, uids and socket. It ends by `stop`, or with this process.
 * Test files run concurrently in processes of their own, so the file system allocates the names and uids.
 */
export async function startLauncher(options: LauncherOptions = {}): Promise<Launcher> {
  const build = options.fault ? "_FAULTS" : options.sanitize ? "_ASAN" : "";
  const program = options.program ?? `${environment(`ASSAY_TEST_LAUNCHER${build}`)}.delegated`;
  const rootfs = join(options.image ?? environment("ASSAY_TEST_IMAGE"), "rootfs");
  const { slots = 2, sandboxes = 0 } = options;
  const place = options.after ? placeOf(options.after) : takePlace(2 * (slots + sandboxes));
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
    ...["--uid-base", String(place.uidBase), "--slots", String(slots)],
    ...["--client-uid", String(options.clientUid ?? 0)],
    ...(sandboxes
      ? [
          "--sandboxes",
          String(sandboxes),
          "--sandbox-memory",
          String(options.sandboxMemory ?? 2 * 1024 ** 3),
          ...(options.sandboxesIfPossible ? ["--sandboxes-if-possible"] : []),
          ...(options.loopback === false ? [] : ["--loopback"]),
          ...(options.egress ? ["--egress", options.egress] : []),
          ...(options.disks
            ? ["--sandbox-disks", options.disks.directory, "--sandbox-disk", String(options.disks.bytes)]
            : []),
        ]
      : []),
    ...(options.keepSeconds === undefined ? [] : ["--keep-seconds", String(options.keepSeconds)]),
    ...(options.lockImage ? ["--lock-image", String(Number.MAX_SAFE_INTEGER)] : []),
  ];
  rmSync(place.socket, { force: true });
  const env = { ...process.env, ...(options.fault && { ASSAY_FAULT: options.fault }) };
  const child = spawn("setpriv", arguments_, { stdio: ["ignore", "ignore", "pipe"], cwd: "/", env });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  // A launcher that a failed test forgot must not keep the test process alive. It ends with that process.
  const stream = child.stderr as unknown as Socket;
  const hold = (held: boolean) => {
    for (const handle of [child, stream]) held ? handle.ref() : handle.unref();
  };
  hold(false);
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal ?? "nothing"));
  });
  // Slots and boxes share this standard error, so their reports are checked as well. A finding fails the test in any case.
  child.once("close", () => {
    if (SANITIZER.test(stderr)) throw new Error(`a sanitizer reported: ${stderr}`);
  });
  for (let waited = 0; !existsSync(place.socket); waited += 10) {
    const how = await Promise.race([ended, sleep(10, null)]);
    if (how !== null) throw new Error(`the launcher ended with ${how} while starting: ${stderr}`);
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

type Place = Pick<Launcher, "socket" | "instance" | "uidBase" | "uids">;

function placeOf({ socket, instance, uidBase, uids }: Launcher): Place {
  return { socket, instance, uidBase, uids };
}

/** Takes as many places in a row as have so many uids. Those that it cannot use, because another process has the next one, stay unused. */
function takePlace(uids: number): Place {
  const data = environment("ASSAY_TEST_DATA");
  const instance = environment("ASSAY_TEST_INSTANCE");
  const base = Number(environment("ASSAY_TEST_UID_BASE"));
  const places = Math.ceil(uids / UIDS_EACH);
  let first = 0;
  for (let number = 0; (number + 1) * UIDS_EACH <= UIDS_OF_A_RUN; number++) {
    const directory = join(data, `launcher-${number}`);
    try {
      mkdirSync(directory); // atomic: only one process succeeds
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      first = number + 1;
      continue;
    }
    chmodSync(directory, 0o755); // other uids must be able to connect
    if (number - first + 1 < places) continue;
    return {
      socket: join(directory, "socket"),
      instance: `${instance}-${number}`,
      uidBase: base + first * UIDS_EACH,
      uids: places * UIDS_EACH,
    };
  }
  throw new Error("this test run has used up its uids: are launchers started in a loop?");
}
