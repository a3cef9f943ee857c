import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import { Command, Option } from "commander";
import { z } from "zod";
import { loadConfig } from "../config.ts";
import { MEANINGS } from "../domain/remedies.ts";
import { ourBuild } from "../sandbox/build.ts";
import { type ParkedRuntime, Slot } from "../sandbox/slot.ts";
import { kindOf, preparations } from "../worker/preparations.ts";
import { SelfTest } from "../worker/self-test.ts";
import { installedLanguages, type WorkerFlags } from "./installed-languages.ts";
import { DATA } from "./with-store.ts";

interface Finding {
  readonly name: string;
  readonly works: boolean;
  readonly needed: boolean;
  readonly detail: string;
  /** The consequence of a failed check; absent if the check works. */
  readonly means?: string;
  /** What the operator can do about a failed check; absent if the check works. */
  readonly remedy?: string;
}

const checkSchema = z.object({ check: z.string(), works: z.boolean(), detail: z.string() });

/** `assay doctor`: tries every control and language. The exit code is 0 if everything required works. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description(
      "Try every control and every language on this machine. For each one that does not work, print the consequence and the remedy. The exit code is 0 if everything required works.",
    )
    .option("--json", "print JSON")
    .option(...DATA)
    .addOption(new Option("--launcher <path>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--image <directory>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--instance <name>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--uid-base <number>").hideHelp().makeOptionMandatory())
    .addOption(new Option("--image-bytes <number>").hideHelp().makeOptionMandatory())
    .action(doctor);
}

interface DoctorFlags extends WorkerFlags {
  readonly json?: boolean;
  /** Memory that may hold the files of the image. */
  readonly imageBytes: string;
}

async function doctor(flags: DoctorFlags): Promise<void> {
  const findings: Finding[] = [];
  const note = (finding: Finding) => {
    findings.push(finding);
    if (!flags.json) process.stdout.write(`${line(finding)}\n`);
  };
  const ready = await checkControls(flags, note);
  if (ready) await checkLanguages(flags, note);
  const ok = findings.every(({ works, needed }) => works || !needed) && findings.some(isWorkingLanguage);
  if (flags.json) process.stdout.write(`${JSON.stringify({ ok, checks: findings }, null, 2)}\n`);
  else process.stdout.write(`\n${ok ? "ready to run programs with full isolation" : "NOT ready: nothing is run"}\n`);
  process.exitCode = ok ? 0 : 1;
}

/** A command that gets SIGTERM when this process ends, for whatever reason, even if this process ends before the command begins. */
function endingWithUs(command: string, args: readonly string[]): [string, string[]] {
  if (!existsSync(command)) return [command, [...args]]; // its start fails with an error of its own
  const unlessOrphan = '[ "$PPID" = "$0" ] && exec "$@"';
  return ["setpriv", ["--pdeathsig", "TERM", "--", "sh", "-c", unlessOrphan, String(process.pid), command, ...args]];
}

/** Reports each check of the launcher when it has run. @returns whether all required controls work. */
async function checkControls(flags: DoctorFlags, note: (finding: Finding) => void): Promise<boolean> {
  const child = spawn(
    ...endingWithUs(flags.launcher, ["--check", "--lock-image", flags.imageBytes, ...launcherArguments(flags)]),
    {
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const ended = endOf(child);
  const words: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => words.push(text));
  let missing = false;
  for await (const text of createInterface(child.stdout)) {
    const { check, works, detail } = checkSchema.parse(JSON.parse(text));
    const same = check !== "build" || detail === ourBuild();
    note(finding(check, works && same, same ? detail : `${detail}; this program is ${ourBuild()}`, check));
    missing ||= !(works && same) && (MEANINGS[check]?.needed ?? true);
  }
  const { succeeded: well, description: how } = await ended;
  const errorText = words.join("").trim();
  if (!well && (errorText !== "" || !missing)) note(finding("launcher", false, errorText || how, "launcher"));
  return well && !missing;
}

/** The smoke test of each language, in boxes of a separate launcher. */
async function checkLanguages(flags: WorkerFlags, note: (finding: Finding) => void): Promise<void> {
  // tmpdir() is the directory of the instance. The names are short, because the path of a socket has at most 107 bytes.
  const directory = mkdtempSync(join(tmpdir(), "d-"));
  const socket = join(directory, "socket");
  const serving = ["--socket", socket, "--client-uid", "0", "--slots", "1"];
  const child = spawn(...endingWithUs(flags.launcher, [...launcherArguments(flags), ...serving]), {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = endOf(child);
  try {
    for (let end: End | null = null; !existsSync(socket); end = await Promise.race([ended, sleep(10, null)])) {
      if (end) return note(finding("launcher", false, `it did not listen: ${end.description}`, "launcher"));
    }
    const selfTest = new SelfTest(socket, installedLanguages());
    for (const { name, ok, detail, fault } of await selfTest.proveAll())
      note(finding(`language ${name}`, ok, fault ?? detail, "language"));
    selfTest.close();
    await checkRuntimes(socket, note);
  } finally {
    child.kill("SIGTERM");
    await ended;
    rmSync(directory, { recursive: true });
  }
}

/** Reports for each language with runtimes whether they wait for a submission, and how much memory they use. */
async function checkRuntimes(socket: string, note: (finding: Finding) => void): Promise<void> {
  const mebibytes = (bytes: number) => Math.round(bytes / 1_048_576);
  const budget = mebibytes(loadConfig({}).parkBytes);
  for (const { kind, language, steps } of preparations(installedLanguages()).values()) {
    if (kind !== kindOf(language, "judge", false)) continue;
    const slot = await openSlot(socket);
    const parked: ParkedRuntime[] = [];
    for (const step of steps) parked.push(await slot.park(step));
    slot.close();
    const waits = steps.every(({ command }, at) => !command.park || parked[at]?.waiting);
    const bytes = parked.reduce((sum, one) => sum + one.bytes, 0);
    const detail = waits ? `waits in ${mebibytes(bytes)} MiB, of ${budget} MiB for all` : "does not wait";
    note(finding(`runtime ${language}`, waits, detail, "runtime"));
  }
}

/** Opens a slot. The launcher has only one, which is free again a moment after its last connection has closed. */
async function openSlot(socket: string): Promise<Slot> {
  for (let tries = 0; ; tries++) {
    try {
      return await Slot.open(socket);
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(50);
    }
  }
}

interface End {
  readonly succeeded: boolean;
  readonly description: string;
}

/** Resolves when the process has ended and its output was read, or it could not be started. Never rejects. */
function endOf(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.once("error", ({ message }) =>
      resolve({ succeeded: false, description: `it cannot be started: ${message}` }),
    );
    child.once("close", (code, signal) =>
      resolve({ succeeded: code === 0, description: `it ended with ${code ?? signal}` }),
    );
  });
}

function launcherArguments({ image, instance, uidBase }: WorkerFlags): string[] {
  return ["--image", join(image, "rootfs"), "--instance", instance, "--uid-base", uidBase];
}

function finding(name: string, works: boolean, detail: string, kind: string): Finding {
  const { needed, means, remedy } = MEANINGS[kind] ?? { needed: true, means: "", remedy: "" };
  return works ? { name, works, needed, detail } : { name, works, needed, detail, means, remedy };
}

function isWorkingLanguage({ name, works }: Finding): boolean {
  return works && name.startsWith("language ");
}

function line({ name, works, needed, detail, means, remedy }: Finding): string {
  const mark = works
    ? styleText("green", "works  ")
    : needed
      ? styleText("red", "MISSING")
      : styleText("yellow", "without");
  const first = `${mark}  ${name.padEnd(22)}${detail}`;
  return works ? first : `${first}\n         means:  ${means}\n         remedy: ${remedy}`;
}
