import { z } from "zod";
import type { Language } from "../domain/language.ts";
import type { Limits, ProfileName } from "../domain/limits.ts";

/** The shape of the files in languages/. Every key is known and every number is whole: a typing mistake is an error. */

const count = z.int().positive();
const bytes = z.int().positive();
const milliseconds = z.int().positive();
const reason = z.string().min(20, "a reason is a sentence");

/** One check per limit: completeness of a profile, overrides and reasons are all derived from this list. */
const limit = {
  wallMs: milliseconds,
  cpuMs: milliseconds,
  cpus: count.nullable(),
  memoryBytes: bytes,
  processes: count,
  fileBytes: bytes,
  openFiles: count,
  addressSpaceBytes: bytes.nullable(),
  stackBytes: bytes,
  workBytes: bytes,
  workInodes: count,
  tmpBytes: bytes,
  stdoutBytes: bytes,
  stderrBytes: bytes,
} satisfies { [K in keyof Limits]: z.ZodType<Limits[K]> };

const limits: z.ZodType<Limits> = z.strictObject(limit);

type LimitName = keyof typeof limit;
const names = Object.keys(limit) as LimitName[];

function forEachLimit<T extends z.ZodType>(make: (name: LimitName) => T): Record<LimitName, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<LimitName, T>;
}

const overrides = z.strictObject(
  forEachLimit((name) => z.strictObject({ value: limit[name] as z.ZodType, reason }).exactOptional()),
);
const stepOverrides = z.strictObject({ compile: overrides.exactOptional(), execute: overrides.exactOptional() });

const name = z.string().regex(/^[a-z][a-z0-9]*$/, "a name is lower-case letters and digits");
const alias = z.string().regex(/^[a-z][a-z0-9+#]*$/, "an alias is lower-case letters, digits, + and #");

/** A file name without a directory, since it is placed in /box as it is. */
const fileName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]*\.[a-z]+$/, "a source is one plain file name");

/** Programs are named absolutely (in the image) or below /box, so nothing depends on PATH. */
const program = z.string().regex(/^(\/|\.\/)[^\0]+$/, "a program is an absolute path or starts with ./");
const argument = z.string().regex(/^[^\0]*$/, "an argument has no NUL");

const environment = z.record(z.string().regex(/^[A-Z][A-Z0-9_]*$/), argument);

const command = z.strictObject({
  command: z.tuple([program], argument),
  env: environment,
});

export const languageSchema = z.strictObject({
  name,
  aliases: z.array(alias),
  label: z.string().min(1),
  source: fileName,
  compile: command.nullable(),
  execute: command,
  limits: z.strictObject({ judge: stepOverrides.exactOptional(), agent: stepOverrides.exactOptional() }),
  hello: z.strictObject({ code: z.string().min(1), stdout: z.string().min(1) }),
}) as z.ZodType<Language>;

const profile = z.strictObject({ compile: limits, execute: limits });

/** What a profile gives to every step unless a language says otherwise. */
export interface Profile {
  readonly compile: Limits;
  readonly execute: Limits;
}

export interface Profiles extends Readonly<Record<ProfileName, Profile>> {
  /** Environment of every step; nothing of the service's own environment reaches a box. */
  readonly env: Readonly<Record<string, string>>;
  /** Why each limit is what it is, for people. */
  readonly reasons: Readonly<Record<keyof Limits, string>>;
}

export const profilesSchema: z.ZodType<Profiles> = z.strictObject({
  env: environment,
  reasons: z.strictObject(forEachLimit(() => reason)),
  judge: profile,
  agent: profile,
});
