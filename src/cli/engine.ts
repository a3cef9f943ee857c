import { fileURLToPath } from "node:url";
import { type Example, loadExamples } from "../languages/examples.ts";
import { type Languages, loadLanguages } from "../languages/load.ts";

/** The data files of the checkout that this program belongs to. */
const LANGUAGES = fileURLToPath(new URL("../../languages", import.meta.url));

export function ourLanguages(): Languages {
  return loadLanguages(LANGUAGES);
}

/** Programs to begin with, by language. */
export function ourExamples(languages: Languages): ReadonlyMap<string, readonly Example[]> {
  return loadExamples(LANGUAGES, languages);
}

/** Where `./assay` built the launcher and the image, and what it reserved for this command. */
export interface EngineFlags {
  readonly launcher: string;
  /** The directory that has rootfs/ and versions.json. */
  readonly image: string;
  /** Unique on the machine; control groups carry it. */
  readonly instance: string;
  /** First of the user ids reserved for this command. */
  readonly uidBase: string;
}
