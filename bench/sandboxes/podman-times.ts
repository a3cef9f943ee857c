import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { timed } from "../service.ts";
import type { PodmanTimes } from "./peer.ts";

/**
 * Measures podman, for peer.ts:
 *
 *   enclosed.sh node podman-times.ts ROOTFS DIRECTORY CREATIONS EXECUTIONS      enclosed.sh adds the name of a control group
 *
 * Prints {@link PodmanTimes}. Its containers have the programs of the image, over which podman mounts an overlay that it throws away, so that no
 * image comes from a registry, and the limits of our sandboxes. The directory has everything that podman stores.
 */
const [rootfs = "", directory = "", creations = "", executions = "", group = ""] = process.argv.slice(2);

const STORES = [
  // podman takes no long path for what it keeps while containers run.
  ...["--root", join(directory, "storage"), "--runroot", "/run/podman", "--tmpdir", "/run/libpod"],
  // Without systemd and its journal, which not every machine has.
  ...["--cgroup-manager", "cgroupfs", "--events-backend", "none"],
];
const CONTAINER = [
  ...["--network", "none", "--cgroupns", "private", "--cgroup-parent", `/${group}`],
  ...["--memory", "64m", "--pids-limit", "128"],
  // An engine may raise a limit above the maximum of the machine.
  ...["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"],
  ...["--rootfs", `${rootfs}:O`],
];

/** Runs one command of podman. @returns its output. @throws unless it exits with 0. */
function podman(args: readonly string[], input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile("podman", [...STORES, ...args], (error, stdout, stderr) =>
      error ? reject(new Error(`podman ${args.join(" ")}: ${stderr || error.message}`)) : resolve(stdout),
    );
    child.stdin?.on("error", () => {}); // it may end without reading
    child.stdin?.end(input);
  });
}

let isOver = false;
process.once("SIGTERM", () => {
  isOver = true;
});

/** Measures some work again and again, after one time that is not counted. A signal ends it. */
async function measured(amount: string, work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let at = -1; at < Number(amount); at++) {
    if (isOver) throw new Error("it was interrupted");
    const ms = await timed(work);
    if (at >= 0) times.push(ms);
  }
  return times;
}

async function expect(output: Promise<string>, expected: string): Promise<void> {
  const text = await output;
  if (text !== expected) throw new Error(`podman printed ${text.slice(0, 100)} instead of ${expected.slice(0, 100)}`);
}

async function measure(): Promise<PodmanTimes> {
  const made: string[] = [];
  const create = await measured(creations, async () => {
    made.push((await podman(["run", "--detach", ...CONTAINER, "/usr/bin/sleep", "infinity"])).trim());
  });
  const [living = "", ...others] = made;
  if (others.length > 0) await podman(["rm", "--force", "--time", "0", ...others]);
  const execute = (...words: string[]) => podman(["exec", living, ...words]);
  const content = "x".repeat(1_024);
  return {
    version: await measured(executions, () => podman(["--version"])),
    create,
    runTrue: await measured(creations, () => podman(["run", "--rm", ...CONTAINER, "/usr/bin/true"])),
    executeTrue: await measured(executions, () => execute("true")),
    executeBashEcho: await measured(executions, () => expect(execute("bash", "-c", "echo hello"), "hello\n")),
    file1Kib: await measured(executions, async () => {
      await podman(["exec", "--interactive", living, "sh", "-c", "cat > /tmp/file"], content);
      await expect(execute("cat", "/tmp/file"), content);
    }),
  };
}

// podman and the program with which it starts containers keep their state there. Only this process and what it starts see this mount.
execFileSync("mount", ["-t", "tmpfs", "podman", "/run"]);
try {
  process.stdout.write(JSON.stringify(await measure()));
} finally {
  await podman(["rm", "--all", "--force", "--time", "0"]);
}
