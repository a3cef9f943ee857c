// packs.ts names CHOICE: prints the names of the chosen packs, separated by commas; CHOICE is a value of ASSAY_LANGUAGES.
// packs.ts plan DIR BASE NAMES: prints a line NAME LAYER for each of these packs that adds files to the image BASE, and writes the lines
//   that image/layer reads to DIR/LAYER. A layer is named by the hash of BASE, of the builder of layers and of these lines.
// packs.ts list LAYERS BASE NAMES: prints all packs with their sizes, and whether they are in NAMES.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OperatorError } from "../src/domain/operator-error.ts";
import { chosenPacks, layerLines, loadPack, packNames } from "../src/languages/packs.ts";

const print = (line: string) => process.stdout.write(`${line}\n`);

const ROOT = join(import.meta.dirname, "..");
const LANGUAGES = join(ROOT, "languages");
const BUILDER = ["layer", "parts.sh", "compat.c"].map((name) => readFileSync(join(ROOT, "image", name)));

function layerOf(base: string, lines: string): string {
  const hash = createHash("sha256").update(`${base}\n`);
  for (const part of BUILDER) hash.update(part);
  return hash.update(lines).digest("hex").slice(0, 16);
}

function plan(directory: string, base: string, names: readonly string[]): void {
  for (const name of names) {
    const lines = layerLines(loadPack(LANGUAGES, name));
    if (lines === "") continue;
    const layer = layerOf(base, lines);
    writeFileSync(join(directory, layer), lines);
    print(`${name} ${layer}`);
  }
}

function list(layers: string, base: string, chosen: readonly string[]): void {
  const rows = packNames(LANGUAGES).map((name) => {
    const pack = loadPack(LANGUAGES, name);
    const lines = layerLines(pack);
    const sizeFile = join(layers, layerOf(base, lines), "megabytes");
    const size =
      lines === "" ? "0 MB" : existsSync(sizeFile) ? `${readFileSync(sizeFile, "utf8").trim()} MB` : "not built";
    return [name, chosen.includes(name) ? "installed" : "available", size, pack.label];
  });
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows)
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

const [command, ...rest] = process.argv.slice(2);
try {
  const [first = "", base = "", names = ""] = rest;
  if (command === "names") print(chosenPacks(LANGUAGES, first).join(","));
  else if (command === "plan") plan(first, base, chosenPacks(LANGUAGES, names));
  else list(first, base, chosenPacks(LANGUAGES, names));
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`assay: error: ${error.message}\n`);
  process.exitCode = 1;
}
