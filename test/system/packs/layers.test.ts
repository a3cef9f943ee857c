import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { environment } from "../../support/launcher/launcher.ts";

/** The files of the packs of this run, as image/layer has built and composed them. */
const base = join(environment("ASSAY_TEST_IMAGE"), "rootfs");
const composed = join(environment("ASSAY_TEST_PACKS_IMAGE"), "rootfs");

/** Entries below a root by path. */
function entriesOf(root: string): Map<string, Stats> {
  const entries = new Map<string, Stats>();
  // The option `recursive` would follow links.
  const walk = (directory: string) => {
    for (const name of readdirSync(join(root, directory))) {
      const path = join(directory, name);
      const entry = lstatSync(join(root, path));
      entries.set(path, entry);
      if (entry.isDirectory()) walk(path);
    }
  };
  walk("");
  return entries;
}

let own: Map<string, Stats>;
let added: Map<string, Stats>;
let all: Map<string, Stats>;
before(() => {
  own = entriesOf(base);
  all = entriesOf(composed);
  added = new Map([...all].filter(([path]) => !own.has(path)));
});

/** Paths of added entries for which this holds. */
const those = (is: (entry: Stats, path: string) => boolean) =>
  [...added].filter(([path, entry]) => is(entry, path)).map(([path]) => path);

test("packs change no file and no directory of the eight languages", () => {
  const changed = [...own].filter(([path, entry]) => {
    const now = all.get(path);
    // States of the interpreters, which another checkout can make again at any time.
    if (path.startsWith("opt/assay/frozen/")) return false;
    if (!now || now.mode !== entry.mode || now.uid !== entry.uid || now.gid !== entry.gid) return true;
    return !entry.isDirectory() && now.ino !== entry.ino;
  });
  assert.deepEqual(
    changed.map(([path]) => path),
    // The list of libraries names those of the packs as well.
    ["etc/ld.so.cache"],
  );
});

test("their files belong to root, and only root can change them", () => {
  assert.ok(added.size > 100, `${added.size} files`);
  assert.deepEqual(
    those(({ uid, gid }) => uid !== 0 || gid !== 0),
    [],
  );
  // Those of the eight languages as well, except for what a box mounts something on.
  const changeable = [...all].filter(([path, entry]) => {
    return !/^(box|tmp|dev|proc)(\/|$)/.test(path) && !entry.isSymbolicLink() && (entry.mode & 0o7022) !== 0;
  });
  assert.deepEqual(
    changeable.map(([path]) => path),
    [],
  );
});

test("they are directories, files and links alone", () => {
  assert.deepEqual(
    those((entry) => !entry.isDirectory() && !entry.isFile() && !entry.isSymbolicLink()),
    [],
  );
});

/** Follows the links of a path within the image. @returns where it ends; undefined if that does not exist. */
function endOf(path: string, depth = 0): string | undefined {
  if (depth > 40) return undefined;
  const parts: string[] = [];
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  for (const [at, name] of names.entries()) {
    if (name === "..") {
      parts.pop();
      continue;
    }
    const here = [...parts, name].join("/");
    const entry = all.get(here);
    const rest = names.slice(at + 1).join("/");
    if (!entry) return FOREIGN.test(here) ? here : undefined;
    if (entry.isSymbolicLink()) {
      const target = readlinkSync(join(composed, here));
      return endOf(join(target.startsWith("/") ? "" : dirname(here), target, rest), depth + 1);
    }
    parts.push(name);
  }
  return parts.join("/");
}

/** Directories into which a program can write, or which contain files of the host in other sandboxes. */
const FOREIGN = /^(box|tmp|dev|proc|sys|run|home|root|mnt|media|var\/(tmp|run|lock|lib\/assay))(\/|$)/;

test("no link leads to a place where programs can write, or that has the host's files", () => {
  const leads = those((entry, path) => entry.isSymbolicLink() && FOREIGN.test(endOf(path) ?? ""));
  assert.deepEqual(leads, []);
});

test("nothing is left of the package manager, of accounts and of services", () => {
  const left =
    /^(var\/(log|cache|mail|spool|backups)|var\/lib\/(apt|dpkg|ucf|systemd|pam)|etc\/(apt|dpkg|cron[^/]*|init\.d|systemd|pam[^/]*|selinux|apparmor\.d|sysctl\.d|machine-id|adduser\.conf|deluser\.conf|login\.defs|ucf\.conf|shadow-?|gshadow-?|passwd-?|group-?|subuid|subgid|ssl\/private)|usr\/(bin|sbin)\/(expiry|passwd|su|chage))(\/|$)|\.dpkg-(new|old|dist|tmp)$/;
  assert.deepEqual(
    those((_, path) => left.test(path)),
    [],
  );
});

test("they have no private key", () => {
  const label = "^-----BEGIN [A-Z ]*PRIVATE KEY-----";
  const small = [composed, "-type", "f", "-size", "-32k"];
  const { error, stdout } = spawnSync("find", [...small, "-exec", "grep", "-lE", label, "{}", "+"], {
    encoding: "utf8",
  });
  assert.deepEqual([error, stdout], [undefined, ""]);
});

test("their libraries do not replace those of the eight in the list of the dynamic linker", () => {
  const listed = (root: string) =>
    execFileSync("ldconfig", ["-r", root, "-p"], { encoding: "utf8" })
      .split("\n")
      .slice(1)
      .map((line) => line.trim())
      .filter((line) => line.includes("=>"));
  const names = (lines: readonly string[]) =>
    new Map(lines.toReversed().map((line) => line.split(" => ") as [string, string]));
  const now = names(listed(composed));
  for (const [name, path] of names(listed(base))) assert.equal(now.get(name), path, name);
  assert.ok(readFileSync(join(composed, "etc/ld.so.cache")).length > 0);
});
