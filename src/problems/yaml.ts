import { LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import { PackageError, type PackageFiles } from "./files.ts";

/** Parsing takes a multiple of the memory of a file. */
const MAX_BYTES = 262_144;

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
  // Aliases could multiply a small file: their number is bounded.
  const parsed = schema.safeParse(document.toJS({ maxAliasCount: 100 }) ?? {});
  if (parsed.success) return { value: parsed.data, fault };
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const place = [...(issue?.path ?? []), ...(unknown === undefined ? [] : [unknown])];
  throw fault(place, `${place.map(String).join(".") || "the file"}: ${issue?.message}`);
}
