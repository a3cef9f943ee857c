import { MAX_CONTENT_BYTES } from "../domain/judgement.ts";
import type { Language } from "../domain/language.ts";
import type { Program } from "../domain/submission.ts";
import type { LocalJudge } from "../worker/judge-locally.ts";
import { tail } from "./compare.ts";
import { UnavailableError } from "./faults.ts";
import { type LazyFile, PackageError } from "./files.ts";

/*
 * Tests whose input or answer a program of the package makes, such as a generator. The programs run in sandboxes before an import or a
 * verification. Afterwards, these tests are like all others.
 */

/** The most bytes of everything that the programs of a package make, and the most CPU time that they use. */
const MAX_MADE_BYTES = 268_435_456;
const MAX_MADE_CPU_SECS = 600;

/** An input or an answer that a program makes. It has a content when the program has run. */
export class MadeFile implements LazyFile {
  readonly #convert: (content: Buffer) => Buffer;
  #content: Buffer | null = null;

  constructor(convert: (content: Buffer) => Buffer = (content) => content) {
    this.#convert = convert;
  }

  get isMade(): boolean {
    return this.#content !== null;
  }

  get size(): number {
    return this.read().length;
  }

  read(): Buffer {
    if (!this.#content) throw new Error("the content has not been made yet");
    return this.#content;
  }

  /** @returns the bytes of the content. */
  fill(content: Buffer): number {
    this.#content = this.#convert(content);
    return this.#content.length;
  }
}

/** One run of a program that makes a content. */
export interface Making {
  /** Its place in the package, for faults. */
  readonly path: string;
  readonly language: Language;
  readonly program: Program;
  readonly args: readonly string[];
  /** Its input, which a program before it may have made. */
  readonly stdin: LazyFile;
  /** What its streams become; null for a stream that is not used. */
  readonly stdout: MadeFile | null;
  readonly stderr: MadeFile | null;
}

/** The runs that complete a package, in their order. */
export interface Makings {
  readonly runs: readonly Making[];
  /** Checks the contents when all of them have been made. @throws PackageError */
  readonly check: () => void;
}

/**
 * Runs the programs. @throws PackageError if one of them fails or makes too much, UnavailableError if the platform failed, SandboxError if
 * the slot is lost.
 */
export async function makeTests(
  { runs, check }: Makings,
  judge: LocalJudge,
  onProgress: (step: string) => void = () => {},
): Promise<void> {
  let [bytes, cpuSecs] = [0, 0];
  for (const { path, language, program, args, stdin, stdout, stderr } of runs) {
    onProgress(path);
    const { result, output, metrics } = await judge.make(language, program, stdin.read(), args);
    if (result.verdict !== "AC" || !output) {
      const why = [result.errorMessage, excerptOf(output?.stderr)].filter((text) => text).join(": ");
      const Failure = result.verdict === "IE" ? UnavailableError : PackageError;
      throw new Failure(path, `the program that makes the test ended as ${result.verdict}${tail(why)}`);
    }
    if (output.integrity !== "complete") {
      const stream = output.stdout.length < MAX_CONTENT_BYTES ? "standard error" : "standard output";
      throw new PackageError(
        path,
        `the program that makes the test writes more than ${MAX_CONTENT_BYTES} bytes to ${stream}`,
      );
    }
    bytes += (stdout?.fill(output.stdout) ?? 0) + (stderr?.fill(output.stderr) ?? 0);
    if (bytes > MAX_MADE_BYTES)
      throw new PackageError(path, `the programs make more than ${MAX_MADE_BYTES} bytes of tests`);
    cpuSecs += (metrics?.cpuUsec ?? 0) / 1e6;
    if (cpuSecs > MAX_MADE_CPU_SECS)
      throw new PackageError(path, `the programs need more than ${MAX_MADE_CPU_SECS} s of CPU time to make all tests`);
  }
  check();
}

/** Leaves empty what has not been made. */
export function leaveEmpty({ runs }: Makings): void {
  for (const made of runs.flatMap(({ stdout, stderr }) => [stdout, stderr]))
    if (made && !made.isMade) made.fill(Buffer.alloc(0));
}

const MAX_EXCERPT = 300;

/** The beginning of what a program or its compiler wrote to standard error, in one line. */
function excerptOf(stderr: Buffer = Buffer.alloc(0)): string {
  const start = stderr.subarray(0, 4 * MAX_EXCERPT).toString();
  return start
    .replaceAll(/[\p{C}\p{Z}]+/gu, " ")
    .trim()
    .slice(0, MAX_EXCERPT)
    .toWellFormed();
}
