import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PACKAGES, type PackageTexts } from "../../support/problems/packages.ts";
import { useProduct } from "../../support/programs/product.ts";
import { importProblem, judge } from "./judged.ts";

const LIMIT = { timeout: 120_000 };

/** Submissions of packages, with the verdict, the score and the points of each group that contains no other group. */
const SUBMISSIONS: readonly [keyof typeof PACKAGES, file: string, verdict: string, score: number, groups: number[]][] =
  [
    ["near", "submissions/accepted/same.py", "AC", 120, [0, 30, 90]],
    ["near", "submissions/partially_accepted/near.py", "AC", 105, [0, 15, 90]],
    ["near", "submissions/partially_accepted/second.py", "WA", 60, [0, 30, 30]],
    ["least", "submissions/accepted/same.py", "AC", 15, [10, 5]],
    ["least", "submissions/near/third.py", "AC", 8.333333, [3.333333, 5]],
  ];

for (const database of ["sqlite", "postgres"] as const)
  describe(`scores of validators in the groups of a problem, on ${database}`, () => {
    const product = useProduct({ workers: 2, database });
    for (const [name, file, verdict, score, groups] of SUBMISSIONS)
      test(`${name}: ${file}`, LIMIT, async () => {
        const texts: PackageTexts = PACKAGES[name];
        const problem = await importProblem(product(), texts, `name=${name}&time_limit=1`);
        const judged = await judge(product(), { language: "python", code: texts[file], problem, stop: "never" });
        assert.deepEqual([judged.verdict, judged.score], [verdict, score], JSON.stringify(judged));
        assert.deepEqual(
          judged.groups
            .filter(({ name }) => !judged.groups.some(({ parent }) => parent === name))
            .map(({ score }) => score),
          groups,
        );
      });
  });
