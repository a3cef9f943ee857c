import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { assayWithin, NOBODY } from "../../support/cli/processes.ts";
import { PACKAGES, type PackageTexts } from "../../support/problems/packages.ts";
import { useProduct } from "../../support/programs/product.ts";
import { importProblem, judge, verdicts, zip } from "./judged.ts";

const LIMIT = { timeout: 120_000 };
const product = useProduct({ workers: 2, moreSlots: 1 });

const imported = (texts: PackageTexts, query: string) => importProblem(product(), texts, query);

/** Judges a submission of a package as `./assay judge` does, with the launcher of the test. */
async function judgedLocally(t: TestContext, texts: PackageTexts, file: string) {
  const directory = mkdtempSync(join(tmpdir(), "assay-problem-"));
  t.after(() => rmSync(directory, { recursive: true }));
  chmodSync(directory, 0o755);
  const [archive, program] = [join(directory, "x.zip"), join(directory, file.split("/").at(-1) ?? "")];
  writeFileSync(archive, zip(texts));
  writeFileSync(program, texts[file] ?? "");
  const within = ["setpriv", "--reuid", `${NOBODY}`, "--regid", `${NOBODY}`, "--clear-groups", "--"];
  const socket = product().launcher.socket;
  const args = ["judge", program, "--problem", archive, "--json", "--launcher-socket", socket];
  const { stdout, stderr, code } = await assayWithin(within, "", ...args);
  assert.notEqual(stdout, "", stderr);
  return { ...(JSON.parse(stdout) as { verdict: string; score: number }), code };
}

test("submissions on an imported problem have the verdicts and points of its package", LIMIT, async (t) => {
  const { factors } = PACKAGES;
  const problem = await imported(factors, "name=factors");
  const on = (language: string, file: string) =>
    judge(product(), { language, code: factors[file], problem, stop: "never" });
  const right = await on("cpp", "submissions/accepted/search.cpp");
  assert.deepEqual([right.verdict, right.score], ["AC", 100]);
  const half = await on("python", "submissions/half/one.py");
  assert.deepEqual([half.verdict, half.score], ["AC", 65]);
  const wrong = await on("python", "submissions/wrong_answer/zero.py");
  assert.deepEqual([wrong.verdict, wrong.score, wrong.runs[0]?.message], ["WA", 0, "not its factors"]);
  const locally = await judgedLocally(t, factors, "submissions/half/one.py");
  assert.deepEqual(locally.score, 65);
  assert.equal(locally.code, 0);
});

test("a part of the points in a group that can only pass or fail is an error of the judge", LIMIT, async () => {
  const group = "data/secret/1-small/test_group.yaml";
  const texts: PackageTexts = {
    ...PACKAGES.factors,
    [group]: `${PACKAGES.factors[group]}output_validator_args: [parts]\n`,
  };
  const problem = await imported(texts, "name=parts");
  const code = texts["submissions/half/one.py"];
  const judged = await judge(product(), { language: "python", code, problem, stop: "never" });
  assert.deepEqual(verdicts(judged).slice(0, 2), ["AC", "IE"]);
  assert.match(judged.runs[1]?.message ?? "", /can only be accepted or rejected$/);
});

test("the time limit of the import holds", LIMIT, async () => {
  const { sum } = PACKAGES;
  const problem = await imported(sum, "name=sum&time_limit=0.5");
  const code = sum["submissions/time_limit_exceeded/waits.py"];
  const slow = await judge(product(), { language: "python", code, problem });
  assert.deepEqual([slow.verdict, verdicts(slow)[0]], ["TLE", "TLE"]);
  const { json } = await product().ask("GET", `/api/result/${slow.runs[0]?.submission_id}`);
  const { cpu_time_secs: used } = (json as { metrics: { cpu_time_secs: number } }).metrics;
  // The limit is that of the import: the profile's is 4 s.
  assert.ok(used >= 0.5 && used < 2, `${used} s`);
});

test("a judgement on a faulty version is an internal error with its first fault, and nothing runs", LIMIT, async () => {
  const init = "checker: near.py\npoints: 5\ntest_cases: [{in: a, out: a}, {in: a, out: a}]\n";
  const texts: PackageTexts = { "init.yml": init, a: "1\n" };
  const problem = await imported(texts, "name=faulty&time_limit=1&allow_faults=true");
  const on = (more: object) => judge(product(), { language: "python", code: "print(1)", problem, ...more });
  for (const stop of ["first_failure", "never", "group"]) {
    const { status, verdict, score, runs } = await on({ stop });
    assert.deepEqual([status, verdict, score], ["error", "IE", 0], stop);
    assert.deepEqual(
      runs.map(({ verdict, message }) => [verdict, message]),
      [
        ["IE", "the version of the problem is faulty: init.yml:3: checker: near.py is not in the package"],
        [null, null],
      ],
    );
    const { json } = await product().ask("GET", `/api/result/${runs[0]?.submission_id}`);
    const { status: state, metrics, evidence } = json as { status: string; metrics: object; evidence: unknown };
    assert.deepEqual([state, new Set(Object.values(metrics)), evidence], ["error", new Set([null]), null]);
  }
  const old = await on({});
  const mended = await imported(
    { ...texts, "near.py": "def check(*_, **__): return True\n" },
    "name=faulty&time_limit=1",
  );
  assert.equal(mended, problem);
  assert.equal((await on({})).verdict, "AC");
  assert.equal((await on({ problem_version: 1 })).verdict, "IE");
  const again = await product().ask("POST", `/api/judgements/${old.id}/rejudge`);
  const rejudged = await product().ask("GET", `/api/judgements/${(again.json as { id: string }).id}?wait=true`);
  assert.equal((rejudged.json as { verdict: string }).verdict, "IE");
});
