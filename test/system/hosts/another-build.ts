import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { environment } from "../../support/launcher/launcher.ts";

/** The real launcher with a different build name, and its starter. */
export function anotherBuild(directory: string): string {
  const program = environment("ASSAY_TEST_LAUNCHER");
  const { build } = JSON.parse(execFileSync(program, ["--describe"], { encoding: "utf8" })) as { build: string };
  const bytes = readFileSync(program);
  const at = bytes.indexOf(build);
  assert.ok(at > 0);
  bytes.write("0123456789abcdef", at, "latin1");
  return placed(directory, bytes, 0o700);
}

/** The real launcher with execute permission for all users. */
export function forEveryUser(directory: string): string {
  chmodSync(directory, 0o755);
  return placed(directory, readFileSync(environment("ASSAY_TEST_LAUNCHER")), 0o755);
}

function placed(directory: string, program: Buffer, mode: number): string {
  const other = join(directory, "assay-launcher");
  writeFileSync(other, program, { mode });
  copyFileSync(`${environment("ASSAY_TEST_LAUNCHER")}.delegated`, `${other}.delegated`);
  return `${other}.delegated`;
}
