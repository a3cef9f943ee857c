import { z } from "zod";
import type { Language } from "../../domain/language.ts";
import type { Dependencies } from "../../http/dependencies.ts";

type Known = Pick<Dependencies, "languages" | "workers">;

/** A language with one of the numbers that Judge0 uses for it. */
export interface NumberedLanguage {
  readonly id: number;
  readonly language: Language;
}

const numbers = z.array(z.int().positive());

/** The numbers that Judge0 uses for a language; its file in languages/ states them. */
export function numbersOf({ foreignNames }: Pick<Language, "foreignNames">): readonly number[] {
  return foreignNames.judge0 === undefined ? [] : numbers.parse(foreignNames.judge0);
}

/** The languages that work now, sorted by number. */
export function numbered({ languages, workers }: Known): NumberedLanguage[] {
  return workers
    .languages()
    .flatMap((name) => languages.resolve(name) ?? [])
    .flatMap((language) => numbersOf(language).map((id) => ({ id, language })))
    .sort((a, b) => a.id - b.id);
}

export function byNumber(known: Known, id: number): Language | undefined {
  return numbered(known).find((one) => one.id === id)?.language;
}

/** The label of a language, even if it does not work now; for an unknown number, the number. */
export function nameOfNumber({ languages }: Pick<Known, "languages">, id: number): string {
  return languages.list().find((language) => numbersOf(language).includes(id))?.label ?? String(id);
}

/** The language of a program that consists of files with scripts of its own, instead of one source. */
export const MULTI_FILE = "multifile";
