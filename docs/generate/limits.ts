import { resolve } from "node:path";
import { DEFAULT_SOURCE_BYTES } from "../../src/domain/ceilings.ts";
import type { StepOverrides } from "../../src/domain/language.ts";
import {
  LIMIT_NAMES,
  LIMITS,
  type LimitName,
  type LimitRow,
  type Limits,
  PROFILE_NAMES,
  type ProfileName,
} from "../../src/domain/limits.ts";
import { judgementDefaults, loadLanguages, profileLimits } from "../../src/languages/load.ts";
import { loadPack, packNames } from "../../src/languages/packs.ts";
import { code, table } from "./table.ts";

const DATA = resolve(import.meta.dirname, "../../languages");
const STEPS = ["compile", "execute"] as const;
type Profiles = Record<ProfileName, Record<(typeof STEPS)[number], Limits>>;
const profiles = Object.fromEntries(
  PROFILE_NAMES.map((profile) => [profile, profileLimits(DATA, profile)]),
) as Profiles;
const languages = () =>
  loadLanguages(DATA)
    .list()
    .filter(({ unlisted }) => !unlisted);

/**
 * All limits: those of the profiles, the defaults of judgements and their ceilings. A cell has the value of the compile step, then that of the
 * execute step.
 */
export function limits(): string {
  const { run, checker, ceilings } = judgementDefaults(DATA);
  const both = (cell: (step: (typeof STEPS)[number]) => string) => {
    const [compile, execute] = STEPS.map(cell);
    return compile === execute ? `${compile}` : `${compile}, ${execute}`;
  };
  const rows = LIMIT_NAMES.map((name) => {
    const { field } = LIMITS[name] as LimitRow;
    const inProfile = (profile: ProfileName) => both((step) => written(name, profiles[profile][step][name]));
    const stated = (changes: StepOverrides, other: (step: (typeof STEPS)[number]) => string) =>
      both((step) => {
        const value = changes[step]?.[name]?.value;
        return value === undefined ? other(step) : written(name, value);
      });
    return [
      `${code(name)}${noteOf(name)}`,
      ...PROFILE_NAMES.map(inProfile),
      stated(run, () => "profile"),
      stated(checker, (step) => written(name, profiles.judge[step][name])),
      field ? stated(ceilings, () => "profile") : "profile",
      field ? code(field.name) : "–",
    ];
  });
  const source = [
    "source of the program",
    "64 KiB",
    "64 KiB",
    `${DEFAULT_SOURCE_BYTES / 1_024} KiB`,
    `${DEFAULT_SOURCE_BYTES / 1_024} KiB`,
    `${DEFAULT_SOURCE_BYTES / 1_024} KiB`,
    code("source_bytes"),
  ];
  const head = ["limit", ...PROFILE_NAMES.map(code), "run of a test", "checker", "ceiling", "name"];
  return table(head, [...rows, source]);
}

function noteOf(name: LimitName): string {
  const { note } = LIMITS[name] as LimitRow;
  return note === undefined ? "" : ` (${note})`;
}

/** The limits that languages change, by language and profile. */
export function languageLimits(): string {
  const rows = languages().flatMap(({ name, limits }) =>
    PROFILE_NAMES.flatMap((profile) => {
      const steps = limits[profile];
      if (steps === undefined) return [];
      const cells = STEPS.map((step) => {
        const changes = Object.entries(steps[step] ?? {});
        return changes.map(([limit, { value }]) => `${code(limit)} ${written(limit, value)}`).join(", ") || "–";
      });
      return [[code(name), code(profile), ...cells]];
    }),
  );
  return table(["language", "profile", ...STEPS], rows);
}

/** The languages by the names that a request may use. */
export function languageTable(): string {
  return table(
    ["name", "aliases", "toolchain", "source file"],
    languages().map(({ name, aliases, label, source }) => {
      return [code(name), aliases.map(code).join(", ") || "–", label, code(source)];
    }),
  );
}

/** The language packs, with what their layers install. */
export function packTable(): string {
  return table(
    ["name", "aliases", "toolchain", "source file", "packages"],
    packNames(DATA).map((name) => {
      const { aliases, label, source, packages, npm, pypi } = loadPack(DATA, name);
      const installed = [...packages, ...new Set([...npm, ...pypi].map(({ name: from }) => from))];
      return [
        code(name),
        aliases.map(code).join(", ") || "–",
        label,
        code(source),
        installed.map(code).join(", ") || "–",
      ];
    }),
  );
}

/** The value of a limit with its unit, such as 15 s, 256 MiB, 4,096 or none. */
function written(limit: string, value: number | null): string {
  if (value === null) return "none";
  if (limit.endsWith("Ms")) return `${value / 1000} s`;
  if (!limit.endsWith("Bytes")) return value.toLocaleString("en");
  const mebibytes = value / (1 << 20);
  return mebibytes % 1024 === 0 ? `${mebibytes / 1024} GiB` : `${mebibytes} MiB`;
}
