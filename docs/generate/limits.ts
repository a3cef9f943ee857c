import { resolve } from "node:path";
import {
  LIMIT_NAMES,
  LIMITS,
  type LimitName,
  type LimitRow,
  type Limits,
  PROFILE_NAMES,
  type ProfileName,
} from "../../src/domain/limits.ts";
import { loadLanguages, profileLimits } from "../../src/languages/load.ts";
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

/** The limits of both profiles, step by step. */
export function limits(): string {
  const columns = PROFILE_NAMES.flatMap((profile) => STEPS.map((step) => ({ profile, step })));
  const head = ["limit", ...columns.map(({ profile, step }) => `${code(profile)} ${step}`)];
  return table(
    head,
    LIMIT_NAMES.map((name) => [
      `${code(name)}${noteOf(name)}`,
      ...columns.map(({ profile, step }) => written(name, profiles[profile][step][name])),
    ]),
  );
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
      const { aliases, label, source, packages, npm } = loadPack(DATA, name);
      const installed = [...packages, ...new Set(npm.map(({ name: from }) => from))];
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
