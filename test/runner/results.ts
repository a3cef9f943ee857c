import { readFileSync } from "node:fs";

/** Numbers of tests, as Node counts them. */
export type Counts = Record<"tests" | "suites" | "passed" | "failed" | "cancelled" | "skipped" | "todo", number>;

export interface Failure {
  /** The file, with its line if it is known. */
  readonly where: string;
  readonly title: string;
  readonly message: string;
}

/** What run-files.ts writes. */
export interface Results {
  readonly counts: Counts;
  /** Tests that passed and were not skipped. */
  readonly ran: number;
  readonly failures: readonly Failure[];
  /** Files with failed tests, and files that crashed. */
  readonly failedFiles: readonly string[];
}

/** @returns null if the process ended without results. */
export function readResults(file: string): Results | null {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return null;
  }
}

/** The summary of several processes. Their durations overlap, so that the duration is that of the run. */
export function summary(all: readonly Results[], durationMs: number): string {
  const sum = (key: keyof Counts) => all.reduce((total, { counts }) => total + counts[key], 0);
  const names = { tests: "tests", suites: "suites", passed: "pass", failed: "fail", cancelled: "cancelled" } as const;
  const lines = Object.entries({ ...names, skipped: "skipped", todo: "todo" } as const).map(
    ([key, name]) => `${name} ${sum(key as keyof Counts)}`,
  );
  return [...lines, `duration_ms ${Math.round(durationMs)}`].map((line) => `ℹ ${line}\n`).join("");
}

/** The lines of an error that are printed, and their length. */
const [MOST_LINES, MOST_COLUMNS] = [20, 160];

/** Each failed test with the first lines of its error, once. */
export function failedTests(failures: readonly Failure[]): string[] {
  const texts = failures.map(({ where, title, message }) => {
    const lines = message.split("\n").filter((line) => line.trim() !== "");
    const shown = lines.slice(0, MOST_LINES).map((line) => `        ${line.slice(0, MOST_COLUMNS)}`);
    return [`    ${where}: ${title}`, ...shown].join("\n");
  });
  const seen = new Set<string>();
  return texts.filter((_, index) => {
    const key = `${failures[index]?.where} ${failures[index]?.title}`;
    return !seen.has(key) && seen.add(key);
  });
}
