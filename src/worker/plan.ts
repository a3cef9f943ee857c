import { extname } from "node:path";
import { exclude } from "../domain/harness.ts";
import type { Command, Language } from "../domain/language.ts";
import type { Limits, StepLimits, TestLimits } from "../domain/limits.ts";
import { lowered, type ProgramOptions } from "../domain/program-options.ts";
import type { WorkFile } from "../domain/report.ts";
import type { Program } from "../domain/submission.ts";
import type { Step } from "../sandbox/step.ts";

/** The steps of one submission. `compile` is absent for languages without a compile step. */
export interface Plan {
  readonly compile?: Step;
  readonly execute: Step;
  /** Files of a test for the execute step, if there is a compile step, which does not get them. */
  readonly testFiles?: readonly WorkFile[];
}

const NOTHING = Buffer.alloc(0);

/**
 * The execute step for an artifact: it starts in a new work directory that has the size of that of the compile step, and contains the
 * files that the compile step left.
 * @param owner the account. Its later steps will probably have the same files.
 */
export function stepForArtifact(
  execute: Step,
  { limits }: Step,
  files: readonly WorkFile[],
  owner: string,
  testFiles: readonly WorkFile[] = [],
): Step {
  const { workBytes, workInodes } = limits;
  const step = { ...execute, files, work: "fresh", limits: { ...execute.limits, workBytes, workInodes } } as const;
  return testFiles.length === 0 ? { ...step, fileOwner: owner } : withTestFiles(step, testFiles);
}

/** A step whose work directory also has the files of a test, and space for them. They replace files with the same names. */
function withTestFiles(step: Step, testFiles: readonly WorkFile[]): Step {
  const own = step.files.filter(({ name }) => !testFiles.some((added) => exclude(added.name, name)));
  const bytes = testFiles.reduce((sum, { data }) => sum + data.length, 0);
  return {
    ...step,
    files: [...own, ...testFiles],
    limits: {
      ...step.limits,
      workBytes: step.limits.workBytes + bytes,
      workInodes: step.limits.workInodes + INODES_OF_FILE * testFiles.length,
    },
  };
}
/** A file and the directories of its path. */
const INODES_OF_FILE = 8;

/** How an execute command names the compiled program, derived from the path of the source. The keys are values of `Language.runs`. */
const RUNS = {
  js: (path: string) => path.replace(/\.ts$/, ".js"),
} as const;

/** The command for the source `entry`: the words that name the usual source of the language, or its program, are replaced. */
function withEntry(command: Command, { source, runs }: Language, entry: string): Command {
  const other = (word: string) => {
    if (word === source) return entry;
    if (word === `./${source}`) return `./${entry}`;
    return runs && word === RUNS[runs](source) ? RUNS[runs](entry) : word;
  };
  return { ...command, command: command.command.map(other) };
}

/** A command that joins standard error to standard output, and then executes the arguments that follow. */
const STDERR_TO_STDOUT = ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh"];

/** A command that links names to paths, up to the word `--`, and then executes the arguments that follow. */
const LINKS = ["/bin/sh", "-c", 'while [ "$1" != -- ]; do ln -sf "$2" "$1"; shift 2; done; shift; exec "$@"', "sh"];

/**
 * A command that makes two files stand for the standard input and output, of which either name can be empty, and then executes the arguments
 * that follow. The files are links to descriptors; the descriptors 0 and 1 that they replace are those of the null device, so that a
 * program can also print for its author. The numbers are below the lowest limit of open files, and above those that a frozen runtime has.
 */
const STDIO_FILES = [
  "/bin/bash",
  "-c",
  `in=$1 out=$2
shift 2
if [ -n "$in" ]; then exec 30<&0 </dev/null && ln -sf /proc/self/fd/30 "$in" || exit; fi
if [ -n "$out" ]; then exec 31>&1 >/dev/null && ln -sf /proc/self/fd/31 "$out" || exit; fi
exec "$@"`,
  "bash",
];

/** The command that makes files stand for streams of the command that follows it. */
function streamCommand({ streamFiles = {}, streamFilesOnly }: ProgramOptions): string[] {
  const links = Object.entries(streamFiles);
  if (links.length === 0) return [];
  const nameOf = (wanted: string) => links.find(([, stream]) => stream === wanted)?.[0] ?? "";
  if (streamFilesOnly) return [...STDIO_FILES, nameOf("stdin"), nameOf("stdout")];
  return [...LINKS, ...links.flatMap(([name, stream]) => [name, `/dev/${stream}`]), "--"];
}

/**
 * Whether the options change a command or a limit of the language, or a problem states a limit. No parked runtime waits for such a step.
 * The limit of the output does not count, because it begins to matter with the step.
 */
export function isOwnStep(options: ProgramOptions | undefined, { stated, defaults }: TestLimits = {}): boolean {
  const ofProblem = [stated?.compile, stated?.execute, defaults?.compile, defaults?.execute];
  if (ofProblem.some((own = {}) => Object.keys(own).some((field) => field !== "stdout_bytes"))) return true;
  if (!options) return false;
  const {
    entry,
    stderrToStdout = false,
    args,
    env,
    limits,
    compileLimits = {},
    compilerOptions = [],
    streamFiles = {},
    testFiles = [],
  } = options;
  const parts = [args, env, limits, compileLimits, compilerOptions, streamFiles, testFiles];
  return entry !== null || stderrToStdout || parts.some((part) => Object.keys(part).length > 0);
}

/** Whether the compile command takes files with this name, besides the source. */
function isCompiled(name: string, { sources = [], otherSources = [] }: Language): boolean {
  return [...sources, ...otherSources].some((suffix) => name.endsWith(suffix));
}

/** The language, with commands that follow these options. */
function withProgramOptions(language: Language, options: ProgramOptions): Language {
  const { files, entry, args, env, compilerOptions = [], stderrToStdout = false } = options;
  const { compile, source } = language;
  const main = entry ?? source;
  const names = files.map(({ name }) => name);
  const more = names.filter((name) => name !== main && isCompiled(name, language));
  const compiled = compile && withEntry(compile, language, main);
  const executed = withEntry(language.execute, language, main);
  const command = [
    ...(stderrToStdout ? STDERR_TO_STDOUT : []),
    ...streamCommand(options),
    ...executed.command,
    ...args,
  ];
  return {
    ...language,
    compile: compiled && { ...compiled, command: [...compiled.command, ...more, ...compilerOptions] },
    execute: { ...executed, command, env: { ...executed.env, ...env } },
  };
}

const BYTE_ORDER_MARK = Buffer.from("\uFEFF");

/**
 * The file without a byte order mark at its start, if it is a source of the language. Editors write this mark, and many compilers, such as
 * javac, reject it.
 */
export function withoutByteOrderMark(
  file: WorkFile,
  { source, sources = [], unlisted }: Language,
  entry: string,
): WorkFile {
  const suffixes = [extname(source), ...sources];
  const isSource = file.name === entry || suffixes.some((suffix) => file.name.endsWith(suffix));
  if (unlisted || !isSource || !file.data.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) return file;
  return { ...file, data: file.data.subarray(BYTE_ORDER_MARK.length) };
}

/** How the commands of languages bound the heap of Node and of the JVM. */
const HEAP_OPTIONS: readonly (readonly [option: RegExp, ofMebibytes: (mebibytes: number) => string])[] = [
  [/--max-old-space-size=\d+/g, (mebibytes) => `--max-old-space-size=${mebibytes}`],
  [/-Xmx\d+g/g, (mebibytes) => `-Xmx${mebibytes}m`],
];
/** The heap that these options permit, in every file of a language. */
const HEAP_BYTES = 2_147_483_648;

/**
 * The command for a step with this memory limit. The bound of a heap must not be below the memory limit: the runtime would end a program
 * that is within its limit, or one that exceeds it in another way than by MLE.
 */
function withHeap(command: Command, { memoryBytes }: Limits): Command {
  if (memoryBytes <= HEAP_BYTES) return command;
  const changed = (text: string) =>
    HEAP_OPTIONS.reduce((word, [option, of]) => word.replace(option, of(Math.ceil(memoryBytes / MIB))), text);
  const env = Object.entries(command.env).map(([name, value]) => [name, changed(value)]);
  return { ...command, command: command.command.map(changed), env: Object.fromEntries(env) };
}
const MIB = 1_048_576;

/** Plans the steps of a program. The files are written once, into the fresh work directory of the first step. */
export function plan(usual: Language, limits: StepLimits, { code, stdin, options }: Program): Plan {
  const language = {
    ...usual,
    compile: usual.compile && limits.compile ? withHeap(usual.compile, limits.compile) : usual.compile,
    execute: withHeap(usual.execute, limits.execute),
  };
  const { compile, execute } = options ? withProgramOptions(language, options) : language;
  const sourceFiles = options?.entry ? [] : [{ name: language.source, data: code }];
  const given = [...sourceFiles, ...(options?.files ?? [])];
  const files = given.map((file) => withoutByteOrderMark(file, language, options?.entry ?? language.source));
  const executeLimits = options ? lowered(limits.execute, options.limits) : limits.execute;
  const testFiles = options?.testFiles ?? [];
  if (!compile || !limits.compile) {
    const step: Step = { command: execute, files, stdin, limits: executeLimits, work: "fresh", more: false };
    return { execute: testFiles.length === 0 ? step : withTestFiles(step, testFiles) };
  }
  return {
    ...(testFiles.length > 0 && { testFiles }),
    compile: {
      command: compile,
      files,
      stdin: NOTHING,
      limits: options?.compileLimits ? lowered(limits.compile, options.compileLimits) : limits.compile,
      work: "fresh",
      more: true,
      collect: "work",
    },
    execute: { command: execute, files: [], stdin, limits: executeLimits, work: "keep", more: false },
  };
}

/**
 * Plans the steps of a program of the judge: a checker, an interactor or a validator. The compiler gets further options for such a program.
 */
export function planOfJudge(language: Language, limits: StepLimits, program: Program): Plan {
  const planned = plan(language, limits, program);
  const { compile } = planned;
  if (!compile) return planned;
  const options = judgeOptions(
    language,
    compile.files.map(({ name }) => name),
  );
  const command = { ...compile.command, command: [...compile.command.command, ...options] };
  return { ...planned, compile: { ...compile, command } };
}

/**
 * The options of the compiler for a program of the judge. If only one file is compiled, they make it leave out what this file does not
 * use. A checker uses little of testlib.h: compiling it then takes 3.0 s of CPU time instead of 5.4 s.
 * @param files the names of the files of the program.
 */
function judgeOptions(language: Language, files: readonly string[]): readonly string[] {
  const { judgeOptions: always = [], optionsByFile = {}, singleSourceOptions = [] } = language;
  const isSingle = files.filter((name) => isCompiled(name, language)).length === 1;
  const byFile = Object.entries(optionsByFile).flatMap(([name, options]) => (files.includes(name) ? options : []));
  return [...always, ...byFile, ...(isSingle ? singleSourceOptions : [])];
}
