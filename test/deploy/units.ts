import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../repo/documents.ts";

export const UNITS = ["assay-launcher.service", "assay.service", "assay-worker.service"] as const;
export type Unit = (typeof UNITS)[number];

/** What the unit says to each directive, in its order; an empty value takes back those before it, as systemd has it. */
export function unit(name: Unit): Map<string, string[]> {
  const directives = new Map<string, string[]>();
  for (const line of readFileSync(join(ROOT, "deploy/systemd", name), "utf8").split("\n")) {
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined) continue;
    directives.set(key, value === "" ? [] : [...(directives.get(key) ?? []), value]);
  }
  return directives;
}

/** The capabilities that the launcher keeps, by its own list. */
export function launcherCapabilities(): string[] {
  const source = readFileSync(join(ROOT, "launcher/prepare.c"), "utf8");
  const list = /static const int kept\[\] = \{([\s\S]*?)\};/.exec(source)?.[1] ?? "";
  return [...list.matchAll(/\bCAP_[A-Z_]+/g)].map(([name]) => name).sort();
}

/** The same as setpriv takes a bounding set: these, and no other. */
export function boundingSet(capabilities: readonly string[]): string {
  return ["-all", ...capabilities.map((name) => `+${name.replace("CAP_", "").toLowerCase()}`)].join(",");
}
