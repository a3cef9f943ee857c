import { z } from "zod";
import { MAX_WORDS, MAX_WORDS_BYTES } from "../domain/additions.ts";
import type { CheckerSpec } from "../domain/check.ts";
import type { Group } from "../domain/judgement.ts";

/** Arguments of input validators by their name; `""`: of all others. */
export type ArgsByValidator = Readonly<Record<string, readonly string[]>>;

export interface TestOptions {
  readonly format: "legacy" | "2025-09";
  readonly scoring: boolean;
  /** The custom output validator; null for the default one. */
  readonly validator: CheckerSpec | null;
  /** Arguments of the output validator for all tests. */
  readonly validatorArgs: readonly string[];
}

/** The settings of a test by the files of its group and its own. */
export interface Settings {
  readonly group: string;
  readonly args: readonly string[];
  readonly validatorArgs: readonly string[];
  readonly inputValidatorArgs: ArgsByValidator;
  /** The place of the arguments of the output validator. */
  readonly path: string;
  readonly line?: number;
}

export interface ScoredGroup extends Group {
  readonly maxScore: number;
}

export interface Groups {
  readonly settingsOf: (test: string) => Settings;
  /** @param used the groups of the tests, in their order. */
  readonly groupsOf: (used: readonly string[]) => ScoredGroup[];
}

/** Arguments of a program. */
export const words = z
  .array(z.string().refine((word) => word.isWellFormed() && !word.includes("\0"), "is no argument"))
  .max(MAX_WORDS)
  .refine((all) => Buffer.byteLength(all.join(" ")) <= MAX_WORDS_BYTES, `more than ${MAX_WORDS_BYTES} bytes`);
