import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Product, source } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

/** The expected result of each attempt, by the name that the attacking program prints for the attempt. */
export type Way = readonly [probe: string, expected: string | RegExp];

/** Attempts with the same expected result. */
export const all = (expected: string | RegExp, ...probes: string[]): Way[] => probes.map((probe) => [probe, expected]);

/** A property, and every attempt of a program to break it. */
export type Promises = Readonly<Record<string, readonly Way[]>>;

export interface Attack {
  readonly language: string;
  /** The name of a program in test/programs/LANGUAGE/attacks/. */
  readonly program: string;
  readonly stdin?: () => string;
}

/**
 * Runs the attacking program once. It prints a line `attempt: result` for each attempt, and each is a test. A line
 * without an expected result fails.
 */
export function attack(engine: () => Product, { language, program, stdin }: Attack, promises: Promises): void {
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
          assert.ok(result !== undefined, "the program did not make this attempt");
          if (typeof expected === "string") assert.equal(result, expected);
          else assert.match(result, expected);
        });
    });
  test(`every attempt of ${program} in ${language} has an expected result, and its run leaves nothing`, async () => {
    const promised = Object.values(promises).flatMap((ways) => ways.map(([probe]) => probe));
    assert.deepEqual([...(await results()).keys()].toSorted(), promised.toSorted());
  });
}

/** Results by attempt. Checks the record: no missing control, verified clean-up. */
export async function linesOf(
  engine: Product,
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
