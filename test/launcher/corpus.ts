import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { type Entry, entry, step } from "./raw.ts";

/**
 * What the fuzzer starts from: bodies of STEP, correct and nearly so, one for each branch
 * that chance alone would take long to find. `node test/launcher/corpus.ts` writes the files.
 */
export const CORPUS_DIRECTORY = new URL("../../launcher/fuzz/corpus/", import.meta.url);

const PLAIN = step(["/bin/true"]);
const files = (...names: string[]): Entry[] =>
  names.flatMap((name): Entry[] => [
    ["FILE_NAME", name],
    ["FILE_DATA", `content of ${name}`],
  ]);

const BODIES: Readonly<Record<string, readonly Entry[]>> = {
  "01-nothing": [],
  "02-plain": PLAIN,
  "03-files": [...PLAIN, ...files("main.c", "a+b_c-d.h")],
  "04-second-step": step(["./main"], { KEEP_WORK: 1 }),
  "05-first-step": [...step(["/usr/bin/gcc", "main.c", "-o", "main"], { MORE: 1 }), ...files("main.c")],
  "06-many-arguments": step(Array(128).fill("a")),
  "07-too-many-arguments": step(Array(129).fill("a")),
  "08-many-variables": [...PLAIN, ...Array(63).fill(["ENV", "A=b"])],
  "09-most-files": [...PLAIN, ...files(...Array.from({ length: 16 }, (_, i) => `f${i}`))],
  "10-same-name": [...PLAIN, ...files("a", "a")],
  "11-path": [...PLAIN, ...files("../a")],
  "12-name-alone": [...PLAIN, ["FILE_NAME", "a"]],
  "13-no-value": [...PLAIN, ["ENV", "ALONE"]],
  "14-nul": [...PLAIN, ["ARG", "a\0b"]],
  "15-files-into-kept-work": [...step(["./main"], { KEEP_WORK: 1 }), ...files("a")],
  "16-twice": [...PLAIN, ["MORE", 1]],
  "17-unknown": [...PLAIN, [255, "?"]],
  "18-of-another-frame": [...PLAIN, ["EXIT_CODE", 0]],
  "19-short-number": [...PLAIN.filter(([key]) => key !== "MORE"), ["MORE", "four"]],
  "20-too-much": step(["/bin/true"], { WALL_MS: 1n << 63n }),
  "21-missing": PLAIN.slice(0, -1),
};

/** File name and content of each. */
export function corpus(): Map<string, Buffer> {
  const bodies = Object.entries(BODIES).map(([name, entries]): [string, Buffer] => [
    name,
    Buffer.concat(entries.map(([key, value]) => entry(key, value))),
  ]);
  const plain = Buffer.concat(PLAIN.map(([key, value]) => entry(key, value)));
  return new Map([...bodies, ["22-torn", plain.subarray(0, -3)]]);
}

if (import.meta.main) {
  rmSync(CORPUS_DIRECTORY, { recursive: true, force: true });
  mkdirSync(CORPUS_DIRECTORY);
  for (const [name, content] of corpus()) writeFileSync(new URL(name, CORPUS_DIRECTORY), content);
}
