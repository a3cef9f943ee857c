import type { Language } from "../../domain/language.ts";
import type { Dependencies } from "../dependencies.ts";

type Known = Pick<Dependencies, "languages" | "workers">;

/** A language by one of its Judge0 numbers. */
export interface Numbered {
  readonly id: number;
  readonly language: Language;
}

/** The numbers of the languages that work now, in their order. The files of languages/ have them. */
export function numbered({ languages, workers }: Known): Numbered[] {
  return workers
    .languages()
    .flatMap((name) => languages.resolve(name) ?? [])
    .flatMap((language) => (language.judge0 ?? []).map((id) => ({ id, language })))
    .sort((a, b) => a.id - b.id);
}

export function byNumber(known: Known, id: number): Language | undefined {
  return numbered(known).find((one) => one.id === id)?.language;
}

/** A stored submission can have a language that does not work now. */
export function nameOfNumber({ languages }: Pick<Known, "languages">, id: number): string {
  return languages.list().find(({ judge0 }) => judge0?.includes(id))?.label ?? String(id);
}

/** The program brings its own scripts instead of a source. */
export const MULTI_FILE = "multifile";
