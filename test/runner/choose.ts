import { readdirSync, readFileSync } from "node:fs";
import { FULL_ONLY, type Group, groupOf, LONG_FILES, LONG_PACK_TESTS, PACK_TESTS } from "./plan.ts";

export interface Chosen {
  /** Files, as paths below the checkout. */
  readonly files: readonly string[];
  /** A regular expression that the names of tests match; null for all tests of the files. */
  readonly name: string | null;
}

const below = (path: string) => path.slice("test/".length);
const startsWithOne = (path: string, starts: readonly string[]) => starts.some((start) => path.startsWith(start));

function testFiles(): string[] {
  const names = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".test.ts"));
  return names.map((name) => `test/${name}`).sort();
}

/** The files whose path contains the word. If there are none, the tests whose name contains it. */
export function choose(word: string, isFull: boolean): Chosen {
  const all = testFiles();
  const named = all.filter((path) => path.includes(word));
  if (word === "" && !isFull) {
    const left = FULL_ONLY.flatMap(({ paths }) => paths);
    return { files: all.filter((path) => !startsWithOne(below(path), left)), name: null };
  }
  if (named.length > 0) return { files: named, name: null };
  // Only files that contain the word are loaded. If there are none, all are loaded, because titles can be composed.
  const mentioning = all.filter((path) => readFileSync(path, "utf8").includes(word));
  return { files: mentioning.length > 0 ? mentioning : all, name: word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&") };
}

/** The files of a group, those that take long first. */
export function filesOf(group: Group, files: readonly string[]): string[] {
  const rank = (path: string) => {
    const at = LONG_FILES.findIndex((start) => below(path).startsWith(start));
    return at < 0 ? LONG_FILES.length : at;
  };
  return files.filter((path) => groupOf(below(path)) === group).sort((a, b) => rank(a) - rank(b));
}

/** The files of suites. */
export function filesOfSuites(suites: readonly string[], files: readonly string[]): string[] {
  return files.filter((path) => startsWithOne(below(path), suites));
}

/** Whether one of the files needs the image with language packs. */
export function needPacks({ files }: Chosen, isLong: boolean): boolean {
  return files.some((path) => startsWithOne(below(path), isLong ? [PACK_TESTS, LONG_PACK_TESTS] : [PACK_TESTS]));
}
