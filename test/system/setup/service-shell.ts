import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { SUPERVISOR } from "./fake-checkout.ts";

// Shell functions of set-up. The user `daemon` exists on every Debian and stands for the service's user.
export const setup = resolve(import.meta.dirname, "../../../setup");

export function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "assay-service-user-"));
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  chmodSync(path, 0o755);
  return path;
}

const PARTS = ["log", "step", "data-dir", "machine", "groups", "instance", "processes"];

/**
 * Lines of shell after parts of set-up. The function `as_service` runs a command as the service's user and returns its exit status. The
 * variable `data` has a default, and `test_group` is a name for make_service_group, by which the run of the tests finds what is left.
 */
export const script = (lines: string) =>
  `${PARTS.map((part) => `. ${setup}/${part}.sh`).join("\n")}
checkout=${resolve(setup, "..")} service_user=daemon uid_locks=/nowhere service_group= supervisor=${SUPERVISOR}
data=\${data:-/nowhere}
test_group=${process.env.ASSAY_TEST_INSTANCE ?? "test"}-service-$$
exec 3</dev/null
as_service() {
  run_processes \${supervisor_option:+"$supervisor_option"} --process test --user "$(user_ids)" --group "$service_group" --run $# "$@"
  return "$processes_status"
}
${lines}`;

/** Runs lines of shell after parts of set-up. @param open descriptors that the shell gets as 3 and above */
export function shell(lines: string, env: Record<string, string> = {}, open: readonly number[] = []) {
  return spawnSync("sh", ["-euc", script(lines)], {
    encoding: "utf8",
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", ...open],
    timeout: 60_000,
  });
}
