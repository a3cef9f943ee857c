import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { environment } from "../../support/launcher/launcher.ts";
import { ROOT } from "../../support/repo/documents.ts";

export const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Makes a release, unless another test of this run has made it. A data directory must not contain the checkout, and that of the tests does. */
const MAKE = `
exec 9>"$1.lock"
flock 9
[ ! -d "$1" ] || exit 0
checkout=$(mktemp -d /var/tmp/assay-release-XXXXXX)
trap 'rm -rf -- "$checkout"' EXIT
tar -C "$3" --exclude=node_modules -cf - . | tar -C "$checkout" -xf -
mkdir "$1.new"
"$checkout/assay" release --data "$2" --output "$1.new" 9>&-
mv "$1.new" "$1"`;

/** The files of a release of this checkout. They stay until the end of this run of the tests. */
export interface Release {
  readonly place: string;
  readonly tarball: string;
  readonly deb: string;
  readonly image: string;
}

export function release(): Release {
  const place = join(environment("ASSAY_TEST_DIRECTORY"), "release");
  execFileSync("sh", ["-euc", MAKE, "sh", place, environment("ASSAY_DATA"), ROOT], { env: { PATH }, stdio: "pipe" });
  const named = (end: string) => readdirSync(place).find((name) => name.endsWith(end)) ?? "";
  return { place, tarball: named(".tar.gz"), deb: named(".deb"), image: named(".oci.tar") };
}

/** Runs `command` in a fresh Debian of the suite with these packages, without a network; it finds the files of `directory` in /srv. */
export function inCleanDebian(suite: string, packages: string, directory: string, ...command: string[]): string[] {
  return [join(ROOT, "test/system/deploy/clean-debian"), suite, packages, directory, ...command];
}
