import { endpoints, errors, recordFields, submitFields } from "./api.ts";
import { auditActions } from "./audit.ts";
import { causes } from "./causes.ts";
import { commands } from "./cli.ts";
import { settings } from "./configuration.ts";
import { languageLimits, languageTable, limits, packTable } from "./limits.ts";
import { metrics } from "./metrics.ts";
import { controls, frames, keys, limitKeys, measuredKeys } from "./protocol.ts";
import { matrix } from "./verdicts.ts";

/** The parts of documents and sources that are derived from code. Each has the name of a region, and a function that makes its text. */
export const REGIONS: Readonly<Record<string, () => string>> = {
  "audit actions": auditActions,
  causes,
  commands,
  controls,
  endpoints,
  errors,
  frames,
  keys,
  "keys of limits": limitKeys,
  "language packs": packTable,
  languages: languageTable,
  limits,
  "limits of languages": languageLimits,
  matrix,
  "measured keys": measuredKeys,
  metrics,
  "record fields": recordFields,
  settings,
  "submit fields": submitFields,
};

/** A region with its two marks. In Markdown, the text has a blank line at both ends; in TypeScript, it has none. */
const REGION = /^(<!-- |\/\/ )generated: (.+?)( -->|)\n[\s\S]*?^\1end\3$/gm;

/** The text with every region filled from the code. @throws for a region that has no source. */
export function fill(text: string): string {
  return text.replaceAll(REGION, (_, open: string, name: string, close: string) => {
    const content = REGIONS[name];
    if (content === undefined) throw new Error(`there is no region "${name}"`);
    const blank = close ? "\n" : "";
    return `${open}generated: ${name}${close}\n${blank}${content()}\n${blank}${open}end${close}`;
  });
}

/** Names of the regions of a text. */
export function regionsOf(text: string): string[] {
  return [...text.matchAll(REGION)].map(([, , name = ""]) => name);
}

/** Sources with regions, besides the documents. */
export const SOURCES = ["launcher/protocol.def", "src/domain/controls.ts", "src/sandbox/protocol.ts"];
