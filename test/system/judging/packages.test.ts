import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CMS } from "../../support/problems/foreign-packages.ts";
import { GRADED, PACKAGES } from "../../support/problems/packages.ts";
import { useProduct } from "../../support/programs/product.ts";
import { importProblem, judge, verdicts } from "./judged.ts";

const LIMIT = { timeout: 120_000 };

for (const database of ["sqlite", "postgres"] as const)
  describe(`parts of packages in a service, on ${database}`, () => {
    const product = useProduct({ workers: 2, database });

    test("a program finds the files of its test, compiled or not, and they replace its own", LIMIT, async () => {
      const problem = await importProblem(product(), PACKAGES.filed, "name=filed&time_limit=1");
      for (const [language, file] of [
        ["python", "submissions/accepted/open.py"],
        ["cpp", "submissions/accepted/open.cpp"],
      ] as const) {
        const judged = await judge(product(), { language, code: PACKAGES.filed[file], problem });
        assert.deepEqual(verdicts(judged), ["AC", "AC"], JSON.stringify(judged));
      }
      const own = { "main.py": "print(open(input()).read())\n", "number.txt": "6\n" };
      const judged = await judge(product(), { language: "python", entry: "main.py", files: own, problem });
      assert.equal(judged.verdict, "AC");
    });

    test("a submission of answers has a verdict for each test, and a missing answer is wrong", LIMIT, async () => {
      const problem = await importProblem(product(), PACKAGES.answered, "name=answered");
      const on = (files: Readonly<Record<string, string>>, more: object = {}) =>
        judge(product(), { language: "plaintext", files, problem, stop: "never", ...more });
      const all = await on({ "secret/1.out": "40", "secret/2 b.out": "45" });
      assert.deepEqual([all.verdict, all.score], ["AC", 75], JSON.stringify(all));
      const { json } = await product().ask("GET", `/api/result/${all.runs[1]?.submission_id}`);
      const { output, evidence } = json as { output: { stdout: string }; evidence: { isolation: { mode: string } } };
      assert.deepEqual([output.stdout, evidence.isolation.mode], ["45", "strict"]);
      const one = await on({ "secret/1.out": "40", "1.out": "50" });
      assert.deepEqual([one.verdict, one.score, verdicts(one)], ["WA", 50, ["AC", "WA"]]);
      assert.equal(one.runs[1]?.message, "the submission has no file secret/2 b.out");
      // The text of a source is no answer, and neither are arguments or limits a way to another file.
      const none = await on({ "2.out": "50" }, { entry: "2.out", args: ["/etc/passwd"] });
      assert.deepEqual([none.score, verdicts(none)], [0, ["WA", "WA"]]);
      const { status, json: refused } = await product().ask("POST", "/api/judgements", {
        ...{ language: "python", code: "print(40)\n", problem },
      });
      assert.equal(status, 400);
      assert.match(JSON.stringify(refused), /the problem permits only plaintext/);
      const again = await product().ask("POST", `/api/judgements/${all.id}/rejudge`);
      assert.equal(again.status, 202, JSON.stringify(again.json));
    });

    test("a grader gives the points of its groups after the tests, and has a record of its run", LIMIT, async () => {
      const problem = await importProblem(product(), GRADED, "name=graded&time_limit=1");
      const on = (file: string) => judge(product(), { language: "python", code: GRADED[file], problem, stop: "never" });
      for (const [file, verdict, score] of [
        ["submissions/accepted/increment.py", "AC", 41],
        ["submissions/partially_accepted/positive.py", "WA", 11],
        ["submissions/wrong_answer/none.py", "WA", 0],
      ] as const) {
        const judged = await on(file);
        assert.deepEqual([judged.verdict, judged.score], [verdict, score], JSON.stringify(judged));
        assert.equal(judged.grader?.message, null);
        const { json } = await product().ask("GET", `/api/result/${judged.grader?.submission_id}`);
        const { output, result } = json as { output: { stdout: string }; result: { verdict: string } };
        assert.deepEqual([result.verdict, /^(AC|WA) [\d.]+\n$/.test(output.stdout)], ["AC", true]);
        // No record has the program of the grader.
        assert.doesNotMatch(JSON.stringify(json), /sys\.argv/);
      }
    });

    test("a grader that gives no result is an error of the judge with its reason", LIMIT, async () => {
      const limited = "name: Nested\ntype: scoring\nlimits: {validation_time: 1}\n";
      for (const [name, code, message] of [
        ["crashes", "raise SystemExit('no result')\n", /^the grader ends as RE for secret: .*no result$/],
        ["endless", "while True: pass\n", /^the grader ends as TLE for secret: /],
        ["many", "print('AC 1' * 3000000)\n", /^the grader writes no verdict with a score for secret: AC 1AC 1/],
        ["much", "print('AC 1000001')\n", /^the grader gives 1000001 points for secret/],
      ] as const) {
        const texts = { ...GRADED, "problem.yaml": limited, "graders/best/best.py": code };
        const problem = await importProblem(product(), texts, `name=graded-${name}&time_limit=1`);
        const right = GRADED["submissions/accepted/increment.py"];
        const judged = await judge(product(), { language: "python", code: right, problem, stop: "never" });
        assert.deepEqual([judged.status, judged.verdict, judged.score], ["error", "IE", 0], JSON.stringify(judged));
        assert.match(judged.grader?.message ?? "", message);
      }
    });

    test("answers to a task of CMS have the names of CMS", LIMIT, async () => {
      const task = { ...CMS, "task.yaml": `${CMS["task.yaml"]}output_only: true\n` };
      const problem = await importProblem(product(), task, "name=output-only");
      const files = Object.fromEntries([50, 60, 70, 81, 90].map((answer, at) => [`output_00${at}.txt`, `${answer}\n`]));
      const judged = await judge(product(), { language: "plaintext", files, problem, stop: "never" });
      // Of the last subtask, one answer is nearly right.
      assert.deepEqual([judged.verdict, judged.score], ["AC", 70], JSON.stringify(judged));
    });
  });
