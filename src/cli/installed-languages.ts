import { fileURLToPath } from "node:url";
import { ceilings, languagePacks } from "../config.ts";
import { type Example, loadExamples } from "../languages/examples.ts";
import { type Languages, loadLanguages } from "../languages/load.ts";
import { chosenPacks } from "../languages/packs.ts";

/** The data files of the checkout of this program. */
const LANGUAGES = fileURLToPath(new URL("../../languages", import.meta.url));

/** The eight built-in languages, and the packs that the operator chose. */
export function installedLanguages(): Languages {
  return loadLanguages(LANGUAGES, chosenPacks(LANGUAGES, languagePacks()), ceilings());
}

/** Example programs by language. */
export function installedExamples(languages: Languages): ReadonlyMap<string, readonly Example[]> {
  return loadExamples(LANGUAGES, languages);
}

/** Paths of launcher and image, and the reserved names and user ids of this command; set by `./assay`. */
export interface WorkerFlags {
  readonly launcher: string;
  /** The directory that has rootfs/ and versions.json. */
  readonly image: string;
  /** Unique on the machine; part of the names of control groups. */
  readonly instance: string;
  /** First of the user ids reserved for this command. */
  readonly uidBase: string;
}
