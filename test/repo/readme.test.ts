import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Command } from "commander";
import { loadConfig } from "../../src/config.ts";
import { AUDIT_ACTIONS } from "../../src/domain/audit.ts";
import { ERRORS } from "../../src/domain/error.ts";
import { type Limits, PROFILE_NAMES, type ProfileName } from "../../src/domain/limits.ts";
import { LIMIT_CAUSES, VERDICTS } from "../../src/domain/outcome.ts";
import { MAX_CODE_BYTES, MAX_STDIN_BYTES } from "../../src/domain/submission.ts";
import { loadLanguages } from "../../src/languages/load.ts";
import { TABLE } from "../../src/verdict/table.ts";
import { codes, prose, ROOT, read, rows, section } from "./documents.ts";

/** What README.md says is compared with what it is about, so that neither changes alone. */
const README = read("README.md");
const languages = loadLanguages(join(ROOT, "languages"));
const STEPS = ["compile", "execute"] as const;

test("the verdict table is that of the code, row by row", () => {
  const internal = { verdict: "IE", cause: "internal_error", actor: "judge" };
  const expected = [internal, ...TABLE].map(({ verdict, cause, actor }) => `${verdict} ${cause} ${actor}`);
  const told = rows(section(README, "Verdicts")).map(([verdict, cause = "", actor]) => {
    return `${verdict} ${codes(cause)[0]} ${actor}`;
  });
  // A fallback of the same meaning has a row in the code only.
  assert.deepEqual(told, [...new Set(expected)]);
});

test("every verdict and every cause is explained", () => {
  const text = section(README, "Verdicts");
  const [, union = ""] = /export type Cause =([^;]+);/.exec(read("src/domain/outcome.ts")) ?? [];
  const plain = [...union.matchAll(/"(\w+)"/g)].map(([, cause = ""]) => cause);
  const causes = [...plain, ...LIMIT_CAUSES, ...LIMIT_CAUSES.map((cause) => `compile_${cause}`)];
  assert.ok(plain.includes("compile_error"));
  for (const cause of causes) assert.ok(codes(text).includes(cause), cause);
  for (const verdict of VERDICTS) assert.match(text, new RegExp(`\\b${verdict}\\b`));
});

test("the languages are those of the data files, with their aliases", () => {
  const told = rows(section(README, "Languages")).map(([name = "", aliases = "", label, source = ""]) => {
    return { name: codes(name)[0], aliases: codes(aliases), label, source: codes(source)[0] };
  });
  const known = languages.list().map(({ name, aliases, label, source }) => ({ name, aliases, label, source }));
  assert.deepEqual(told, known);
});

/** As the tables write it: 15 s, 256 MiB, 4096, none. */
function written(limit: string, value: number | null): string {
  if (value === null) return "none";
  if (limit.endsWith("Ms")) return `${value / 1000} s`;
  if (!limit.endsWith("Bytes")) return String(value);
  const mebibytes = value / (1 << 20);
  return mebibytes % 1024 === 0 ? `${mebibytes / 1024} GiB` : `${mebibytes} MiB`;
}

type Table = Record<ProfileName, Record<(typeof STEPS)[number], Limits>>;
const profiles: Table = JSON.parse(read("languages/profiles.json"));

test("the limits are those of the profiles", () => {
  const table = rows(section(README, "Limits"));
  for (const limit of Object.keys(profiles.judge.execute) as (keyof Limits)[]) {
    const told = table.find(([name = ""]) => codes(name)[0] === limit)?.slice(1);
    const values = PROFILE_NAMES.flatMap((profile) => STEPS.map((step) => profiles[profile][step][limit]));
    assert.deepEqual(
      told,
      values.map((value) => written(limit, value)),
      limit,
    );
  }
});

test("where a language's limits differ, it is told", () => {
  const table = rows(section(README, "Limits"));
  for (const { name, limits } of languages.list()) {
    assert.equal(limits.agent, undefined, "the table is about the profile judge");
    const told = table.find(([first = ""]) => codes(first)[0] === name)?.slice(1);
    const expected = STEPS.map((step) => {
      const changes = Object.entries(limits.judge?.[step] ?? {});
      return changes.map(([limit, { value }]) => `\`${limit}\` ${written(limit, value)}`).join(", ") || "–";
    });
    const sorted = (cells: readonly string[] = []) => cells.map((cell) => cell.split(", ").sort());
    assert.deepEqual(sorted(told), sorted(expected), name);
  }
});

test("every status that a client can get is told, and no other", () => {
  const told = rows(section(README, "The API")).flatMap(([status = ""]) => (/^\d{3}$/.test(status) ? [status] : []));
  const listed = Object.values(ERRORS).map(({ status }) => String(status));
  assert.deepEqual(told, [...new Set(listed)].sort());
  for (const bytes of [MAX_CODE_BYTES, MAX_STDIN_BYTES]) assert.ok(README.includes(bytes.toLocaleString("en")));
});

test("every endpoint is told", () => {
  const pages = [
    { method: "get", path: "/openapi.json" },
    { method: "get", path: "/docs" },
  ];
  const told = codes(section(README, "The API"));
  assert.deepEqual(
    pages.filter(({ path }) => !told.some((code) => code.endsWith(path))),
    [],
  );
  const source = ["submit", "result", "languages", "health"].map((name) => read(`src/http/${name}.ts`)).join("\n");
  const routes = [...source.matchAll(/server\.(get|post)(?:<.*>)?\("([^"]+)"/g)];
  assert.ok(routes.length >= 5);
  for (const [, method = "", path = ""] of routes) {
    const endpoint = `${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")}`;
    assert.ok(told.includes(endpoint), endpoint);
  }
});

test("every setting is told, with its default", () => {
  const table = rows(section(README, "Settings"));
  const told = new Map(table.flatMap(([names = "", value = ""]) => codes(names).map((name) => [name, value] as const)));
  const settings = new Set(read("src/config.ts").match(/\bASSAY_[A-Z_]+\b/g));
  assert.deepEqual([...told.keys()].sort(), [...settings].sort());
  const config = loadConfig({}, {});
  assert.ok(config.listen && "host" in config.listen);
  const defaults = {
    ASSAY_DATA: config.dataDir,
    ASSAY_LISTEN: `${config.listen.host}:${config.listen.port}`,
    ASSAY_MAX_PENDING: String(config.maxPending),
    ASSAY_LEASE_MS: String(config.leaseMs),
    ASSAY_DRAIN_MS: String(config.drainMs),
    ASSAY_RETENTION_DAYS: String((config.retentionMs ?? 0) / 86_400_000),
    ASSAY_LOG_LEVEL: config.logLevel,
  };
  for (const [name, value] of Object.entries(defaults)) {
    assert.equal(told.get(name)?.replace(/ \(.*/, "").replaceAll("`", ""), value, name);
  }
});

test("every command and every option of it is told", async () => {
  const text = section(README, "Commands");
  for (const command of await commands()) {
    assert.match(text, new RegExp(`\`${command.name()}[ \`]`), command.name());
    for (const { long, hidden } of options(command)) {
      if (long && !hidden) assert.match(text, new RegExp(`${long}\\b`), `${command.name()} ${long}`);
    }
  }
});

test("every kind of change in the audit trail is told, and no other", () => {
  const told = codes(prose(section(README, "Accounts, projects and keys"))).filter((code) =>
    /^[a-z]+\.[a-z-]+$/.test(code),
  );
  assert.deepEqual(told, [...AUDIT_ACTIONS]);
});

/** One command per file of src/cli/: what a file exports as somethingCommand makes it. */
async function commands(): Promise<Command[]> {
  const files = readdirSync(join(ROOT, "src/cli")).filter((name) => name.endsWith(".ts"));
  const modules = await Promise.all(files.map((name) => import(join(ROOT, "src/cli", name))));
  const makers = modules.flatMap((module) => Object.entries(module)).filter(([name]) => name.endsWith("Command"));
  const made = makers.map(([, make]) => (make as () => unknown)()).filter((command) => command instanceof Command);
  assert.ok(made.length >= 2);
  return made;
}

function options(command: Command): readonly { long?: string | undefined; hidden?: boolean }[] {
  return [...command.options, ...command.commands.flatMap(options)];
}

test("every package that set-up may install is told", () => {
  const text = codes(section(README, "What set-up changes"));
  const packages = [
    read("setup/packages"),
    read("setup/packages-release"),
    read("setup/packages-test"),
    read("setup/packages-full"),
    read("setup/packages-long"),
  ]
    .flatMap((file) => file.split("\n"))
    .filter((line) => /^[a-z]/.test(line))
    .map((line) => line.split(" ")[0] ?? "");
  assert.ok(packages.length > 3);
  for (const name of [...packages, "npm"]) assert.ok(text.includes(name), name);
});

test("docs/security.md says of every control where it is read", () => {
  const source = readdirSync(join(ROOT, "launcher"))
    .filter((name) => name.endsWith(".c"))
    .map((name) => read(`launcher/${name}`))
    .join("\n");
  const noted = [...source.matchAll(/control_note\([^,]+, "(\w+)"|\{"\w+", "(\w+_namespace)"\}/g)];
  const controls = noted.map(([, single, namespace]) => single ?? namespace ?? "");
  assert.ok(controls.length >= 14, `found ${controls}`);
  const table = rows(section(read("docs/security.md"), "How far the evidence can be trusted"));
  const told = table.flatMap(([names = ""]) => codes(names));
  for (const control of controls) assert.ok(told.includes(control), control);
});
