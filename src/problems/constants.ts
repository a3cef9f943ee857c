import { z } from "zod";
import { MAX_FILES_BYTES } from "../domain/program-options.ts";
import { fileOf, type LazyFile, LazyFiles, PackageError, type PackageFiles } from "./files.ts";
import type { Read } from "./yaml.ts";

/**
 * Constants of problem.yaml, whose names in double braces stand for their values in programs, in files that are added to submissions,
 * and in the settings of groups.
 */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const MAX_VALUE = 1_000;
const MAX_CONSTANTS = 200;

const value = z.union([z.number(), z.string()]);
const named = <T>(content: z.ZodType<T>) => z.record(z.string().regex(NAME, "is not a name"), content);
export const constantsField = named(
  z.union([value, named(value).refine((variants) => Object.hasOwn(variants, "value"), "has no key value")]),
).refine((all) => Object.keys(all).length <= MAX_CONSTANTS, `has more than ${MAX_CONSTANTS} constants`);

/** The values by `name` and by `name.variant`, as problem.yaml has them: a number keeps all its digits. @throws PackageError */
export function constantsOf(
  constants: z.output<typeof constantsField> | undefined,
  read: Read<unknown>,
): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  const add = (path: readonly string[], names: readonly string[], given: string | number) => {
    const text = read.text(["constants", ...path]) ?? String(given);
    if (text.length > MAX_VALUE)
      throw read.fault(["constants", ...path], `constants: a value has at most ${MAX_VALUE} characters`);
    for (const name of names) values.set(name, text);
  };
  for (const [name, content] of Object.entries(constants ?? {})) {
    if (typeof content !== "object") add([name], [name, `${name}.value`], content);
    else
      for (const [variant, one] of Object.entries(content))
        add([name, variant], variant === "value" ? [name, `${name}.value`] : [`${name}.${variant}`], one);
  }
  return values;
}

/** The files in which names of constants stand for their values. */
const REPLACED =
  /^(?:(?:input_validators|input_format_validators|output_validator|output_validators|include|submissions)\/|data\/(?:.*\/)?test_group\.yaml$)/;
const SEQUENCE = /\{\{([a-zA-Z_][a-zA-Z0-9_]*(?:\.[a-zA-Z_][a-zA-Z0-9_]*)?)\}\}/g;

/**
 * The files of a package with the values of its constants. A file that is larger than a program has no constants.
 * @throws PackageError when such a file is read, if it would then be too large.
 */
export function withConstants(files: PackageFiles, values: ReadonlyMap<string, string>): PackageFiles {
  if (values.size === 0) return files;
  // The bytes of a file are kept as they are: each is one character of this encoding.
  const encoded = new Map([...values].map(([name, text]) => [name, Buffer.from(text).toString("latin1")]));
  const replaced = [...files.keys()].flatMap((path): [string, LazyFile][] => {
    const file = fileOf(files, path);
    if (!file) return [];
    return [[path, REPLACED.test(path) && !file.isUnusable ? replacing(path, file, encoded) : file]];
  });
  return new LazyFiles(new Map(replaced), files.directory);
}

function replacing(path: string, file: LazyFile, values: ReadonlyMap<string, string>): LazyFile {
  if (file.size > MAX_FILES_BYTES) return file;
  let size: number | undefined;
  const read = () => {
    const text = file.read().toString("latin1");
    let bytes = text.length;
    const result = text.replace(SEQUENCE, (sequence, name: string) => {
      const found = values.get(name);
      bytes += found === undefined ? 0 : found.length - sequence.length;
      if (bytes > MAX_FILES_BYTES)
        throw new PackageError(path, `has more than ${MAX_FILES_BYTES} bytes with the values of its constants`);
      return found ?? sequence;
    });
    size = result.length;
    return Buffer.from(result, "latin1");
  };
  return {
    get size() {
      return size ?? read().length;
    },
    read,
  };
}
