import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { z } from "zod";
import type { Languages } from "./load.ts";
import { invalidFile } from "./schema.ts";

/** An example program, with the verdict that it gets. */
export interface Example {
  readonly title: string;
  readonly verdict: string;
  readonly code: string;
  readonly stdin: string;
}

const listSchema = z.array(
  z.strictObject({
    /** The name of the program's file in the directory of each language, without the extension. */
    program: z.string().regex(/^[a-z-]+$/),
    title: z.string().min(1),
    verdict: z.enum(["AC", "RE", "TLE", "MLE", "PLE", "FSE", "SIG"]),
    stdin: z.string().default(""),
  }),
);

/**
 * Reads the examples of each language. The first one is the smoke test. If languages/examples/ has a directory for the language, the
 * programs of examples.json follow, which are the same for all these languages. The matrix tests check the verdicts on these files.
 * @returns the examples by language name. @throws LanguageFileError for a missing file or an invalid list.
 */
export function loadExamples(directory: string, languages: Languages): ReadonlyMap<string, readonly Example[]> {
  const path = join(directory, "examples", "examples.json");
  const parsed = listSchema.safeParse(JSON.parse(text(path)));
  if (!parsed.success) invalidFile(path, z.prettifyError(parsed.error));
  return new Map(
    languages.list().map(({ name, source, smokeTest }) => {
      const first = { title: "Hello", verdict: "AC", code: smokeTest.code, stdin: "" };
      const programs = existsSync(join(directory, "examples", name)) ? parsed.data : [];
      const others = programs.map(({ program, ...example }) => {
        return { ...example, code: text(join(directory, "examples", name, `${program}${extname(source)}`)) };
      });
      return [name, [first, ...others]];
    }),
  );
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    invalidFile(path, (error as Error).message);
  }
}
