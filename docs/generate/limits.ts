import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Limits, PROFILE_NAMES, type ProfileName } from "../../src/domain/limits.ts";
import { loadLanguages } from "../../src/languages/load.ts";
import { loadPack, packNames } from "../../src/languages/packs.ts";
import { code, table } from "./table.ts";

const DATA = resolve(import.meta.dirname, "../../languages");
const STEPS = ["compile", "execute"] as const;
const NOTES: Partial<Record<keyof Limits, string>> = {
  processes: " (including threads)",
  fileBytes: " (largest file)",
  workBytes: " (`/box`)",
  workInodes: " (`/box`)",
  tmpBytes: " (`/tmp`; `/dev/shm` has the same size)",
  stdoutBytes: " (kept)",
  stderrBytes: " (kept)",
};

type Profiles = Record<ProfileName, Record<(typeof STEPS)[number], Limits>>;
const profiles: Profiles = JSON.parse(readFileSync(join(DATA, "profiles.json"), "utf8"));
const languages = () =>
  loadLanguages(DATA)
    .list()
    .filter(({ unlisted }) => !unlisted);

/** The limits of both profiles, step by step. */
export function limits(): string {
  const columns = PROFILE_NAMES.flatMap((profile) => STEPS.map((step) => ({ profile, step })));
  const head = ["limit", ...columns.map(({ profile, step }) => `${code(profile)} ${step}`)];
  const names = Object.keys(profiles.judge.execute) as (keyof Limits)[];
  return table(
    head,
    names.map((name) => [
      `${code(name)}${NOTES[name] ?? ""}`,
      ...columns.map(({ profile, step }) => written(name, profiles[profile][step][name])),
    ]),
  );
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
