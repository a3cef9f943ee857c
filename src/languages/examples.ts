import { join } from "node:path";
import { z } from "zod";
import { EXAMPLES_FILE, type Languages, readBuiltIns } from "./load.ts";
import { invalidFile, readDataFile } from "./schema.ts";

/** An example program, with the verdict that it gets. */
export interface Example {
  readonly title: string;
  readonly verdict: string;
  readonly code: string;
  readonly stdin: string;
}

const listSchema = z.array(
  z.strictObject({
    /** The name of the program in `examples` of a language. */
    program: z.string(),
    title: z.string().min(1),
    verdict: z.enum(["AC", "RE", "TLE", "MLE", "PLE", "FSE", "SIG"]),
    stdin: z.string().default(""),
  }),
);

/**
 * The examples of each language. The first one is the smoke test. The programs of examples.json follow, in a language that has `examples`.
 * The matrix tests check their verdicts.
 * @returns the examples by language name. @throws LanguageFileError for an invalid list, or a language that does not have all its programs.
 */
export function loadExamples(directory: string, languages: Languages): ReadonlyMap<string, readonly Example[]> {
  const list = readDataFile(join(directory, EXAMPLES_FILE), listSchema);
  const builtIns = new Map(readBuiltIns(directory).map((one) => [one.data.name, one]));
  return new Map(
    languages.list().map(({ name, smokeTest }) => {
      const first = { title: "Hello", verdict: "AC", code: smokeTest.code, stdin: "" };
      const { path = "", data } = builtIns.get(name) ?? {};
      const programs = data?.examples;
      if (!programs) return [name, [first]];
      const others = list.map(({ program, ...example }) => {
        const code = programs[program] ?? invalidFile(path, `there is no example ${program}`);
        return { ...example, code };
      });
      if (Object.keys(programs).length > list.length)
        invalidFile(path, `it has examples that ${EXAMPLES_FILE} does not list`);
      return [name, [first, ...others]];
    }),
  );
}
