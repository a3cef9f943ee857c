import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FRAMES, KEYS, PROTOCOL_VERSION, UNLIMITED } from "../../../src/sandbox/protocol.ts";
import { environment } from "../../support/launcher/launcher.ts";

interface Described {
  readonly protocol: number;
  readonly frames: Record<string, { number: number; direction: string }>;
  readonly keys: Record<
    string,
    { number: number; type: string; frame: string; count: string; smallest: string; largest: string }
  >;
}

const described: Described = JSON.parse(
  execFileSync(environment("ASSAY_TEST_LAUNCHER"), ["--describe"], { encoding: "utf8" }),
);
const text = readFileSync(new URL("../../../launcher/PROTOCOL.md", import.meta.url), "utf8");

/** "STD{OUT,ERR}_SEEN" is STDOUT_SEEN and STDERR_SEEN. */
function expanded(name: string): string[] {
  const [, before = "", choices, after = ""] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(name) ?? [];
  return choices === undefined
    ? [name]
    : choices.split(",").flatMap((choice) => expanded(after).map((rest) => before + choice + rest));
}

/**
 * Rows of the tables of frames and keys: number, name and the other cells. A row with braces in its name has a range of
 * numbers.
 */
function* rows(section: string): Generator<[number, string, ...string[]]> {
  for (const line of section.split("\n")) {
    const cells = line.split("|").map((cell) => cell.trim());
    const [, first, last] = /^(\d+)(?: \.\. (\d+))?$/.exec(cells[1] ?? "") ?? [];
    const [, name] = /^`([A-Z_{,}]+)`$/.exec(cells[2] ?? "") ?? [];
    if (!first || !name) continue;
    const names = expanded(name);
    assert.equal(Number(last ?? first) - Number(first) + 1, names.length, name);
    assert.ok(cells.at(-2), `${name} has no meaning`);
    for (const [i, each] of names.entries()) yield [Number(first) + i, each, ...cells.slice(3, -1)];
  }
}

/** Type, count and range of a key: "bytes, many, 1 .. 64 KiB", each with a default. */
function value(cell: string) {
  const words = cell.split(", ").filter(Boolean);
  const take = (known: RegExp, otherwise: string) =>
    known.test(words[0] ?? "") ? (words.shift() as string) : otherwise;
  const type = take(/^bytes$/, "int");
  const count = take(/^(optional|many)$/, "one");
  const [smallest, largest] = take(/ \.\. /, "0 .. unlimited")
    .split(" .. ")
    .map(amount);
  assert.deepEqual(words, [], cell);
  return { type, count, smallest, largest };
}

function section(title: string): string {
  const found = text.split(/^## /m).find((part) => part.startsWith(title));
  assert.ok(found, `PROTOCOL.md has a section "${title}"`);
  return found;
}

/** "64 KiB" as the number that the launcher prints. */
function amount(amountText: string): string {
  if (amountText === "unlimited") return UNLIMITED.toString();
  const [, number, unit] = /^(\d+)(?: ([KMG])iB)?$/.exec(amountText) ?? assert.fail(`"${amountText}" is not an amount`);
  const shift = { K: 10n, M: 20n, G: 30n }[unit ?? ""] ?? 0n;
  return (BigInt(number as string) << shift).toString();
}

test("the document lists the launcher's frames", () => {
  const documented = [...rows(section("Frames"))].map(([number, name, direction]) => {
    return [name, { number, direction: direction?.replace(" ", "_") }];
  });
  assert.deepEqual(Object.fromEntries(documented), described.frames);
});

test("the document lists the launcher's keys by frame, with type, count and range", () => {
  const documented = Object.keys(described.frames)
    .filter((frame) => text.includes(`\n## ${frame}: `))
    .flatMap((frame) =>
      [...rows(section(`${frame}: `))].map(
        ([number, name, cell = ""]) => [name, { number, frame, ...value(cell) }] as const,
      ),
    );
  assert.equal(new Set(documented.map(([name]) => name)).size, documented.length, "a key is listed twice");
  assert.deepEqual(Object.fromEntries(documented), described.keys);
});

test("the service's table equals the launcher's frames and keys", () => {
  const numbers = Object.entries(described.frames).map(([name, { number }]) => [name, number]);
  const keys = Object.entries(described.keys).map(([name, { smallest, largest, ...key }]) => [name, key]);
  assert.deepEqual(FRAMES, Object.fromEntries(numbers));
  assert.deepEqual(KEYS, Object.fromEntries(keys));
});

test("no frame number and no key number is used twice", () => {
  for (const list of [described.frames, described.keys]) {
    const numbers = Object.values(list).map(({ number }) => number);
    assert.equal(new Set(numbers).size, numbers.length);
  }
});

test("document, launcher and service have the same version", () => {
  assert.equal(PROTOCOL_VERSION, described.protocol);
  assert.match(text, new RegExp(`version ${described.protocol} of the protocol\\.`));
});

test("the document lists exactly the reasons for which the launcher refuses a request", () => {
  const sources = ["wire.c", "slot-wire.c"].map((name) =>
    readFileSync(new URL(`../../../launcher/${name}`, import.meta.url), "utf8"),
  );
  const inSource = sources.flatMap((source) =>
    [...source.matchAll(/refuse\(\w+, "([^"]+)"/g)].map(([, reason]) => reason),
  );
  const documented = section("REFUSED: ")
    .split("\n")
    .map((line) => line.split("|")[1]?.trim() ?? "")
    .filter((cell) => cell && !/^(\d+|Number|Reason|-+:?|:?-+)$/.test(cell));
  assert.deepEqual([...new Set(documented)].sort(), [...new Set(inSource)].sort());
});
