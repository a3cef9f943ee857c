import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { z } from "zod";
import { fail, type Languages } from "./load.ts";

/** A program for people to begin with, and how it ends. */
export interface Example {
  readonly title: string;
  readonly verdict: string;
  readonly code: string;
  readonly stdin: string;
}

const listSchema = z.array(
  z.strictObject({
    /** File name in the directory of each language, without its ending. */
    program: z.string().regex(/^[a-z-]+$/),
    title: z.string().min(1),
    verdict: z.enum(["AC", "RE", "TLE", "MLE", "PLE", "FSE", "SIG"]),
    stdin: z.string().default(""),
  }),
);

/**
 * Reads examples/ beside the languages: the hello of each, then what examples.json lists, which every language has. Its
 * verdicts are those that the matrix of the tests asks of the same files.
 * @returns them by the name of the language. @throws LanguageFileError when one is missing or the list is not as it should be.
 */
export function loadExamples(directory: string, languages: Languages): ReadonlyMap<string, readonly Example[]> {
  const path = join(directory, "examples", "examples.json");
  const parsed = listSchema.safeParse(JSON.parse(text(path)));
  if (!parsed.success) fail(path, z.prettifyError(parsed.error));
  return new Map(
    languages.list().map(({ name, source, hello }) => {
      const first = { title: "Hello", verdict: "AC", code: hello.code, stdin: "" };
      const others = parsed.data.map(({ program, ...example }) => {
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
    fail(path, (error as Error).message);
  }
}
