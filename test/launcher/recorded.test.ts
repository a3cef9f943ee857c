import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { arch, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { answer, brokenRule, type Filter, filterOf } from "./filter.ts";
import { CALLS_FILE, type Made, recordAll, usedBy } from "./recorded.ts";

/**
 * What is allowed is used, and what is used is allowed. The list of both is calls.json; `node test/launcher/recorded.ts`,
 * with the variables of `assay test`, writes what is used anew.
 */
const list = JSON.parse(readFileSync(CALLS_FILE, "utf8")) as {
  /** Programs by call, on x86-64. */
  readonly used: Readonly<Record<string, readonly string[]>>;
  /** Allowed, though no recorded program uses it: why. */
  readonly kept: Readonly<Record<string, string>>;
  /** Used by some program or by none, as time will have it: why. */
  readonly sometimes: Readonly<Record<string, string>>;
  /** Used and refused: how programs get on. By call, or call and argument where a rule refuses it. */
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

describe("the calls of compilers and usual programs, recorded without a filter", () => {
  test("each is allowed with its arguments, or the list says how the program gets on without it", () => {
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

  test("each allowed call is used by a program, or the list says why it is kept", () => {
    const used = new Set([...recorded.values()].flatMap((calls) => calls.map(({ name }) => name)));
    const unused = filter.allowed
      .filter(([name, number]) => number >= 0 && !used.has(name) && !list.sometimes[name])
      .map(([name]) => name);
    const kept = Object.keys(list.kept).filter((name) => filter.allowed.some(([other, n]) => other === name && n >= 0));
    assert.deepEqual(unused.toSorted(), kept.toSorted());
  });

  test("the list names the programs that use each call", { skip: arch() !== "x64" && "the list is of x86-64" }, () => {
    const [now, then] = [usedBy(recorded), list.used];
    const steady = (used: object) => Object.keys(used).filter((name) => !list.sometimes[name]);
    assert.deepEqual(steady(now), steady(then));
    // The order of threads decides about some; none has lost all of its programs.
    for (const [name, programs] of Object.entries(then))
      if (!list.sometimes[name])
        assert.ok(
          programs.some((program) => now[name]?.includes(program)),
          name,
        );
  });
});
