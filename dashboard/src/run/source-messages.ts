/** A message of a compiler or runtime about a line of the source. */
export interface SourceMessage {
  /** Positions in the text: the start and the end of the part that names the line. */
  readonly from: number;
  readonly to: number;
  readonly line: number;
  readonly column: number | null;
  readonly text: string;
  /** False for a warning or a note, which does not end a program. */
  readonly isError: boolean;
  /** The path of the file, if the line is not in the source but in a further file of the program. */
  readonly file?: string;
}

/** Bounds of the search. A program can write any text, so the time of the search must be linear in the length of the text. */
const MAX_MESSAGES = 100;
const MAX_LINE = 2_000;
const MAX_TEXT = 300;
const MAX_NAMED = 8;
const MAX_READ = 1_048_576;
/** The greatest distance in lines between a place and its message. Between them are code, carets, or frames of libraries. */
const NEAR = 40;

/** The line with an exception or a panic, which is above or below the frames. */
const THROWN =
  /^(?:Exception in thread "[^"]{0,200}" |Caused by: |Uncaught )(.+)$|^([\w$.]*(?:Error|Exception|Interrupt|Iteration)\b.*|(?:panic|fatal error): .*)$/;
/** The line with an exception in Python whose class the program defines: the name of the class can be any. */
const NAMED = /^[A-Za-z_][\w.]*(?:: .*)?$/;
/** The line with the message of rustc, which is above the place. */
const HEADLINE = /^(error|warning)(?:\[\w{1,20}\])?: .*/;
const UNDEFINED = /^mold: error: undefined symbol: ([A-Za-z_]\w*)/;

/**
 * The messages about a source file, in the order of the text: those of gcc, clang, mold, go, rustc, javac, tsc, Node.js and Python.
 * A traceback is one message, about its innermost frame in the source.
 * @param text The standard error.
 * @param source The path of the file in /box, as in the messages.
 * @param code The text of the file. The symbols of a linker's messages are looked up in it.
 */
export function findMessages(text: string, source: string, code: string): readonly SourceMessage[] {
  const read = text.slice(0, MAX_READ);
  const pattern = linePattern(source);
  const lines = linesOf(read);
  let uses: ReadonlyMap<string, number> | undefined;
  const found: (SourceMessage & { readonly thrownAt: number | null })[] = [];
  for (const [at, { start, line }] of lines.entries()) {
    if (found.length >= MAX_MESSAGES) break;
    if (line.length > MAX_LINE) continue;
    const symbol = UNDEFINED.exec(line)?.[1];
    const match = symbol === undefined ? pattern.exec(line) : null;
    if (symbol !== undefined) {
      uses ??= lastLines(code);
      const where = { from: start, to: start + line.length, line: uses.get(symbol) ?? 0, column: null };
      if (where.line > 0) found.push({ ...where, text: line, isError: true, thrownAt: null });
    }
    if (!match?.groups) continue;
    const { py, ts, tsColumn, row, column } = match.groups;
    const from = start + match.index;
    const where = {
      ...{ from, to: from + match[0].length, line: Number(py ?? ts ?? row) },
      column: tsColumn || column ? Number(tsColumn ?? column) : null,
    };
    const { reason, isError, thrownAt = null } = reasonOf(lines, at, line.slice(match.index + match[0].length), !!py);
    const other = thrownAt === null ? -1 : found.findIndex((one) => one.thrownAt === thrownAt);
    // Python writes the innermost frame last, the other runtimes write it first.
    if (other !== -1 && !py) continue;
    if (other !== -1) found.splice(other, 1);
    found.push({ ...where, text: reason.slice(0, MAX_TEXT), isError, thrownAt });
  }
  return found.map(({ thrownAt: _, ...message }) => message);
}

/** The message that says why a run ended: the first error of a compiler, or the last error of a program. */
export function decidingMessage(messages: readonly SourceMessage[], ofCompiler: boolean): SourceMessage | undefined {
  const errors = messages.filter(({ isError }) => isError);
  return ofCompiler ? errors[0] : errors.at(-1);
}

/**
 * The line that explains a failure best if there is no such message: of a compiler, the first line with the word "error" or else the
 * first line; of a program, the last line.
 */
export function lastLine(text: string, ofCompiler: boolean): string | undefined {
  const lines = linesOf(text.slice(0, MAX_READ)).map(({ line }) => line.trim());
  const written = lines.filter((line) => /\p{L}/u.test(line) && !/^Node\.js v\d/.test(line));
  const reason = ofCompiler ? (written.find((line) => /\berror\b/i.test(line)) ?? written[0]) : written.at(-1);
  return reason?.slice(0, MAX_TEXT);
}

/** The messages about the source and the further files of a program. */
export function findMessagesInFiles(
  text: string,
  source: string,
  code: string,
  files: readonly string[],
): readonly SourceMessage[] {
  const named = files.filter((file) => text.includes(file)).slice(0, MAX_NAMED);
  const others = named.flatMap((file) => findMessages(text, file, "").map((one) => ({ ...one, file })));
  return [...findMessages(text, source, code), ...others].sort((a, b) => a.from - b.from).slice(0, MAX_MESSAGES);
}

function linePattern(source: string): RegExp {
  const name = source.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const places = [
    '", line (?<py>[1-9]\\d{0,6})',
    "\\((?<ts>[1-9]\\d{0,6}),(?<tsColumn>\\d{1,7})\\)",
    ":(?<row>[1-9]\\d{0,6})(?::(?<column>\\d{1,7}))?",
  ];
  return new RegExp(`(?<![\\w./-])(?:/box/|\\./)?${name}(?:${places.join("|")})(?!\\d)`);
}

interface Line {
  readonly start: number;
  readonly line: string;
}

function linesOf(text: string): readonly Line[] {
  let start = 0;
  return text.split("\n").map((line) => {
    const one = { start, line };
    start += line.length + 1;
    return one;
  });
}

interface Reason {
  readonly reason: string;
  readonly isError: boolean;
  /** The index of the line with the exception. It is the same for all frames of a traceback. */
  readonly thrownAt?: number;
}

/** Finds the reason in a message. @param rest The part of the line after the place. */
function reasonOf(lines: readonly Line[], at: number, rest: string, isPython: boolean): Reason {
  const line = lines[at]?.line ?? "";
  const remainder = rest.replace(/^\s*[-:]?\s*/, "");
  const isFrame = isPython || /^\s+at |^\t\S*\/|^ *--> /.test(line);
  if (!isFrame && remainder !== "") {
    const [, kind = "error"] = /^(?:fatal )?(error|warning|note|info)\b/.exec(remainder) ?? [];
    return { reason: remainder, isError: kind === "error" };
  }
  if (/\bpanicked at /.test(line)) return { reason: textAt(lines, at + 1).trim() || line, isError: true };
  return (isPython ? null : above(lines, at)) ?? below(lines, at, isPython) ?? { reason: line.trim(), isError: true };
}

function above(lines: readonly Line[], at: number): Reason | null {
  for (let back = at - 1; back >= Math.max(0, at - NEAR); back--) {
    const line = textAt(lines, back);
    const [headline, kind] = HEADLINE.exec(line) ?? [];
    if (headline !== undefined) return { reason: headline, isError: kind === "error" };
    const [, reason = undefined, other = undefined] = THROWN.exec(line) ?? [];
    if (reason ?? other) return { reason: reason ?? other ?? "", isError: true, thrownAt: back };
  }
  return null;
}

function below(lines: readonly Line[], at: number, isPython: boolean): Reason | null {
  for (let next = at + 1; next < Math.min(lines.length, at + NEAR); next++) {
    const line = textAt(lines, next);
    const [, reason = undefined, other = undefined] = THROWN.exec(line) ?? [];
    if (reason ?? other) return { reason: reason ?? other ?? "", isError: true, thrownAt: next };
    if (isPython && NAMED.test(line)) return { reason: line, isError: true, thrownAt: next };
  }
  return null;
}

/** The text of a line; empty if the line is too long, or does not exist. */
function textAt(lines: readonly Line[], at: number): string {
  const { line = "" } = lines[at] ?? {};
  return line.length > MAX_LINE ? "" : line;
}

/**
 * For each word of a source, the number of the last line with it. An earlier line can declare a function, the last one calls it.
 */
function lastLines(code: string): ReadonlyMap<string, number> {
  return new Map(code.split("\n").flatMap((line, at) => line.split(/\W+/).map((word) => [word, at + 1] as const)));
}
