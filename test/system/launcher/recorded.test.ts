import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { arch, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { answer, brokenRule, type Filter, filterOf } from "./filter.ts";
import { CALLS_FILE, type Made, recordAll, usedBy } from "./recorded.ts";

/**
 * Every allowed call is used, and every used call is allowed. calls.json lists both, with exceptions. To update its
 * recorded part, run `node test/system/launcher/recorded.ts` with the variables of `assay test`.
 */
const list = JSON.parse(readFileSync(CALLS_FILE, "utf8")) as {
  /** Programs by call, on x86-64. */
  readonly used: Readonly<Record<string, readonly string[]>>;
  /** The reasons for allowed calls that no recorded program uses. */
  readonly unused: Readonly<Record<string, string>>;
  /** The reasons for calls that are used in some runs only, depending on timing. */
  readonly sometimes: Readonly<Record<string, string>>;
  /** How programs cope with refused calls, by call, or by call and argument if a rule refuses it. */
  readonly refused: Readonly<Record<string, string>>;
};
let filter: Filter;
let recorded: ReadonlyMap<string, readonly Made[]>;

before(
  () => {
    const directory = mkdtempSync(join(tmpdir(), "assay-recorded-"));
    after(() => rmSync(directory, { recursive: true }));
    filter = filterOf({ compiler: "gcc", run: [] }, directory);
    recorded = recordAll();
  },
  { timeout: 300_000 },
);

describe("the calls of compilers and typical programs, recorded without a filter", () => {
  test("each is allowed with its arguments, or listed as refused", () => {
    const numbers = new Map(filter.allowed);
    const refused = new Set<string>();
    for (const calls of recorded.values())
      for (const { name, args } of calls) {
        const number = numbers.get(name);
        if (number === undefined) refused.add(name);
        else if (answer(filter, { arch: filter.arch, number, args }) > 0)
          refused.add(`${name} 0x${args[brokenRule(filter, { number, args })?.argument ?? 0]?.toString(16)}`);
      }
    assert.deepEqual([...refused].toSorted(), Object.keys(list.refused).toSorted());
  });

  test("each allowed call is used by a program, or listed with the reason to keep it", () => {
    const used = new Set([...recorded.values()].flatMap((calls) => calls.map(({ name }) => name)));
    const unused = filter.allowed
      .filter(([name, number]) => number >= 0 && !used.has(name) && !list.sometimes[name])
      .map(([name]) => name);
    const listed = Object.keys(list.unused).filter((name) =>
      filter.allowed.some(([other, n]) => other === name && n >= 0),
    );
    assert.deepEqual(unused.toSorted(), listed.toSorted());
  });

  test("the list names the programs that use each call", { skip: arch() !== "x64" && "the list is for x86-64" }, () => {
    const [now, then] = [usedBy(recorded), list.used];
    const steady = (used: object) => Object.keys(used).filter((name) => !list.sometimes[name]);
    assert.deepEqual(steady(now), steady(then));
    // For some calls the programs depend on the order of threads, but each must still have one of its programs.
    for (const [name, programs] of Object.entries(then))
      if (!list.sometimes[name])
        assert.ok(
          programs.some((program) => now[name]?.includes(program)),
          name,
        );
  });
});
