import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { isKeptGroup } from "../../support/launcher/machine.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { source, useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

const product = useProduct();

/** Numbers of things that a run could leave on the machine. */
interface Remains {
  readonly processes: number;
  readonly mounts: number;
  readonly groups: number;
  readonly namespaces: number;
}

/** Counts the launcher's process tree with its mounts and namespaces, and the launcher's control groups. */
function remains(launcher: number, instance: string): Remains {
  const family = descendants(launcher);
  const namespaces = new Set<string>();
  let mounts = 0;
  for (const pid of family) {
    for (const kind of ["mnt", "net", "pid", "ipc", "uts", "cgroup"])
      namespaces.add(readlinkSync(`/proc/${pid}/ns/${kind}`));
    mounts += readFileSync(`/proc/${pid}/mountinfo`, "utf8").split("\n").length - 1;
  }
  const groups = groupDirectories(launcher, instance).flatMap((directory) =>
    readdirSync(directory, { withFileTypes: true }),
  );
  return {
    processes: family.length,
    mounts,
    groups: groups.filter((entry) => entry.isDirectory() && !isKeptGroup(join(entry.parentPath, entry.name))).length,
    namespaces: namespaces.size,
  };
}

function descendants(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // The process ended meanwhile.
    }
  }
  const family = [root];
  for (const pid of family) for (const [child, parent] of parents) if (parent === pid) family.push(child);
  return family;
}

/** `assay-<instance>` in every hierarchy of the launcher. */
function groupDirectories(launcher: number, instance: string): string[] {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const own = readFileSync(`/proc/${launcher}/cgroup`, "utf8").trim().split("\n");
  return own.flatMap((line) => {
    const [, controllers, path] = line.split(":", 3) as [string, string, string];
    const mount = mounts.find((text) =>
      controllers === ""
        ? text.includes(" - cgroup2 ")
        : text.includes(" - cgroup ") && text.split(",").includes(controllers),
    );
    const at = mount?.split(" ")[4];
    const directory = `${at}${path}/assay-${instance}`.replaceAll("//", "/");
    return at && existing(directory) ? [directory] : [];
  });
}

function existing(directory: string): boolean {
  try {
    readdirSync(directory);
    return true;
  } catch {
    return false;
  }
}

/** The smoke tests of all languages and the programs that leave most behind, in a fixed order. */
function* mixed(total: number): Generator<[string, string]> {
  const quick: [string, string][] = [
    ["python", "print(1)"],
    ["python", "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\n"],
    ["python", source("python", "exit-seven")],
    ["python", source("python", "forks-without-end")],
    [
      "python",
      "import os\nfor i in range(200): open(f'/tmp/{i}', 'w').write('x')\nos.symlink('/etc/passwd', 'link')\n",
    ],
    ["python", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"],
    ["python", source("python", "writes-a-big-file")],
    ["javascript", "console.log(1)"],
  ];
  const slow: [string, string][] = [
    ...installedLanguages()
      .list()
      .map(({ name, smokeTest: hello }): [string, string] => [name, hello.code]),
    ["python", source("python", "eats-memory")],
    ["c", source("c", "forks-without-end").replace("while (fork() >= 0)\n\t\t;\n", "fork();\n")],
    ["c", source("c", "does-not-compile")],
    ["c", source("c", "dies-of-a-fault")],
  ];
  for (let i = 0; i < total; i++) {
    const list = i % 10 === 0 ? slow : quick;
    yield list[Math.floor(i % 10 === 0 ? i / 10 : i) % list.length] as [string, string];
  }
}

const RUNS = SKIPS_LONG ? 150 : 600;

test(`${RUNS} mixed runs leave no additional process, mount, control group or namespace`, async () => {
  const { launcher, run } = product();
  const programs = mixed(RUNS);
  await Promise.all([run("python", "print(1)"), run("python", "print(2)"), run("c", source("c", "exit-seven"))]);
  await sleep(500);
  const before = remains(launcher.pid, launcher.instance);
  const seen = new Map<string, number>();
  const client = async () => {
    for (const [language, code] of programs) {
      // Checks each record: no missing control, no zombie, verified clean-up.
      const { result } = checked(await run(language, code));
      seen.set(result.verdict, (seen.get(result.verdict) ?? 0) + 1);
    }
  };
  await Promise.all([client(), client(), client(), client()]);
  await sleep(1_000);
  const after = remains(launcher.pid, launcher.instance);
  assert.deepEqual(after, before);
  assert.deepEqual([...seen.keys()].toSorted(), ["AC", "FSE", "MLE", "PLE", "RE", "SIG"]);
});
