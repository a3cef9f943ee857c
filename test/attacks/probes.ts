import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Engine, source } from "../engine/engine.ts";
import { checked } from "../engine/record.ts";

/** How to try it, in plain words and as the attacker's program names it, and what must come of it. */
export type Way = readonly [probe: string, expected: string | RegExp];

/** The same must come of all of them. */
export const all = (expected: string | RegExp, ...probes: string[]): Way[] => probes.map((probe) => [probe, expected]);

/** One promise, and every way to break it that its program tries. */
export type Promises = Readonly<Record<string, readonly Way[]>>;

export interface Attack {
  readonly language: string;
  /** In test/programs/LANGUAGE/attacks/. */
  readonly program: string;
  readonly stdin?: () => string;
}

/**
 * Runs the attacker's program once. It prints a line `way: result` for each thing that it tries; each is a test
 * of its own, and a line of which nobody has said what it must be fails.
 */
export function attack(engine: () => Engine, { language, program, stdin }: Attack, promises: Promises): void {
  let running: Promise<Map<string, string>> | undefined;
  const results = () => {
    running ??= linesOf(engine(), language, program, stdin?.() ?? "");
    return running;
  };
  for (const [promise, ways] of Object.entries(promises))
    describe(`${promise} (${language})`, () => {
      for (const [probe, expected] of ways)
        test(probe, async () => {
          const result = (await results()).get(probe);
          assert.ok(result !== undefined, "the program did not try it");
          if (typeof expected === "string") assert.equal(result, expected);
          else assert.match(result, expected);
        });
    });
  test(`whatever ${program} tries in ${language} is promised something, and its run leaves nothing`, async () => {
    const promised = Object.values(promises).flatMap((ways) => ways.map(([probe]) => probe));
    assert.deepEqual([...(await results()).keys()].toSorted(), promised.toSorted());
  });
}

/** Results by the name of the way. The record is checked: no control missing, clean-up verified. */
export async function linesOf(
  engine: Engine,
  language: string,
  program: string,
  stdin: string,
): Promise<Map<string, string>> {
  const { result, output } = checked(await engine.run(language, source(language, `attacks/${program}`), { stdin }));
  assert.equal(result.verdict, "AC", JSON.stringify({ result, output }));
  const lines = output.stdout.trimEnd().split("\n");
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(":");
      return [line.slice(0, at), line.slice(at + 1).trim()];
    }),
  );
}
