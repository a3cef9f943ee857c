import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/**
 * What a run of `assay test` consists of. Paths are those below test/, and name every file that begins with them. A file belongs to
 * the first group that names it, in the order of {@link GROUPS}.
 *
 * To add a test, nothing is needed here, unless the test measures something or needs the machine for itself.
 */

/** Test files that run under the same conditions. */
export interface Group {
  readonly name: string;
  /** Empty for the group of all files that no other group names. */
  readonly paths: readonly string[];
  /** How many files run at once. */
  readonly atOnce: number;
}

const CPUS = availableParallelism();

const GROUPS = {
  /** Tests that need the whole machine. */
  exclusive: {
    name: "exclusive",
    paths: ["system/bounds/event-loop.test.ts", "system/bounds/many-sandboxes", "system/bounds/neighbours"],
    atOnce: 1,
  },
  /** Tests that measure durations, or the memory of the machine. */
  measuring: {
    name: "measuring",
    paths: [
      "integration/cli/bench",
      "system/bounds/answers",
      "system/bounds/comparisons",
      "system/bounds/compile-steps",
      "system/bounds/connections",
      "system/bounds/event-loop-disk",
      "system/bounds/judge0-batch",
      "system/bounds/keys",
      "system/bounds/late-ends",
      "system/bounds/left-behind",
      "system/bounds/objects",
      "system/bounds/queue",
      "system/bounds/refused",
      "system/bounds/sandbox-leaks",
      "system/bounds/times",
      "system/bounds/webhooks",
      "system/parked/huge-pages",
      "system/sandboxes/first-shell",
    ],
    atOnce: 1,
  },
  /** Tests with whole services and their boxes. */
  services: {
    name: "services",
    paths: [
      "integration/cli/doctor",
      "integration/cli/logs",
      "integration/cli/run",
      "integration/metrics/",
      "integration/tracing/",
      "system/deploy/",
      "system/faults/away",
      "system/faults/hanging",
      "system/faults/live-backup",
      "system/faults/nothing-lost",
      "system/faults/sandbox-restart",
      "system/faults/upgrade",
      "system/sandboxes/kills",
      "system/worker/cut-off",
    ],
    atOnce: 2 * CPUS,
  },
  /** All others. They run at once, so that some use the CPUs while others wait for a browser, a compiler or a box. */
  others: { name: "others", paths: [], atOnce: 2 * CPUS },
} as const satisfies Record<string, Group>;

export interface Phase {
  readonly group: Group;
  /**
   * Variants that start with this phase, run one after the other alongside it, and may go on until the end of the run. Each uses one CPU.
   * A plain run has those of which it has a part.
   */
  readonly variantsAlongside?: readonly VariantName[];
}

/**
 * The phases of a run. Variants run alongside the last one, because one of them adds a network interface to the machine, which aborts
 * requests of a browser.
 */
export const PHASES: readonly Phase[] = [
  { group: GROUPS.exclusive },
  { group: GROUPS.measuring },
  { group: GROUPS.others },
  { group: GROUPS.services, variantsAlongside: ["uml", "qemu"] },
];

/** The group of a file, as a path below test/. */
export function groupOf(path: string): Group {
  const named = Object.values<Group>(GROUPS).find(({ paths }) => paths.some((start) => path.startsWith(start)));
  return named ?? GROUPS.others;
}

/** Files that only a full run has, unless a word selects them, and why. What each group proves, the plain run proves with fewer cases. */
export const FULL_ONLY: readonly { readonly reason: string; readonly paths: readonly string[] }[] = [
  {
    reason:
      "They measure durations or the memory of the machine next to hostile load, so that another program can fail them.",
    paths: [
      "system/bounds/answers",
      "system/bounds/comparisons",
      "system/bounds/compile-steps",
      "system/bounds/connections",
      "system/bounds/event-loop",
      "system/bounds/judge0-batch",
      "system/bounds/keys",
      "system/bounds/late-ends",
      "system/bounds/long-requests",
      "system/bounds/neighbours",
      "system/bounds/objects",
      "system/bounds/passwords",
      "system/bounds/queue",
      "system/bounds/refused",
      "system/bounds/sandbox-leaks",
      "system/bounds/times",
      "system/bounds/webhooks",
      "system/sandboxes/first-shell",
    ],
  },
  {
    reason:
      "They keep a whole service under load for minutes. faults/nothing-lost kills each part of one in a plain run.",
    paths: [
      "system/faults/away",
      "system/faults/endurance",
      "system/faults/live-backup",
      "system/faults/purge",
      "system/faults/storm",
      "system/faults/upgrade",
    ],
  },
  {
    reason: "They set up and build again and again. setup/set-up and setup/serve do so once.",
    paths: ["system/setup/import", "system/setup/languages", "system/setup/survivors"],
  },
  {
    reason:
      "They check the launcher in ways that only a change of it, of the hosts that it supports or of the image can fail.",
    paths: [
      "system/hosts/fallback",
      "system/launcher/analysis",
      "system/launcher/arm64",
      "system/launcher/fuzz",
      "system/launcher/recorded",
    ],
  },
  {
    reason:
      "They look at one page each. dashboard/pages opens every page in both themes, and three other files the pages of runs.",
    paths: [
      "system/dashboard/budget",
      "system/dashboard/changes",
      "system/dashboard/charts",
      "system/dashboard/choices",
      "system/dashboard/everyday",
      "system/dashboard/judgements",
      "system/dashboard/lists",
      "system/dashboard/problems",
      "system/dashboard/program-files",
      "system/dashboard/real",
      "system/dashboard/usage-curve",
      "system/dashboard/webhooks",
    ],
  },
  {
    reason: "They run programs as system/matrix/ does in more languages, or use clients as other tests do.",
    paths: [
      "system/client/packed",
      "system/client/real",
      "system/packs/",
      "system/programs/languages",
      "system/programs/typical",
    ],
  },
];

/** Files that take long. They start first in their group, in this order, so that others fill the time alongside their ends. */
export const LONG_FILES: readonly string[] = [
  "system/deploy/package",
  "system/deploy/container-run",
  "system/faults/nothing-lost",
  "system/faults/live-backup",
  "system/faults/upgrade",
  "system/faults/hanging",
  "system/worker/cut-off",
  "system/faults/away",
  "system/setup/test-command",
  "system/dashboard/pages",
  "system/dashboard/submissions",
  "system/dashboard/choices",
  "system/dashboard/real",
  "system/setup/survivors",
  "system/dashboard/playground",
  "system/setup/serve",
  "system/launcher/fuzz",
  "system/matrix/",
  "system/attacks/",
  "system/worker/",
  "system/faults/storm",
  "system/falsify/teardown",
  "system/launcher/arm64",
  "system/packs/",
  "system/programs/languages",
  "system/programs/output",
  "system/launcher/life",
  "integration/cli/",
  "integration/webhooks/",
  "integration/store/plans",
];

/**
 * The language packs that their tests use in a run that is not full. Some are from Debian and some from npm, one has no layer and one
 * needs compat.c; the languages are compiled, interpreted or use threads.
 */
export const PLAIN_PACKS = "bash,coffeescript,cpp23,erlang";
/** A file below these paths, or one that names them, needs the image with packs. */
export const PACK_TESTS = "system/packs/";
/** This file needs that image in a full run only. */
export const LONG_PACK_TESTS = "system/bounds/neighbours.test.ts";

const SANDBOX_SUITES: readonly string[] = ["system/matrix/", "system/forgery/", "system/attacks/", "system/falsify/"];
/**
 * Suites of sandboxes that live, as far as the kernel decides what they show: boxes, executions, CPUs, files, snapshots, and a keeper over these with its
 * database. User-mode Linux cannot run them: there, a child still sees memory of its parent that MADV_DONTFORK withholds from it, so that each process
 * overwrites what the other has at these addresses. Tests of disks skip themselves in the emulated machine, whose only storage is memory: it has no loop
 * devices, and no room for a disk, whose blocks are reserved. Suites with whole services (`http`, `commands`, `kills`, `linked`, `tutorial`) show nothing of a
 * kernel that these do not.
 */
const LIVING_SUITES: readonly string[] = [
  "system/files/in-sandbox",
  "system/files/snapshots",
  "system/launcher/cpus",
  "system/launcher/sandbox-",
  "system/sandboxes/disks",
  "system/sandboxes/forgery",
  "system/sandboxes/keeper",
  "system/sandboxes/snapshots",
  "system/sandboxes/tools",
];

export type VariantName = "uml" | "qemu" | "sanitized" | "cold" | "postgres";

/** Suites that are repeated under other conditions. */
export interface Variant {
  readonly about: string;
  readonly suites: readonly string[];
  /** The program that boots another kernel, which set-up finds; its tools are in the environment variable `tools`. */
  readonly kernel?: { readonly boot: string; readonly tools: string };
  /** A factor for all timeouts. */
  readonly patience?: number;
  /** The seconds after which a kernel counts as hanging. */
  readonly seconds?: number;
  /** The variables that differ from those of the run. */
  readonly environment?: (run: NodeJS.ProcessEnv) => NodeJS.ProcessEnv;
  /** What differs in a plain run, which has only a part of the variant, and the sentence that names what is left out. */
  readonly plain?: Pick<Variant, "suites" | "seconds" | "environment"> & { readonly leftOut: string };
}

/** The most memory that a process of user-mode Linux can have: each of its pages is a mapping of a process of this machine. */
const bytesInUml = () => String(Number(readFileSync("/proc/sys/vm/max_map_count", "utf8")) * 4_096);

export const VARIANTS: Readonly<Record<VariantName, Variant>> = {
  uml: {
    about: "only cgroup v2, in user-mode Linux",
    suites: SANDBOX_SUITES,
    kernel: { boot: "test/system/kernel/uml", tools: "ASSAY_TEST_KERNEL_UML" },
    // Each page of memory costs this kernel a signal, and it charges the time of other processes to its own programs.
    patience: 8,
    seconds: 7_200,
    // One is compiled to machine code, one has a managed heap, one is interpreted. The kernel counts all others in the same way.
    environment: () => ({ ASSAY_TEST_MATRIX: "c java python", ASSAY_TEST_PROCESS_BYTES: bytesInUml() }),
    plain: {
      seconds: 1_800,
      // Counters depend on the cgroup version; signals, rlimits, and the filter and the mounts of the attacks do not.
      suites: ["system/forgery/counters"],
      environment: () => ({
        // This kernel would take minutes to start runtimes that wait.
        ASSAY_TEST_COLD: "yes",
        ASSAY_TEST_PROCESS_BYTES: bytesInUml(),
      }),
      leftOut:
        "test/system/attacks/, test/system/falsify/, test/system/forgery/ except for counters, and test/system/matrix/",
    },
  },
  qemu: {
    about: "only cgroup v2 with BPF and PSI, in an emulated machine",
    suites: [...SANDBOX_SUITES, ...LIVING_SUITES],
    kernel: { boot: "test/system/kernel/qemu", tools: "ASSAY_TEST_KERNEL_QEMU" },
    patience: 12,
    // Files in sandboxes take most of it: a snapshot that is restored 20 times took 20 minutes on a busy machine.
    seconds: 14_400,
    // A PostgreSQL server runs on the machine itself in all other runs, and shows nothing of this kernel that SQLite does not.
    environment: () => ({ ASSAY_TEST_MATRIX: "c python", ASSAY_TEST_DATABASE: "sqlite" }),
  },
  sanitized: {
    about: "the launcher with sanitizers",
    suites: [...SANDBOX_SUITES, ...LIVING_SUITES],
    environment: (run) => ({ ASSAY_TEST_LAUNCHER: run.ASSAY_TEST_LAUNCHER_ASAN }),
  },
  cold: {
    about: "without runtimes that wait for submissions",
    suites: SANDBOX_SUITES,
    environment: () => ({ ASSAY_TEST_COLD: "yes" }),
  },
  postgres: {
    about: "the pages of the dashboard on PostgreSQL",
    suites: ["system/dashboard/"],
    environment: () => ({ ASSAY_TEST_DATABASE: "postgres" }),
  },
};

/** Checks of the launcher that a full run adds, with a compiler that only this run installs. */
export const LONG_CHECKS: readonly (readonly string[])[] = [
  ["launcher/analyse", "clang"],
  ["launcher/fuzz/run", "60"],
];

/** Settings of the tests in a full run, unless the environment has others. */
export const FULL_SETTINGS: Readonly<Record<string, string>> = {
  ASSAY_TEST_LONG: "yes",
  ASSAY_TEST_KILLS: "100",
  ASSAY_TEST_SANDBOX_KILLS: "200",
  ASSAY_TEST_RUNS: "10000",
  ASSAY_TEST_SUBMISSIONS: "3000",
  ASSAY_TEST_CUT_SECONDS: "90",
};

/** A test that hangs fails after this time, and the run continues. */
export const testSeconds = (isLong: boolean) => (isLong ? 3_600 : 900);
