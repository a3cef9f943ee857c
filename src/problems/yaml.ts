import { Composer, type Document, isScalar, Lexer, LineCounter, Parser, visit } from "yaml";
import type { z } from "zod";
import { PackageError, type PackageFiles, sizeOf } from "./files.ts";

/** Within these bounds, the slowest hostile content that is known takes 60 ms. */
const MAX_BYTES = 65_536;
/** The most names, values, signs and pieces of white space of a file; enough for 500 tests of DMOJ. */
const MAX_PARTS = 20_000;
const MAX_DEPTH = 32;
/** Aliases could multiply a small file. */
const MAX_ALIASES = 100;
/** The most comparisons of keys. To find equal keys, each key of a map is compared with all keys before it. */
const MAX_COMPARED = 500_000;
/** The most bytes of all YAML files of a package that are read. */
const MAX_BYTES_OF_ALL = 262_144;

/** How many bytes each file counts in addition to its size. */
const BYTES_OF_ONE = 128;

type YamlVersion = "1.1" | "1.2";

/** A YAML file, checked by a schema. */
export interface Read<T> {
  readonly value: T;
  /** Makes an error whose place is the line of this part of the file. */
  readonly fault: (path: readonly PropertyKey[], message: string) => PackageError;
  /** The text of a single value as the file has it, without quotes; undefined if there is none. */
  readonly text: (path: readonly PropertyKey[]) => string | undefined;
}

/** How a file is read. */
export interface YamlOptions {
  /** With 1.1, `yes` is true and 010 is 8, as for PyYAML, but `y` is a text. */
  readonly version?: YamlVersion;
  /** What a key that is given twice is: a fault, or the last of its values, as for the usual reader of the format legacy. */
  readonly repeated?: "fault" | "last";
}

/**
 * Reads a YAML file, and checks it by a schema.
 * @returns undefined if the package has no such file. @throws PackageError with the line of the first fault.
 */
export function readYaml<T>(
  files: PackageFiles,
  path: string,
  schema: z.ZodType<T>,
  options: YamlOptions = {},
): Read<T> | undefined {
  const size = sizeOf(files, path);
  if (size === undefined) return undefined;
  if (size > MAX_BYTES) throw new PackageError(path, `a YAML file has at most ${MAX_BYTES} bytes`);
  if (readBytes(files, path, size) > MAX_BYTES_OF_ALL)
    throw new PackageError(path, `all YAML files together have at most ${MAX_BYTES_OF_ALL} bytes`);
  const bytes = files.get(path) as Buffer;
  const lines = new LineCounter();
  const document = parse(bytes.toString("utf8"), path, lines, options);
  const fault = (part: readonly PropertyKey[], message: string) => {
    for (let depth = part.length; depth >= 0; depth--) {
      const node = document.getIn(part.slice(0, depth), true) as { range?: [number, number, number] } | undefined;
      if (node?.range) return new PackageError(path, message, lines.linePos(node.range[0]).line);
    }
    return new PackageError(path, message, 1);
  };
  const parsed = schema.safeParse(toValue(document, path) ?? {});
  const text = (part: readonly PropertyKey[]) => {
    const node = document.getIn(part, true);
    return isScalar(node) ? (node.source ?? String(node.value)) : undefined;
  };
  if (parsed.success) return { value: parsed.data, fault, text };
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const place = [...(issue?.path ?? []), ...(unknown === undefined ? [] : [unknown])];
  throw fault(place, `${place.map(String).join(".") || "the file"}: ${issue?.message}`);
}

/** The tags of values that every reader of YAML reads in the same way. */
const PLAIN_TAGS = new Set(
  ["map", "seq", "str", "int", "float", "bool", "null"].map((one) => `tag:yaml.org,2002:${one}`),
);

/** Where the library places an error. */
type YamlPosition = number | readonly number[] | { readonly offset: number };

/** Parses one document. Stops at the first error: the library would collect one for each character. */
function parse(
  source: string,
  path: string,
  lines: LineCounter,
  { version = "1.2", repeated = "fault" }: YamlOptions,
): Document {
  const fail = (message: string, offset: number) => new PackageError(path, message, lines.linePos(offset).line);
  let compared = 0;
  let first: PackageError | undefined;
  const onError = (place: YamlPosition, _: string, message: string, isWarning = false) => {
    if (isWarning) return;
    const offset = typeof place === "number" ? place : "offset" in place ? place.offset : (place[0] ?? 0);
    first ??= fail(message, offset); // it passes the enclosing collections, each of which reports an error again
    throw first;
  };
  const composer = new Composer({
    version,
    uniqueKeys: (a, b) => {
      if (++compared > MAX_COMPARED) onError(b.range[0], "", "has too many keys");
      return repeated === "fault" && isScalar(a) && isScalar(b) && a.value === b.value;
    },
  });
  Object.assign(composer, { onError });
  const [document, second] = composer.compose(partsOf(source, lines, fail), true, source.length);
  if (!document || second) throw fail("has more than one YAML document", second?.range[0] ?? 0);
  const [error] = document.errors;
  if (error) throw fail(error.message, error.pos[0]);
  visit(document, {
    // Tags such as !!set and !!omap make objects whose fields the schemas would not see. The value of an unknown tag, such as !include,
    // would be its text.
    Value: (_, node) => {
      const { tag, range } = node;
      if (tag !== undefined && !PLAIN_TAGS.has(tag)) throw fail(`has the tag ${tag}`, range?.[0] ?? 0);
      if (isScalar(node) && typeof node.value === "boolean" && /^[yn]$/i.test(node.source ?? ""))
        node.value = node.source;
    },
  });
  return document;
}

/**
 * Yields the parts of the content, of which the library composes a document, and counts them. @throws PackageError beyond the
 * bounds.
 */
function* partsOf(source: string, lines: LineCounter, fail: (message: string, offset: number) => PackageError) {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let [parts, aliases] = [0, 0];
  for (const lexeme of new Lexer().lex(source)) {
    if (++parts > MAX_PARTS) throw fail(`has more than ${MAX_PARTS} parts`, parser.offset);
    if (lexeme.startsWith("*") && ++aliases > MAX_ALIASES) throw fail("has too many aliases", parser.offset);
    if (parser.stack.length > MAX_DEPTH) throw fail("is nested too deep", parser.offset);
    yield* parser.next(lexeme);
  }
  yield* parser.end();
}

function toValue(document: Document, path: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch {
    throw new PackageError(path, "has too many or wrong aliases", 1);
  }
}

const READ = new WeakMap<PackageFiles, { readonly paths: Set<string>; bytes: number }>();

/**
 * Notes that a YAML file is read.
 * @returns how many bytes count for all YAML files of the package that have been read, with this file.
 */
function readBytes(files: PackageFiles, path: string, bytes: number): number {
  const read = READ.get(files) ?? { paths: new Set<string>(), bytes: 0 };
  READ.set(files, read);
  if (!read.paths.has(path)) read.bytes += bytes + BYTES_OF_ONE;
  read.paths.add(path);
  return read.bytes;
}
