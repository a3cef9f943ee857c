import { PackageError, type PackageFiles } from "./files.ts";
import { TEST_FILES } from "./tests.ts";

/** Files that only people read, also among programs. */
const FOR_PEOPLE = /(^|\/)(README[^/]*|LICENSE[^/]*|[^/]*\.(md|txt|pdf))$/i;
/** Names that an author can write by mistake also match: in another case, or with white space after them. */
const TEST_FILE = /\.(in|ans)\s*$/i;
const GROUP_FILE = /^(test_group|testdata)\.ya?ml$/i;

/**
 * The directories of output validators. Packages in the format legacy often have the directory of the newer format for their only
 * validator, and the systems that run them accept it. Packages in a draft of the newer format can have the directory of the older one.
 */
export const VALIDATORS = {
  legacy: ["output_validators", "output_validator"],
  "2025-09": ["output_validator"],
  draft: ["output_validator", "output_validators"],
} as const;
const GROUP_FILES = { legacy: "testdata.yaml", "2025-09": "test_group.yaml" } as const;

export interface UnreadOptions {
  readonly format: "legacy" | "2025-09";
  /** The version of the format whose files describe the groups of tests. */
  readonly groupFormat: "legacy" | "2025-09";
  /** The directories that an output validator can be in. */
  readonly validators: readonly string[];
  /** Whether the package has an output validator of its own. */
  readonly custom: boolean;
}

/**
 * Finds files that would not be read although their author expects that they change verdicts: parts of the other version of the
 * format, and tests with a mistake in their name or directory. Files that no test would use, such as statements, are no faults.
 * @throws PackageError for the first one.
 */
export function checkUnread(files: PackageFiles, options: UnreadOptions): void {
  for (const path of files.keys()) {
    // A backslash can be meant as a separator, except among submissions, where a file can have any name.
    if (path.includes("\\") && !path.startsWith("submissions/"))
      throw new PackageError(path, "has a backslash in its name");
    const message = validatorFault(path, options) ?? dataFault(path, files, options);
    if (message !== null) throw new PackageError(path, `would not be read: ${message}`);
  }
}

function validatorFault(path: string, { format, validators, custom }: UnreadOptions): string | null {
  const [directory = "", name] = path.split("/");
  const known: readonly string[] = VALIDATORS.legacy;
  if (name === undefined || !known.includes(meant(directory)) || FOR_PEOPLE.test(path)) return null;
  if (!validators.includes(directory)) return `in the format ${format}, the output validator is in ${validators[0]}/`;
  return custom ? null : "problem.yaml has no validation: custom";
}

function dataFault(path: string, files: PackageFiles, { format, groupFormat }: UnreadOptions): string | null {
  if (format !== "legacy" && TEST_FILES.test(path)) return null; // readTests() reads all of them
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  const [data = "", kind = "sample"] = parts.map(meant);
  const [base = "", ending] = split(path);
  const has = (...endings: readonly string[]) => endings.some((one) => files.has(`${base}.${one}`));
  // A test of the newer format can have a name like that of a file of settings.
  const isOfTest = format === "2025-09" && has("in", "ans");
  if (isOfTest && groupFormat === "legacy" && ending === "yaml" && data === "data")
    return "where testdata.yaml has the settings of tests, a test has none of its own";
  const isOther = Object.values(GROUP_FILES).some((one) => one === name && one !== GROUP_FILES[groupFormat]);
  const beside = [...parts, GROUP_FILES[groupFormat]].join("/");
  // Packages whose format names no draft can have the file of an older draft, if it is the only one of its directory.
  const isOfDraft = name === GROUP_FILES.legacy && format === groupFormat && !files.has(beside);
  if (isOther && data === "data" && !isOfTest && !isOfDraft)
    return `in the format ${groupFormat}, settings of tests are in ${GROUP_FILES[groupFormat]}`;
  if (data !== "data" || (kind !== "sample" && kind !== "secret")) return null;
  const isTest = TEST_FILE.test(name);
  const isGroup = GROUP_FILE.test(name);
  if (isTest && parts.length === 1) return "tests are in data/sample/ and data/secret/";
  if ((isTest || isGroup) && (parts[0] !== data || (parts[1] ?? kind) !== kind))
    return `the directory must be ${data}/${kind}/`;
  if (isTest && ending !== "in" && ending !== "ans") return `the ending must be .${meant(ending)}`;
  if (isTest || name === GROUP_FILES[groupFormat] || (isOther && isOfDraft)) return null;
  if (isGroup && !isOfTest) return `in the format ${groupFormat}, settings of tests are in ${GROUP_FILES[groupFormat]}`;
  if (meant(ending) === "out" && parts.length > 1 && !has("in", "ans")) return "there is no test of this name";
  if (format === "legacy" || parts.length === 1) return null;
  if (isOfTest && ending !== "yaml" && /^ya?ml\s*$/i.test(ending)) return "the ending must be .yaml";
  return ending === "yaml" && !isOfTest && !has("interaction", "in.statement") ? "there is no test of this name" : null;
}

function meant(name: string): string {
  return name.trim().toLowerCase();
}

/** A path without the ending of its file, and that ending. */
function split(path: string): readonly [base: string, ending: string] {
  const at = path.lastIndexOf(".");
  return at <= path.lastIndexOf("/") ? [path, ""] : [path.slice(0, at), path.slice(at + 1)];
}
