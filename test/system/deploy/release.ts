import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { environment } from "../../support/launcher/launcher.ts";
import { ROOT } from "../../support/repo/documents.ts";

export const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Makes a release of this checkout. @returns its tarball, in a directory with space for unpacking it.
 * @param after receives the function that removes the directory.
 */
export function makeRelease(after: (remove: () => void) => void): { place: string; tarball: string } {
  // A data directory must not contain the checkout, and that of the tests does.
  const place = mkdtempSync("/var/tmp/assay-release-");
  after(() => rmSync(place, { recursive: true, force: true }));
  const checkout = join(place, "checkout");
  cpSync(ROOT, checkout, { recursive: true, filter: (path) => basename(path) !== "node_modules" });
  const data = dirname(dirname(environment("ASSAY_TEST_IMAGE")));
  execFileSync(join(checkout, "assay"), ["release", "--data", data, "--output", place], {
    env: { PATH },
    stdio: "pipe",
  });
  return { place, tarball: readdirSync(place).find((name) => name.endsWith(".tar.gz")) ?? "" };
}
