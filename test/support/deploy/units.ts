import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../repo/documents.ts";

export const UNITS = ["assay-launcher.service", "assay.service", "assay-worker.service"] as const;
export type Unit = (typeof UNITS)[number];

/** The values of each directive of a unit, in order; as in systemd, an empty value resets earlier ones. */
export function unit(name: Unit): Map<string, string[]> {
  const directives = new Map<string, string[]>();
  for (const line of readFileSync(join(ROOT, "deploy/systemd", name), "utf8").split("\n")) {
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined) continue;
    directives.set(key, value === "" ? [] : [...(directives.get(key) ?? []), value]);
  }
  return directives;
}

/** The capabilities that a launcher needs when it starts: those that it keeps, one to keep the image in memory, and two for sandboxes. */
export function startCapabilities(): string[] {
  return [...launcherCapabilities(), "CAP_IPC_LOCK", "CAP_FOWNER", "CAP_NET_ADMIN"].sort();
}

/** The capabilities in the launcher's own list, which it keeps. */
export function launcherCapabilities(): string[] {
  const source = readFileSync(join(ROOT, "launcher/prepare.c"), "utf8");
  const list = /static const int needed\[\] = \{([\s\S]*?)\};/.exec(source)?.[1] ?? "";
  return [...list.matchAll(/\bCAP_[A-Z_]+/g)].map(([name]) => name).sort();
}

/** These capabilities as a bounding set of setpriv, without all others. */
export function boundingSet(capabilities: readonly string[]): string {
  return ["-all", ...capabilities.map((name) => `+${name.replace("CAP_", "").toLowerCase()}`)].join(",");
}
