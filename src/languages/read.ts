import { readFileSync } from "node:fs";
import { z } from "zod";
import { OperatorError } from "../domain/operator-error.ts";

/** An invalid data file in languages/; the message has the file and the reason. */
export class LanguageFileError extends OperatorError {
  override readonly name = "LanguageFileError";
}

export function read<T>(path: string, schema: z.ZodType<T>): T {
  let data: unknown;
  try {
    data = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    fail(path, error instanceof Error ? error.message : String(error));
  }
  const parsed = schema.safeParse(data);
  if (!parsed.success) fail(path, z.prettifyError(parsed.error));
  return parsed.data;
}

export function fail(path: string, problem: string): never {
  throw new LanguageFileError(`${path}: ${problem}`);
}
