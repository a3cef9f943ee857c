import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import type { Language } from "../../src/domain/language.ts";
import type { Work } from "./judge.ts";

/** A program that is measured, such as hello_python. */
export interface BenchProgram {
  readonly name: string;
  /** The work of the next request. */
  readonly next: () => Work;
}

type Runs = Work["runs"];

const read = (name: string) => readFileSync(new URL(`./programs/${name}`, import.meta.url), "utf8");

/**
 * @returns the programs of a language. `hello` and `mid` (about 200 lines with real work) have a source that is new to the judge for each
 * request. `tests` runs a new `mid` on 20 inputs, and `hundred` on 100. `again` is a hello whose source was judged before; only languages
 * with a compiler have it.
 */
export function programsOf({ name, source, compile, smokeTest }: Language): BenchProgram[] {
  const hello = [{ stdin: "", stdout: smokeTest.stdout }];
  const { mid, tests } = JSON.parse(read("mid.json")) as { mid: Runs; tests: Runs };
  const code = read(`mid${extname(source)}`);
  const fresh = (text: string) => `${text}${name === "python" ? "#" : "//"} ${randomUUID()}\n`;
  const same = fresh(smokeTest.code);
  const works: Record<string, () => Work> = {
    hello: () => ({ language: name, code: fresh(smokeTest.code), runs: hello }),
    mid: () => ({ language: name, code: fresh(code), runs: mid }),
    tests: () => ({ language: name, code: fresh(code), runs: tests }),
    hundred: () => ({ language: name, code: fresh(code), runs: Array<Runs>(5).fill(tests).flat() }),
    ...(compile && { again: () => ({ language: name, code: same, runs: hello }) }),
  };
  return Object.entries(works).map(([kind, next]) => ({ name: `${kind}_${name}`, next }));
}
