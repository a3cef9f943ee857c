import { type Document, LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import { PackageError, type PackageFiles } from "./files.ts";

/** Parsing takes up to 2 s and 500 MiB for hostile content of this size. */
const MAX_BYTES = 65_536;
/** Of all YAML files of a package. */
const MAX_BYTES_OF_ALL = 1_048_576;
/** Aliases could multiply a small file. */
const MAX_ALIASES = 100;

/** A YAML file, checked by a schema. */
export interface Read<T> {
  readonly value: T;
  /** An error at the line of this part of the file. */
  readonly fault: (path: readonly PropertyKey[], message: string) => PackageError;
}

/**
 * @returns undefined if the package has no such file. @throws PackageError with the line of the first fault.
 */
export function readYaml<T>(files: PackageFiles, path: string, schema: z.ZodType<T>): Read<T> | undefined {
  const bytes = files.get(path);
  if (!bytes) return undefined;
  if (bytes.length > MAX_BYTES) throw new PackageError(path, `a YAML file has at most ${MAX_BYTES} bytes`);
  if (yamlBytes(files) > MAX_BYTES_OF_ALL)
    throw new PackageError(path, `all YAML files together have at most ${MAX_BYTES_OF_ALL} bytes`);
  const lines = new LineCounter();
  const document = parseDocument(bytes.toString("utf8"), { lineCounter: lines, uniqueKeys: true });
  const [broken] = document.errors;
  if (broken) throw new PackageError(path, broken.message.split("\n")[0] ?? "", lines.linePos(broken.pos[0]).line);
  const fault = (part: readonly PropertyKey[], message: string) => {
    for (let depth = part.length; depth >= 0; depth--) {
      const node = document.getIn(part.slice(0, depth), true) as { range?: [number, number, number] } | undefined;
      if (node?.range) return new PackageError(path, message, lines.linePos(node.range[0]).line);
    }
    return new PackageError(path, message, 1);
  };
  const parsed = schema.safeParse(toValue(document, path) ?? {});
  if (parsed.success) return { value: parsed.data, fault };
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const place = [...(issue?.path ?? []), ...(unknown === undefined ? [] : [unknown])];
  throw fault(place, `${place.map(String).join(".") || "the file"}: ${issue?.message}`);
}

function toValue(document: Document, path: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw new PackageError(path, error instanceof RangeError ? "is nested too deep" : "has too many or wrong aliases");
  }
}

const SIZES = new WeakMap<PackageFiles, number>();

function yamlBytes(files: PackageFiles): number {
  const known = SIZES.get(files);
  if (known !== undefined) return known;
  const bytes = [...files].reduce((sum, [path, data]) => sum + (/\.ya?ml$/.test(path) ? data.length : 0), 0);
  SIZES.set(files, bytes);
  return bytes;
}
