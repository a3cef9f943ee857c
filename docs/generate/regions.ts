import { endpoints, errors, recordFields, submitFields } from "./api.ts";
import { auditActions } from "./audit.ts";
import { commands } from "./cli.ts";
import { settings } from "./configuration.ts";
import { languageLimits, languageTable, limits } from "./limits.ts";
import { metrics } from "./metrics.ts";
import { matrix } from "./verdicts.ts";

/** Parts of documents that are derived from code: the name of a region and its text. */
export const REGIONS: Readonly<Record<string, () => string>> = {
  "audit actions": auditActions,
  commands,
  endpoints,
  errors,
  languages: languageTable,
  limits,
  "limits of languages": languageLimits,
  matrix,
  metrics,
  "record fields": recordFields,
  settings,
  "submit fields": submitFields,
};

const REGION = /^<!-- generated: (.+) -->\n[\s\S]*?^<!-- end -->$/gm;

/** The document with every region filled from the code. @throws for a region that has no source. */
export function fill(markdown: string): string {
  return markdown.replaceAll(REGION, (_, name: string) => {
    const text = REGIONS[name];
    if (text === undefined) throw new Error(`there is no region "${name}"`);
    return `<!-- generated: ${name} -->\n\n${text()}\n\n<!-- end -->`;
  });
}

/** Names of the regions of a document. */
export function regionsOf(markdown: string): string[] {
  return [...markdown.matchAll(REGION)].map(([, name = ""]) => name);
}
