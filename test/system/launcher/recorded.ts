import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { languagesOf, programOf } from "../../support/languages/directory.ts";
import { environment } from "../../support/launcher/launcher.ts";

/** The list to which recorded.test.ts compares the filter. */
export const CALLS_FILE = new URL("./calls.json", import.meta.url);

/** A recorded system call with at most six arguments. */
export interface Made {
  readonly name: string;
  readonly args: readonly bigint[];
}

interface Language {
  readonly name: string;
  readonly source: string;
  readonly compile?: { readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> };
  readonly execute: { readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> };
}

const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/box", LANG: "C.UTF-8", TMPDIR: "/tmp" };
const USER = "65534:65534";

/**
 * Prepares the image with writable directories, in mount and pid namespaces of its own, without a box and without a
 * filter.
 */
const PREPARE = `set -eu
root=$1 work=$2; shift 2
mount --make-rprivate /
mount --bind "$work" "$root/box"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t proc proc "$root/proc"
chmod 1777 "$root/tmp" "$root/dev/shm"
exec "$@"`;

/**
 * Compiles and runs a program in the image, without a box, and records each system call of both steps.
 * @throws if a step does not exit with 0.
 */
function record(language: string, program: string): { compile: Made[]; execute: Made[] } {
  const url = new URL(`../../../languages/${language}.json`, import.meta.url);
  const { source, compile, execute } = JSON.parse(readFileSync(url, "utf8")) as Language;
  const work = mkdtempSync(join(tmpdir(), "assay-recorded-"));
  try {
    const box = join(work, "box");
    mkdirSync(box, { mode: 0o777 });
    writeFileSync(join(box, source), program);
    execFileSync("chown", ["-R", USER, box]);
    return {
      compile: compile ? traced(work, compile) : [],
      execute: traced(work, execute),
    };
  } finally {
    rmSync(work, { recursive: true });
  }
}

function traced(work: string, { command, env }: Language["execute"]): Made[] {
  const log = join(work, "log");
  const root = join(environment("ASSAY_TEST_IMAGE"), "rootfs");
  const strace = ["strace", "-f", "-qqq", "-e", "raw=all", "-e", "signal=none", "-o", log];
  const inside = ["/usr/sbin/chroot", `--userspec=${USER}`, root, "/bin/sh", "-c", 'cd /box && exec "$@"', "sh"];
  const made = spawnSync(
    "unshare",
    [
      "--mount",
      "--pid",
      "--fork",
      "--net",
      "--ipc",
      "sh",
      "-c",
      PREPARE,
      "sh",
      root,
      join(work, "box"),
      ...strace,
      ...inside,
      ...command,
    ],
    { env: { ...ENVIRONMENT, ...env }, encoding: "utf8", input: "a line\n" },
  );
  if (made.status !== 0) throw new Error(`${command.join(" ")}: ${made.status} ${made.stdout} ${made.stderr}`);
  return callsOf(readFileSync(log, "utf8"));
}

/** Parses a strace log, without the calls before the first program of the image. */
function callsOf(log: string): Made[] {
  const lines = log.split("\n");
  const begins = lines.findIndex((line) => /^\d+ +execve\(.*= 0$/.test(line) && lines.indexOf(line) > 0);
  const calls: Made[] = [];
  for (const line of lines.slice(Math.max(begins, 0))) {
    const [, name, args] = /^\d+ +(\w+)\(([^)=<]*)/.exec(line) ?? [];
    if (!name) continue;
    calls.push({ name, args: (args?.match(/0x[0-9a-f]+|\d+/g) ?? []).map(BigInt) });
  }
  return calls;
}

/** Calls of the typical program of each language and of its compiler, by name. */
export function recordAll(): Map<string, readonly Made[]> {
  const all = new Map<string, readonly Made[]>();
  for (const language of languagesOf("typical")) {
    const { compile, execute } = record(language, programOf(language, "typical") ?? "");
    if (compile.length > 0) all.set(`${language}-compile`, compile);
    all.set(language, execute);
  }
  return all;
}

/** Programs by call, both sorted. */
export function usedBy(recorded: ReadonlyMap<string, readonly Made[]>): Record<string, string[]> {
  const used = new Map<string, Set<string>>();
  for (const [program, calls] of recorded)
    for (const { name } of calls) used.set(name, (used.get(name) ?? new Set()).add(program));
  return Object.fromEntries([...used].toSorted().map(([name, programs]) => [name, [...programs].toSorted()]));
}

if (import.meta.main) {
  const list = JSON.parse(readFileSync(CALLS_FILE, "utf8"));
  writeFileSync(CALLS_FILE, `${JSON.stringify({ ...list, used: usedBy(recordAll()) }, null, 2)}\n`);
}
