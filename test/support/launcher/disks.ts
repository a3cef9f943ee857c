import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { read } from "./machine.ts";

const SCRIPT = fileURLToPath(new URL("../../../setup/disks.sh", import.meta.url));

/** Why sandboxes cannot have disks on this machine; false if they can. */
export const NO_DISKS: string | false = existsSync("/dev/loop-control") ? false : "this machine has no loop devices";

export interface DiskDirectory {
  readonly directory: string;
  /** How many loop devices have a file of the directory. */
  readonly devices: () => number;
  readonly remove: () => void;
}

/** A directory with the templates for disks of up to so many bytes, as set-up makes it. */
export function diskDirectory(mostBytes: number): DiskDirectory {
  const directory = mkdtempSync(join(tmpdir(), "assay-disks-"));
  const make = `fail() { echo "$1" >&2; exit 1; }; . "$1"; make_disk_templates "$2" "$3"`;
  execFileSync("sh", ["-euc", make, "sh", SCRIPT, directory, String(mostBytes)]);
  return {
    directory,
    devices: () =>
      readdirSync("/sys/block").filter((name) => read(`/sys/block/${name}/loop/backing_file`).startsWith(directory))
        .length,
    remove: () => rmSync(directory, { recursive: true }),
  };
}
