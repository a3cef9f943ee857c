import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

const SOURCES = new URL("../../launcher/", import.meta.url);

let ours: string | undefined;

/** The build id that a launcher from these sources has. As in launcher/build, it is a hash of all sources, in the same order. */
export function ourBuild(): string {
  ours ??= hash();
  return ours;
}

function hash(): string {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" });
  const sources = files.filter((file) => /\.(c|h|def)$/.test(file) && !file.startsWith("fuzz/")).sort();
  const all = createHash("sha256");
  for (const file of ["build", ...sources]) all.update(readFileSync(new URL(file, SOURCES)));
  return all.digest("hex").slice(0, 16);
}
