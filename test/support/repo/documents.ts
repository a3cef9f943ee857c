import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../../..");

/** Directories without documents of the project. */
const SKIPPED = new Set(["node_modules", ".git", "coverage"]);

export function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** Paths of all documents of the project, relative to its root. */
export function documents(directory = ROOT): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : documents(path);
    return entry.name.endsWith(".md") ? [relative(ROOT, path)] : [];
  });
}

/** Text outside code blocks, where `#` is a heading and brackets are links. */
export function prose(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, "");
}

/** The part of a document below a heading, up to the next heading of the same or a higher level. */
export function section(markdown: string, heading: string): string {
  const lines = markdown.split("\n");
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "") === heading);
  if (start < 0) throw new Error(`there is no heading "${heading}"`);
  const level = lines[start]?.indexOf(" ") ?? 1;
  const end = lines.findIndex((line, at) => at > start && /^#+ /.test(line) && line.indexOf(" ") <= level);
  return lines.slice(start, end < 0 ? undefined : end).join("\n");
}

/** The cells of each row of the tables in a text, heads and rulers left out. */
export function rows(markdown: string): string[][] {
  const lines = markdown.split("\n");
  return lines
    .filter((line, at) => line.startsWith("|") && !isRuler(line) && !isRuler(lines[at + 1] ?? ""))
    .map((line) =>
      line
        .slice(1, line.lastIndexOf("|"))
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

function isRuler(line: string): boolean {
  return /^\|[-| :]+\|$/.test(line);
}

/** Texts in backticks. */
export function codes(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}
