import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = new URL("../../..", import.meta.url).pathname;

/** The dashboard as set-up has built it. Without a set-up, it is built here. */
export function builtDashboard(): string {
  return process.env.ASSAY_TEST_DASHBOARD ?? buildDashboard();
}

/** Builds the dashboard as set-up does, into a directory that is removed at the end of the process. */
export function buildDashboard(): string {
  const directory = mkdtempSync(join(tmpdir(), "assay-dashboard-"));
  process.once("exit", () => rmSync(directory, { recursive: true }));
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const args = ["build", "dashboard", "--outDir", directory, "--emptyOutDir", "--logLevel", "warn"];
  execFileSync(process.execPath, [vite, ...args], { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  return directory;
}
