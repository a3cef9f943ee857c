import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { MAX_ATTEMPTS } from "../../../src/domain/submission.ts";
import type { Launcher } from "../../support/launcher/launcher.ts";
import type { Product } from "../../support/programs/product.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";

const PATIENCE_MS = 60_000 * PATIENCE;

/**
 * A real fault of the platform: kills the slot process during the run, in each of its attempts.
 * @returns the record of the submission.
 */
export async function runAndLoseTheSlot(engine: Product, language: string, code: string): Promise<unknown> {
  const mark = randomUUID();
  const record = engine.run(language, code, { stdin: mark });
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const program = await theProgramWithInput(mark, engine);
    process.kill(slotOf(program, engine.launcher.pid), "SIGKILL");
    // The box must end with its slot.
    await until(() => !existsSync(`/proc/${program}`), "the program outlived its slot");
  }
  return record;
}

/** Checks that the record has no facts of the run. */
export function assertLost(record: unknown): void {
  const { status, result, output, metrics, evidence } = record as Record<string, unknown>;
  assert.equal(status, "error");
  assert.deepEqual(result, {
    verdict: "IE",
    cause: "internal_error",
    actor: "judge",
    exit_code: null,
    signal: null,
    error_message: "the sandbox was lost before the run ended",
  });
  assert.deepEqual(output, { stdout: null, stderr: null, integrity: null });
  for (const value of Object.values(metrics as object)) assert.equal(value, null);
  assert.equal(evidence, null);
}

/** Finds the program among the processes of the launcher's boxes by its standard input. */
async function theProgramWithInput(mark: string, { launcher }: Product): Promise<number> {
  let found: number | undefined;
  await until(() => {
    found = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .find((pid) => isProgram(pid, mark, launcher));
    return found !== undefined;
  }, "the program was not started");
  return found as number;
}

function isProgram(pid: number, mark: string, { uidBase, uids }: Pick<Launcher, "uidBase" | "uids">): boolean {
  try {
    const { uid } = statSync(`/proc/${pid}`);
    if (uid < uidBase || uid >= uidBase + uids) return false;
    // Reading other descriptors might block. Until its exec, the process still runs the launcher's code.
    if (!readlinkSync(`/proc/${pid}/fd/0`).startsWith("/memfd:stdin")) return false;
    if (readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("assay-")) return false;
    return readFileSync(`/proc/${pid}/fd/0`, "utf8") === mark;
  } catch {
    return false; // the process ended meanwhile
  }
}

/** The ancestor of a process that is a child of the launcher. */
function slotOf(pid: number, launcher: number): number {
  for (let child = pid; child > 1; ) {
    const parent = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${child}/status`, "utf8"))?.[1]);
    if (parent === launcher) return child;
    child = parent;
  }
  throw new Error(`process ${pid} does not belong to launcher ${launcher}`);
}

async function until(condition: () => boolean, otherwise: string): Promise<void> {
  for (const start = Date.now(); !condition(); await sleep(50))
    if (Date.now() - start > PATIENCE_MS) throw new Error(otherwise);
}
