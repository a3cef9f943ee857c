import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../support/repo/documents.ts";

const UML = process.env.ASSAY_TEST_UML;

/** The reason why no kernel can be booted here. */
export const NO_KERNEL = UML ? false : "with 'assay test full', or ASSAY_TEST_LONG=yes, on x86-64";

/**
 * Runs a trial on a separate kernel with INIT as process 1. @returns the output of each step. Its writes are an overlay on
 * this machine's data directory: if another command sets up another version meanwhile, the trial cannot remove its own.
 */
export async function trialOnKernel(init: string, results: string, seconds: number): Promise<Record<string, string>> {
  const console = await new Promise<string>((resolve) => {
    const environment = { ...process.env, KERNEL_INIT: join(ROOT, init) };
    const kernel = [join(ROOT, "test/system/kernel/uml"), UML ?? "", results, ROOT, String(seconds)];
    // It ends with this process: an interrupted test must not leave a machine behind.
    execFile("setpriv", ["--pdeathsig", "TERM", ...kernel], { env: environment, maxBuffer: 1 << 26 }, (_, out, words) =>
      resolve(out + words),
    );
  });
  const words = readFileSync(join(results, "words"), "utf8");
  const steps = words.split(/^== /m).slice(1);
  assert.match(steps.at(-1) ?? "", /^end\n/, `${words}\n${console.slice(-4_000)}`);
  return Object.fromEntries(
    steps.map((text) => [text.slice(0, text.indexOf("\n")), text.slice(text.indexOf("\n") + 1)]),
  );
}
