import { clientError } from "../domain/error.ts";

/**
 * Rejects invalid UTF-8, because a replacement character would silently change the program.
 * @param members as returned by checkShape
 */
export function parseJson(bytes: Buffer, members: number): unknown {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw clientError("malformedJson", []);
  }
  const objects = (Array.isArray(value) ? value : [value]).filter(isObject);
  const names = objects.reduce((sum, object) => sum + Object.keys(object).length, 0);
  if (objects.length > 0 && members !== names) throw clientError("duplicateField", []);
  return value;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
