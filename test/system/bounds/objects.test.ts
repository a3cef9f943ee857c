import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Launcher } from "../../support/launcher/launcher.ts";
import { exists, groupsOf, programsOf, read } from "../../support/launcher/machine.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { source, useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

/**
 * Kinds of kernel objects. A program creates as many as it can, and the loss of free memory is compared with the charge
 * of the box's group.
 */
const product = useProduct({ workers: 1 });
const MIB = 1_048_576;
const PAGE = 4096;
const APART_MOST = 32 * MIB;
/**
 * For a connection that waits to be accepted, the kernel charges 2.3 KiB for its two sockets, but not the empty message
 * between them, which uses 0.8 KiB (256 bytes of skbuff_head_cache and 576 of skbuff_small_head). No server works
 * without such connections. The memory limit bounds the charge, and so the rest. Partly used slabs count in addition.
 */
const PARTLY_CHARGED: Readonly<Record<string, number>> = { waiting_connections: 0.6 };
const TRIES = 8;
/** The first samples may precede the program. */
const FIRST = 2;

/** Titles by the name in test/programs/c/bounds/objects.c. */
const KINDS: Readonly<Record<string, string>> = {
  files: "empty files in the three places",
  long_names: "files with long names",
  symlinks: "symbolic links of 4,000 bytes",
  links: "hard links",
  directories: "sibling directories",
  deep_directories: "nested directories",
  contents: "pages of files in the three places",
  missing_names: "look-ups of names that do not exist",
  existing_names: "look-ups of every name of the image",
  pipes: "pipes, full",
  streams: "stream sockets, full",
  datagrams: "queued datagrams",
  packets: "queued packets",
  named_sockets: "named sockets",
  waiting_connections: "connections that wait to be accepted",
  descriptors_in_flight: "descriptors in flight",
  memory_files: "memory files",
  descriptors: "open files",
  events: "eventfds",
  timer_files: "timerfds",
  process_files: "pidfds",
  signal_files: "signalfds",
  proc_files: "open files of /proc",
  timers: "timers",
  queued_signals: "queued signals",
  page_tables: "page tables",
  mappings: "mappings",
  file_mappings: "mappings of files",
  epoll_watches: "epoll watches",
  threads: "threads",
  processes: "processes in sessions of their own",
  large_arguments: "large arguments and environments",
  byte_locks: "byte-range locks, answered without a lock",
  locks: "locks of whole files, answered without a lock",
};
/** Objects that cannot be created. */
const REFUSED: Readonly<Record<string, string>> = {
  open_file_locks: "byte-range locks of open files",
  access_lists: "access control lists",
  attributes: "extended attributes",
  segments: "System V shared memory",
  semaphores: "System V semaphores",
  queues: "System V message queues",
  posix_queues: "POSIX message queues",
  keys: "keys",
  rings: "io_uring",
  requests: "asynchronous requests",
  rulesets: "Landlock rule sets",
  watches: "inotify instances",
  watch_queues: "watch queues",
  leases: "leases",
  fanotify: "fanotify groups",
  programs: "BPF programs",
  userfaultfds: "userfaultfds",
  secrets: "secret memory",
};

/**
 * Memory of the kernel and of tmpfs: all memory except free pages, memory of processes and the page cache. It includes
 * pages queued in pipes and sockets, which no counter has. Free pages on the list of a CPU are not in MemFree.
 */
function takenBytes(): number {
  const [meminfo, zoneinfo] = [read("/proc/meminfo"), read("/proc/zoneinfo")];
  const field = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(meminfo)?.[1]) * 1024;
  const listed = [...zoneinfo.matchAll(/^ +count: +(\d+)$/gm)].reduce((sum, [, pages]) => sum + Number(pages), 0);
  const others = ["MemFree", "AnonPages", "Cached", "Buffers", "SwapCached"].reduce(
    (sum, name) => sum + field(name),
    0,
  );
  const taken = field("MemTotal") + field("Shmem") - others - listed * PAGE;
  assert.ok(Number.isFinite(taken), "/proc/meminfo cannot be parsed");
  return taken;
}

/** The charge of the launcher's groups, without the page cache and memory of processes. */
function chargedBytes(launcher: Launcher): number {
  const name = `/assay-${launcher.instance}`;
  const top = groupsOf(launcher).find((path) => path.endsWith(name) && exists(`${path}/memory.stat`)) ?? "";
  const usage = Number(read(`${top}/memory.current`) || read(`${top}/memory.usage_in_bytes`));
  const stat = read(`${top}/memory.stat`);
  const field = (...names: string[]) =>
    Number(
      names.map((name) => new RegExp(`^${name} (\\d+)$`, "m").exec(stat)?.[1]).find((value) => value !== undefined),
    );
  const charged = usage - field("total_cache", "file") + field("total_shmem", "shmem") - field("total_rss", "anon");
  assert.ok(Number.isFinite(charged), `${top} cannot be parsed`);
  return charged;
}

interface Held {
  readonly made: number;
  readonly charged: number;
  readonly taken: number;
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/**
 * The charge and the loss of memory, relative to before, at their largest difference over a fifth of a second, and at
 * the highest charge. `bounded`: the kernel memory bound ended the program.
 */
async function held(kind: string, profile: string) {
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await heldOnce(kind, profile);
    if (found) return found;
  }
  assert.fail(`too few samples in each of ${TRIES} runs`);
}

/** @returns null if a busy machine left too few samples. */
async function heldOnce(
  kind: string,
  profile: string,
): Promise<{ readonly furthest: Held; readonly highest: Held } | "bounded" | null> {
  const { launcher } = product();
  const sample = () => ({
    charged: chargedBytes(launcher),
    taken: takenBytes(),
    running: programsOf(launcher).length > 0,
  });
  const before: ReturnType<typeof sample>[] = [];
  for (let i = 0; i < 5; i++) {
    before.push(sample());
    await sleep(20);
  }
  const middle = (samples: typeof before, of: "charged" | "taken") => median(samples.map((each) => each[of]));
  const samples: typeof before = [];
  const timer = setInterval(() => samples.push(sample()), 40);
  const record = checked(await product().run("c", source("c", "bounds/objects"), { profile, stdin: kind }));
  clearInterval(timer);
  const { result, output, metrics } = record;
  if (result.verdict === "MLE" && /in the kernel/.test(result.error_message ?? "")) return "bounded";
  assert.equal(result.verdict, "AC", JSON.stringify({ result, output, metrics }));
  const made = Number(output.stdout);
  // Excludes the end: freed memory is uncharged at once, but the kernel keeps empty pages briefly.
  const ended = samples.findLastIndex(({ running }) => running) - 8;
  const windows = samples.slice(FIRST, Math.max(ended, FIRST)).map((_, at) => {
    const window = samples.slice(at + FIRST, at + FIRST + 5);
    const rise = (of: "charged" | "taken") => middle(window, of) - middle(before, of);
    return { made, charged: rise("charged"), taken: rise("taken") };
  });
  const [furthest] = windows.toSorted((a, b) => b.taken - b.charged - (a.taken - a.charged));
  const [highest] = windows.toSorted((a, b) => b.charged - a.charged);
  return furthest && highest && windows.length >= 6 ? { furthest, highest } : null;
}

function printRow(t: TestContext, what: string, { made, charged, taken }: Held): void {
  t.diagnostic(`| ${what} | ${made} | ${(charged / MIB).toFixed(1)} | ${(taken / MIB).toFixed(1)} |`);
}

describe("the measurement includes memory that no counter has", () => {
  for (const kind of ["pipes", "streams"])
    test(`pages queued in ${KINDS[kind]}`, async (t) => {
      for (let tries = 1; ; tries++) {
        const seen = await held(kind, "agent");
        assert.ok(seen !== "bounded");
        const { highest } = seen;
        printRow(t, KINDS[kind] ?? kind, highest);
        assert.ok(highest.charged > 2 * APART_MOST, "the charge is too small to compare");
        if (Math.abs(highest.taken - highest.charged) < APART_MOST) return;
        assert.ok(tries < TRIES, JSON.stringify(highest));
      }
    });
});

/** The profiles. In `agent`, a program can create more objects. */
const PROFILES = SKIPS_LONG ? ["agent"] : ["agent", "judge"];

for (const profile of PROFILES)
  describe(`in ${profile}, kernel objects of a program are charged to its box`, () => {
    for (const [kind, what] of Object.entries(KINDS))
      test(what, async (t) => {
        // Other programs allocate and free memory in the meantime. Uncharged memory shows in every try.
        for (let tries = 1; ; tries++) {
          const both = await held(kind, profile);
          if (both === "bounded") return t.diagnostic(`| ${what} | ended by the kernel memory bound |`);
          const { furthest: seen } = both;
          assert.ok(seen.made > 0, "no object was made");
          printRow(t, what, seen);
          const most = Math.max(APART_MOST, (PARTLY_CHARGED[kind] ?? 0) * seen.charged);
          if (seen.taken - seen.charged < most) return;
          assert.ok(tries < TRIES, JSON.stringify(seen));
        }
      });
    for (const [kind, what] of Object.entries(REFUSED))
      test(`${what}: refused`, async () => {
        const { result, output } = checked(
          await product().run("c", source("c", "bounds/objects"), { profile, stdin: kind }),
        );
        assert.deepEqual([result.verdict, output.stdout], ["AC", "0\n"], JSON.stringify(result));
      });
  });
