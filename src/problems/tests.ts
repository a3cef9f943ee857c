import type { CheckerSpec } from "../domain/check.ts";
import { type Group, rounded, type TestMeta } from "../domain/judgement.ts";
import { currentGroups } from "./current-groups.ts";
import { defaultValidator } from "./default-validator.ts";
import { checkTogether, contentOf, PackageError, type PackageFiles, sizeOf } from "./files.ts";
import { legacyGroups } from "./legacy-groups.ts";
import type { ArgsByValidator, Groups, Settings, TestOptions } from "./settings.ts";

/** The tests of a package in the order in which they run. */
export interface PackageTests {
  readonly groups: readonly Group[];
  readonly tests: readonly PackageTest[];
  readonly validation: readonly ValidationCase[];
}

export interface PackageTest {
  readonly meta: TestMeta;
  /** Reads the input and the answer. */
  readonly contents: () => readonly [input: Buffer, answer: Buffer];
  readonly inputValidatorArgs: ArgsByValidator;
}

/** An input or an output for validators, which is no test. */
export interface ValidationCase {
  /** Its path below `data`, without an ending. */
  readonly name: string;
  readonly input: () => Buffer;
  /** Whether input validators must accept the input; null: it is that of a test. */
  readonly isInputValid: boolean | null;
  readonly inputValidatorArgs: ArgsByValidator;
  /** Of a program; null for an invalid input. */
  readonly output: { readonly content: () => Buffer; readonly answer: () => Buffer; readonly isValid: boolean } | null;
  readonly checker: CheckerSpec;
}

/** Reads data/. @throws PackageError for the first fault. */
export function readTests(files: PackageFiles, options: TestOptions): PackageTests {
  const names = namesIn(files, /^data\/((?:sample|secret)\/.+)\.in$/);
  if (!names.some((name) => name.startsWith("secret/"))) throw new PackageError("data/secret", "has no tests");
  for (const path of files.keys())
    if (/^data\/(sample|secret)\/(.+\/)?[^/]+\.files\//.test(path))
      throw new PackageError(path, "files of a test are not supported");
  const read = options.format === "legacy" ? legacyGroups : currentGroups;
  const { settingsOf, groupsOf } = read(files, options);
  const tests = names.map((name): PackageTest => {
    const { group, args, inputValidatorArgs, ...settings } = settingsOf(name);
    const [input, answer] = [contentOf(files, `data/${name}.in`), contentOf(files, `data/${name}.ans`)];
    const size = (ending: string) => sizeOf(files, `data/${name}.${ending}`) ?? 0;
    if (options.validator) checkTogether(`data/${name}.in`, [size("in"), size("ans")]);
    const checker = checkerOf(options, settings);
    const meta = { name, group, points: 0, limits: {}, ...(args.length > 0 && { args }), checker };
    return { meta, contents: () => [input(), answer()], inputValidatorArgs };
  });
  const amounts = Map.groupBy(tests, ({ meta }) => meta.group);
  const groups = groupsOf([...amounts.keys()]);
  const points = new Map(groups.map(({ name, maxScore }) => [name, parts(maxScore, amounts.get(name)?.length ?? 1)]));
  return {
    groups: groups.map(({ maxScore: _, ...group }) => group),
    tests: tests.map((test) => ({
      ...test,
      meta: { ...test.meta, points: points.get(test.meta.group)?.next().value ?? 0 },
    })),
    validation: validationCases(files, options, settingsOf),
  };
}

/** Equal parts with the precision of points; the last one makes their sum exact. */
export function* parts(whole: number, amount: number): Generator<number> {
  const part = rounded(whole / amount);
  for (let i = 1; i < amount; i++) yield part;
  yield rounded(whole - part * (amount - 1));
}

function namesIn(files: PackageFiles, pattern: RegExp): string[] {
  const names = [...files.keys()].flatMap((path) => pattern.exec(path)?.[1] ?? []);
  return names.sort((a, b) => (before(a.split("/"), b.split("/")) ? -1 : 1));
}

/** Of two paths, by their first different part. */
function before(a: readonly string[], b: readonly string[]): boolean {
  const at = a.findIndex((part, place) => part !== b[place]);
  return at >= 0 && (a[at] ?? "") < (b[at] ?? "");
}

function checkerOf(
  { validator, validatorArgs }: TestOptions,
  own: Omit<Settings, "group" | "args" | "inputValidatorArgs">,
) {
  const args = [...validatorArgs, ...own.validatorArgs];
  if (validator?.type === "program") return { ...validator, args };
  const checker = defaultValidator(args);
  if (typeof checker === "string") throw new PackageError(own.path, checker, own.line);
  return checker;
}

function validationCases(
  files: PackageFiles,
  options: TestOptions,
  settingsOf: Groups["settingsOf"],
): readonly ValidationCase[] {
  for (const path of files.keys()) {
    const input = /^(data\/(?:in)?valid_output\/.+)\.(?:out|ans)$/.exec(path)?.[1];
    if (input !== undefined && !files.has(`${input}.in`)) throw new PackageError(`${input}.in`, "is missing");
  }
  const samples = namesIn(files, /^data\/((?:sample|secret)\/.+)\.out$/).filter((name) => files.has(`data/${name}.in`));
  const names = namesIn(files, /^data\/((?:invalid_input|(?:in)?valid_output)\/.+)\.in$/);
  return [...samples, ...names].map((name) => {
    const { inputValidatorArgs, ...settings } = settingsOf(name);
    const [kind = ""] = name.split("/");
    const content = (ending: string) => contentOf(files, `data/${name}.${ending}`);
    const isOfTest = kind === "sample" || kind === "secret";
    return {
      name,
      input: content("in"),
      isInputValid: isOfTest ? null : kind !== "invalid_input",
      inputValidatorArgs,
      output:
        kind === "invalid_input"
          ? null
          : { content: content("out"), answer: content("ans"), isValid: kind !== "invalid_output" },
      checker: checkerOf(options, settings),
    };
  });
}
