import { clientError } from "../../domain/error.ts";

/**
 * Parses JSON. It rejects invalid UTF-8, because a replacement character would silently change the program, and repeated names in
 * an object. @param members the number that checkShape() returned for these bytes.
 */
export function parseJson(bytes: Buffer, members: number): unknown {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw clientError("malformedJson", []);
  }
  if (members !== membersOf(value)) throw clientError("duplicateField", []);
  return value;
}

/** Counts the members of all objects in the value. */
function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const parts = Object.values(value);
  return parts.reduce((sum: number, part) => sum + membersOf(part), Array.isArray(value) ? 0 : parts.length);
}
