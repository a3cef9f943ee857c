import { dirname } from "node:path/posix";
import { type Collected, checkPath, isIgnored, type LazyFile, PackageError, UnusableError, unusable } from "./files.ts";

/**
 * Symbolic links inside a package. The formats allow them, and packages use them to share test data between groups or headers between
 * validators. A link stands for what it leads to: a file, or a directory with all its files. Nothing here reads a file or follows a link
 * of the file system; only the paths of the package and the texts of its links decide.
 *
 * A link that leads out of the package, into itself or to nothing is a file that cannot be used: it is a fault only of a package that
 * needs its content.
 */

/** The most links that one path goes through, as in the kernel. */
const MAX_LINKS_OF_A_PATH = 40;
/**
 * The most names that all links of a package go through, and the most files, directories and links to which they lead. A few links that
 * lead to each other could otherwise take any time.
 */
const MAX_NAMES = 1_000_000;
const MAX_ENTRIES = 40_000;

interface Directory {
  /** Null for the directory of the package. */
  readonly parent: Directory | null;
  readonly entries: Map<string, Entry>;
}

interface Link {
  readonly target: string;
}

/** A file that is ignored because of its name. Links cannot lead to it, but what a link stands for can contain it. */
interface Ignored {
  readonly ignored: true;
}

/** Why a link leads to no file of the package. */
interface Fault {
  readonly fault: string;
}

const OUT: Fault = { fault: "leads out of the package" };
const INTO_ITSELF: Fault = { fault: "leads into itself" };
const TO_NOTHING: Fault = { fault: "leads to nothing in the package" };

type Entry = Directory | LazyFile | Link | Ignored;

const isDirectory = (entry: Entry): entry is Directory => "entries" in entry;
const isLink = (entry: Entry): entry is Link => "target" in entry;

/**
 * Adds the files to which the links of a package lead, with the paths that they have because of the links. @throws PackageError beyond
 * the bounds.
 */
export function followLinks(collected: Collected): void {
  const { links } = collected;
  if (links.size === 0) return;
  const root = treeOf(collected);
  let [names, entries] = [0, 0];

  /** What a link in the directory `from` leads to, or why it leads to nothing. Further links on the way are followed as well. */
  function targetOf(path: string, link: Link, from: Directory): Directory | LazyFile | Fault {
    // The names that are still to be followed, the next one last.
    const left: string[] = [];
    let at: Directory | LazyFile = from;
    let followed = 0;
    const follow = ({ target }: Link): Fault | undefined => {
      if (target.startsWith("/")) return OUT;
      if (++followed > MAX_LINKS_OF_A_PATH) return INTO_ITSELF;
      const added = target.split("/").reverse();
      names += added.length;
      if (names > MAX_NAMES)
        throw new PackageError(path, "is a link that leads, with the others, through too many names");
      for (const name of added) left.push(name);
      return undefined;
    };
    let fault = follow(link);
    for (let name = left.pop(); name !== undefined && !fault; name = left.pop()) {
      if (!isDirectory(at)) return TO_NOTHING;
      if (name === "" || name === ".") continue;
      const found: Entry | null | undefined = name === ".." ? at.parent : at.entries.get(name);
      if (found === null) return OUT;
      if (found === undefined || "ignored" in found) return TO_NOTHING;
      if (isLink(found)) fault = follow(found);
      else at = found;
    }
    return fault ?? at;
  }

  /** @param above the directories that contain the entry, on the path that leads to it. */
  function addBelow(path: string, entry: Entry, above: readonly Directory[]): void {
    checkPath(path);
    if (++entries > MAX_ENTRIES) throw new PackageError(path, "links lead to too many files and directories");
    if ("ignored" in entry) {
      collected.ignored.push(path);
      return;
    }
    const target = isLink(entry) ? targetOf(path, entry, above.at(-1) as Directory) : entry;
    const found = "entries" in target && above.includes(target) ? INTO_ITSELF : target;
    if ("fault" in found) {
      collected.add(path, unusable(new UnusableError(path, `is a link that ${found.fault}`)));
      return;
    }
    if (!isDirectory(found)) {
      collected.add(path, found);
      return;
    }
    for (const [name, below] of found.entries) addBelow(`${path}/${name}`, below, [...above, found]);
  }

  for (const path of links.keys()) {
    const above = directoriesOf(path, root);
    addBelow(path, above.at(-1)?.entries.get(nameOf(path)) as Link, above);
  }
  links.clear();
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The directory of the package, and those on a path to its last name. Those that are missing are made. */
function directoriesOf(path: string, root: Directory): Directory[] {
  const above = [root];
  for (const name of path.split("/").slice(0, -1)) {
    const parent = above.at(-1) as Directory;
    const found = parent.entries.get(name) ?? { parent, entries: new Map() };
    if (!isDirectory(found)) throw new PackageError(path, "is both a file and a directory, or is below a file");
    parent.entries.set(name, found);
    above.push(found);
  }
  return above;
}

function treeOf({ files, links, ignored }: Collected): Directory {
  const root: Directory = { parent: null, entries: new Map() };
  for (const path of ignored) {
    const isDirectory = path.endsWith("/");
    const isBelowIgnored = path.includes("/") && isIgnored(dirname(path));
    if (!isDirectory && !isBelowIgnored) directoriesOf(path, root).at(-1)?.entries.set(nameOf(path), { ignored: true });
  }
  for (const [path, file] of files) directoriesOf(path, root).at(-1)?.entries.set(nameOf(path), file);
  for (const [path, target] of links) {
    const entries = directoriesOf(path, root).at(-1)?.entries;
    if (entries?.has(nameOf(path))) throw new PackageError(path, "is in the package twice");
    entries?.set(nameOf(path), { target });
  }
  return root;
}
