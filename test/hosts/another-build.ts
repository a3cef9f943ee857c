import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { environment } from "../launcher/launcher.ts";

/** The real launcher with another name for its sources, and what starts it. */
export function anotherBuild(directory: string): string {
  const program = environment("ASSAY_TEST_LAUNCHER");
  const { build } = JSON.parse(execFileSync(program, ["--describe"], { encoding: "utf8" })) as { build: string };
  const bytes = readFileSync(program);
  const at = bytes.indexOf(build);
  assert.ok(at > 0);
  bytes.write("0123456789abcdef", at, "latin1");
  const other = join(directory, "assay-launcher");
  writeFileSync(other, bytes, { mode: 0o755 });
  copyFileSync(`${program}.delegated`, `${other}.delegated`);
  return `${other}.delegated`;
}
