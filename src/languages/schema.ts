import { readFileSync } from "node:fs";
import { z } from "zod";
import type { StepOverrides } from "../domain/language.ts";
import { LIMIT_NAMES, LIMITS, type LimitName, type Limits, type ProfileName } from "../domain/limits.ts";
import { OperatorError } from "../domain/operator-error.ts";

/** The schema of the files in languages/. Unknown keys and fractional numbers are errors. */

const reason = z.string().min(20, "a reason must be a sentence");

const limit = Object.fromEntries(
  LIMIT_NAMES.map((name) => {
    const value = z.int().positive();
    return [name, "isOptional" in LIMITS[name] ? value.nullable() : value];
  }),
) as unknown as { readonly [Name in LimitName]: z.ZodType<Limits[Name]> };

const limits = z.strictObject(limit) as unknown as z.ZodType<Limits>;

function forEachLimit<T extends z.ZodType>(make: (name: LimitName) => T): Record<LimitName, T> {
  return Object.fromEntries(LIMIT_NAMES.map((name) => [name, make(name)])) as Record<LimitName, T>;
}

const overrides = z.strictObject(
  forEachLimit((name) => z.strictObject({ value: limit[name] as z.ZodType, reason }).exactOptional()),
);
const stepOverrides = z.strictObject({ compile: overrides.exactOptional(), execute: overrides.exactOptional() });

const name = z.string().regex(/^[a-z][a-z0-9]*$/, "a name must consist of lower-case letters and digits");
const alias = z.string().regex(/^[a-z][a-z0-9+#]*$/, "an alias must consist of lower-case letters, digits, + and #");

/** A file name without a directory: the file is directly in /box. */
const fileName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]*\.[a-z][a-z0-9]*$/, "a source must be a file name without a directory");

/** Paths of programs are absolute (in the image) or relative to /box, so that PATH does not matter. */
const program = z.string().regex(/^(\/|\.\/)[^\0]+$/, "a program must be an absolute path or start with ./");
const argument = z.string().regex(/^[^\0]*$/, "an argument must not contain NUL");

const environment = z.record(z.string().regex(/^[A-Z][A-Z0-9_]*$/), argument);

const command = z.strictObject({
  command: z.tuple([program], argument),
  env: environment,
  park: z.array(argument).optional(),
});

function isExpression(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}

/** The source of a program: text, or its lines. */
const code = z
  .union([z.string().min(1), z.array(z.string()).min(1)])
  .transform((text) => (typeof text === "string" ? text : `${text.join("\n")}\n`));

const packageName = z.string().regex(/^[a-z0-9][a-z0-9+.-]+$/, "a package must be the name of a Debian package");

const language = {
  name,
  aliases: z.array(alias),
  label: z.string().min(1),
  packages: z.array(packageName),
  source: fileName,
  sources: z
    .array(z.string().regex(/^\.[a-z][a-z0-9]*$/, "a suffix must be a dot, lower-case letters and digits"))
    .optional(),
  otherSources: z
    .array(z.string().regex(/^\.[a-z][a-z0-9]*$/, "a suffix must be a dot, lower-case letters and digits"))
    .optional(),
  runs: z.enum(["js"]).optional(),
  compile: command.nullable(),
  execute: command,
  compilerOptions: z.array(z.string().refine(isExpression, "must be a regular expression")).optional(),
  judgeOptions: z.array(argument).optional(),
  optionsByFile: z.record(z.string().regex(/^[A-Za-z0-9_.-]+$/), z.array(argument)).optional(),
  singleSourceOptions: z.array(argument).optional(),
  lenientOptions: z.array(argument).optional(),
  /** Names of the language in other services, by the name of the service. Their clients find the language by them. */
  foreignNames: z.record(z.string(), z.unknown()).default({}),
  /** The grammar by which the dashboard highlights programs (dashboard/src/components/editor/grammars.ts); absent: they are plain text. */
  grammar: z.string().optional(),
  unlisted: z.literal(true).optional(),
  limits: z.strictObject({ judge: stepOverrides.exactOptional(), agent: stepOverrides.exactOptional() }).default({}),
  smokeTest: z.strictObject({ code, stdout: z.string().min(1) }),
};

const programName = z.string().regex(/^[a-z][a-z-]*$/);
/** How a program of the matrix ends, such as `exit 7`. There are alternatives if the kernel decides which of two processes runs first. */
const end = z.string().regex(/^(exit|signal) \d+( or (exit|signal) \d+)*$/);

/** The schema of the files in languages/, besides those for all languages. */
export const builtInSchema = z.strictObject({
  ...language,
  /** The examples of the playground, by the programs of languages/examples.json. */
  examples: z.record(programName, code).optional(),
  /** How each program of test/system/matrix/ ends, or why the language does not have it. */
  matrix: z
    .record(
      programName,
      z.union([end, z.strictObject({ end, intervention: z.string() }), z.strictObject({ none: z.string().min(1) })]),
    )
    .optional(),
});

/** A path in the image, relative to its root, as the lines for image/layer contain it. */
const path = z.string().regex(/^[a-z][A-Za-z0-9_./*+-]*$/, "a path must be relative to the root, without blanks");
const exitCode = z.int().min(1).max(255);

/** The schema of the files in languages/packs/. */
export const packSchema = z.strictObject({
  ...language,
  npm: z
    .array(
      z.strictObject({
        arch: z.enum(["all", "amd64", "arm64"]),
        target: path,
        name: z.string().regex(/^(@[a-z0-9-]+\/)?[a-z0-9][a-z0-9._-]*$/),
        version: z.string().regex(/^\d[\w.+-]*$/, "a version must be exact"),
        sha512: z.string().regex(/^[0-9a-f]{128}$/, "SHA-512 must be in hexadecimal"),
      }),
    )
    .default([]),
  /** Single files of Python packages. */
  pypi: z
    .array(
      z.strictObject({
        target: path,
        name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/),
        version: z.string().regex(/^\d[\w.+-]*$/, "a version must be exact"),
        sha256: z.string().regex(/^[0-9a-f]{64}$/, "SHA-256 must be in hexadecimal"),
        /** The path of the file in the wheel. */
        file: path,
      }),
    )
    .default([]),
  /** The path at which the library of image/compat.c is placed. The environment of the language loads the library with LD_PRELOAD. */
  compat: path.optional(),
  trim: z.array(path).default([]),
  links: z.record(path, z.string().regex(/^\/[A-Za-z0-9_./+-]+$/)).default({}),
  tests: z.strictObject({
    echo: code,
    exitSeven: code,
    uncaught: z
      .strictObject({ code, exitCode: exitCode.optional(), signal: exitCode.optional(), stderr: z.string().min(1) })
      .or(z.strictObject({ none: reason })),
    doesNotCompile: z.strictObject({ code, exitCode: exitCode.default(1) }),
    busy: code,
    eatsMemory: code,
    /** A program that writes "written" and a line feed into the file {to}, and then prints the file {from}. */
    copies: code,
    /** A source that makes the compiler read the file {from}, and show it in a message or include it in the program. */
    includes: code.or(z.strictObject({ none: reason })).optional(),
    shell: code.or(z.strictObject({ none: reason })),
    /** A program that prints the number of CPUs, the name of the user and the network interfaces, as its runtime finds them. */
    facts: code.optional(),
  }),
});

const profile = z.strictObject({ compile: limits, execute: limits });

const changes = z.strictObject({ compile: overrides.default({}), execute: overrides.default({}) });

/** The limits of judgements. */
export interface JudgementLimits {
  /** What differs from the profile in the run of a test that states no limits. */
  readonly run: Required<StepOverrides>;
  /** What differs from the profile `judge` for checkers, interactors and validators whose problem states no limits. */
  readonly checker: Required<StepOverrides>;
  /** The highest values that a problem can state, unless those of the profile are higher, or the operator has set others. */
  readonly ceilings: Required<StepOverrides>;
}

/** The limits of the two steps in a profile, for languages without overrides. */
export interface ProfileLimits {
  readonly compile: Limits;
  readonly execute: Limits;
}

export interface Profiles extends Readonly<Record<ProfileName, ProfileLimits>> {
  /** The environment of every step. The environment of the service is not passed to boxes. */
  readonly env: Readonly<Record<string, string>>;
  /** The reason for each limit, for readers. */
  readonly reasons: Readonly<Record<keyof Limits, string>>;
  readonly judgement: JudgementLimits;
}

export const profilesSchema: z.ZodType<Profiles> = z.strictObject({
  env: environment,
  reasons: z.strictObject(forEachLimit(() => reason)),
  judge: profile,
  agent: profile,
  judgement: z.strictObject({
    run: changes,
    checker: changes,
    ceilings: changes,
  }) as unknown as z.ZodType<JudgementLimits>,
});

/** An invalid data file in languages/; the message has the file and the reason. */
export class LanguageFileError extends OperatorError {
  override readonly name = "LanguageFileError";
}

/** Reads a data file and checks it against its schema. @throws LanguageFileError */
export function readDataFile<T>(path: string, schema: z.ZodType<T>): T {
  let data: unknown;
  try {
    data = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    invalidFile(path, error instanceof Error ? error.message : String(error));
  }
  const parsed = schema.safeParse(data);
  if (!parsed.success) invalidFile(path, z.prettifyError(parsed.error));
  return parsed.data;
}

export function invalidFile(path: string, problem: string): never {
  throw new LanguageFileError(`${path}: ${problem}`);
}
