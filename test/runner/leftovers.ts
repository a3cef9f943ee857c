import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** The control group file system, and how deep below it a test run's groups can be. */
const [CGROUPS, MOST_DEPTH] = ["/sys/fs/cgroup", 12];

export interface TestRun {
  /** The data directory. */
  readonly data: string;
  /** The name of this run, which its control groups, processes and directories have. */
  readonly instance: string;
}

/**
 * What tests may not leave, a line for each: control groups with the name of the run, mounts below the data directory, and processes of
 * programs in it. Two things are excluded: lines with the name of another instance of the data directory, and the mount for the
 * databases of this run.
 */
function state({ data, instance }: TestRun): Set<string> {
  const others = attempt(() => readdirSync(`${data}/run`), []).filter((name) => name !== instance);
  const lines = [
    ...groups(CGROUPS, `assay-${instance}`, MOST_DEPTH).map((path) => `control group ${path}`),
    ...mounts(`${data}/`, `${data}/run/${instance}/databases`).map((path) => `mount ${path}`),
    ...processes(`${data}/`, instance).map((line) => `process ${line}`),
  ];
  const own = lines.filter((line) => !others.some((other) => line.includes(other)));
  return new Set(own.map((line) => line.slice(0, 200)));
}

function groups(path: string, name: string, depth: number): string[] {
  const entries = attempt(() => readdirSync(path, { withFileTypes: true }), []).filter((entry) => entry.isDirectory());
  return entries.flatMap((entry) => {
    const below = `${path}/${entry.name}`;
    if (entry.name.startsWith(name)) return [below];
    return depth > 1 ? groups(below, name, depth - 1) : [];
  });
}

function mounts(below: string, except: string): string[] {
  const points = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "");
  return points.filter((point) => point.startsWith(below) && point !== except);
}

/**
 * Programs below the data directory. Node and the tools of npm are also there, and somebody may use them while the tests run, for example
 * in an editor. They count only if their words or their environment name a run.
 */
function processes(below: string, instance: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) =>
      attempt(() => {
        const program = readlinkSync(`/proc/${pid}/exe`);
        if (!program.startsWith(below)) return [];
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        const run = /(?:^|\0)ASSAY_TEST_INSTANCE=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, "utf8"))?.[1];
        const isOfTests = run !== undefined || words.includes(instance);
        if (program.startsWith(`${below}modules/`) && !isOfTests) return [];
        return [`${pid} ${program} ${words}${run === undefined ? "" : `of ${run}`}`];
      }, []),
    );
}

/** Something can end while it is read. */
function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** Finds what the tests leave behind from now on. */
export class Leftovers {
  readonly #run: TestRun;
  readonly #before: Set<string>;

  constructor(place: TestRun) {
    this.#run = place;
    this.#before = state(place);
  }

  /** Returns the lines that are new. Waits up to three seconds for processes that are ending. */
  async find(): Promise<string[]> {
    for (let tries = 0; ; tries++) {
      const left = [...state(this.#run)].filter((line) => !this.#before.has(line)).sort();
      if (left.length === 0 || tries === 12) return left;
      await sleep(250);
    }
  }

  /** Kills the processes that name this run, because interrupted tests cannot end theirs. */
  end(left: readonly string[]): void {
    for (const line of left) {
      const pid = /^process (\d+) /.exec(line)?.[1];
      if (pid === undefined) continue;
      attempt(() => {
        if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(this.#run.instance))
          process.kill(Number(pid), "SIGKILL");
      }, undefined);
    }
  }
}
