import assert from "node:assert/strict";
import { test } from "node:test";
import type { StepReports } from "../../../src/domain/report.ts";
import { newSubmission, type Submission } from "../../../src/domain/submission.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import type { Slot } from "../../../src/sandbox/slot.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { type Artifact, Artifacts, artifactKey } from "../../../src/worker/artifacts.ts";
import { plan } from "../../../src/worker/plan.ts";
import { runSteps } from "../../../src/worker/run-steps.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { useSlot } from "../../support/sandbox/one-slot.ts";

const LIMIT = { timeout: 60_000 };
const languages = loadLanguages(LANGUAGES);
const compiled = languages.list().filter(({ compile }) => compile);
const CALLER = {
  keyId: "key",
  projectId: null,
  requestsPerMinute: 1,
  concurrency: 1,
  executions: 1,
  profiles: ["judge" as const],
  defaultProfile: "judge" as const,
};

let slot: Slot;
let steps: Step[] = [];
useSlot((one) => {
  slot = one;
});

/** Runs a program of an account and records the steps that the slot ran. */
async function judged(
  artifacts: Artifacts,
  name: string,
  code: string,
  stdin = "",
  accountId = "one",
): Promise<StepReports> {
  const language = languages.resolve(name);
  assert.ok(language);
  const request = { language: name, profile: "judge" as const, code, stdin };
  const submission: Submission = newSubmission(request, { ...CALLER, accountId }, Date.now());
  const program = { code: Buffer.from(code), stdin: Buffer.from(stdin) };
  steps = [];
  const recording: Pick<Slot, "run"> = {
    run: (step, onOutput) => {
      steps.push(step);
      return slot.run(step, onOutput);
    },
  };
  return await runSteps(recording, plan(language, languages.limitsFor(language, "judge"), program), {
    cache: {
      owner: submission.accountId,
      get: (compile) => artifacts.get(submission.accountId, artifactKey(submission.language, compile)),
      put: (compile, artifact) =>
        artifacts.put(submission.accountId, artifactKey(submission.language, compile), artifact),
    },
  });
}

/** The outcome without values that differ between two runs of the same program. */
function lasting(reports: StepReports) {
  const { runStats, metrics, evidence, ...outcome } = buildOutcome(reports);
  assert.ok(metrics && evidence);
  const { limits, ...others } = evidence;
  const { cpuUsec, memoryPeakBytes, ...fixed } = limits;
  return { ...outcome, ...others, fixed };
}

test(
  "a program with megabytes of initialized data is compiled once, with the default memory for programs",
  LIMIT,
  async () => {
    const artifacts = new Artifacts(134_217_728);
    for (const [number, data] of [
      [1_000_000, "int memo[1000000] = {0, 1};"],
      [3_800_000, "int memo[3800000] = {0, 1};"],
    ] as const) {
      const code = `#include <cstdio>\n${data}\nint main() { int n; scanf("%d", &n); printf("%d\\n", memo[n] + ${number}); }\n`;
      const amounts: number[] = [];
      for (const n of [0, 1, 2]) {
        const { execute } = await judged(artifacts, "cpp", code, `${n}\n`);
        assert.equal(String(execute?.stdout), `${number + (n === 1 ? 1 : 0)}\n`);
        amounts.push(steps.length);
      }
      assert.deepEqual(amounts, [2, 1, 1]);
    }
  },
);

for (const { name, smokeTest } of compiled) {
  test(
    `${name}: a source that was submitted before is not compiled again, and its outcome is the same`,
    LIMIT,
    async () => {
      const artifacts = new Artifacts(64 * 1_048_576);
      const first = await judged(artifacts, name, smokeTest.code);
      assert.equal(steps.length, 2);
      const second = await judged(artifacts, name, smokeTest.code);
      assert.equal(steps.length, 1);
      assert.equal(second.compileCached, true);
      assert.equal(String(second.execute?.stdout), smokeTest.stdout);
      assert.deepEqual(lasting(second), lasting(first));
      assert.equal(second.compile, (await judged(artifacts, name, smokeTest.code)).compile);
    },
  );
}

test("an artifact serves other input, and no other account", LIMIT, async () => {
  const artifacts = new Artifacts(64 * 1_048_576);
  const echo = "#include <stdio.h>\nint main(void) { for (int c; (c = getchar()) != EOF;) putchar(c); }";
  for (const [stdin, account, ran] of [
    ["one\n", "one", 2],
    ["two\n", "one", 1],
    ["three\n", "two", 2],
    ["four\n", "two", 1],
  ] as const) {
    const { execute } = await judged(artifacts, "c", echo, stdin, account);
    assert.deepEqual([String(execute?.stdout), steps.length], [stdin, ran]);
  }
});

test("the program finds the same files of the same size as after its compilation", LIMIT, async () => {
  const artifacts = new Artifacts(64 * 1_048_576);
  const lists = `#include <dirent.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/statvfs.h>
    int main(void) {
      struct statvfs box;
      statvfs(".", &box);
      printf("%lu %lu %lu\\n", box.f_blocks, box.f_bfree, box.f_ffree);
      fflush(stdout);
      return system("ls -s . && cksum *");
    }`;
  const first = await judged(artifacts, "c", lists);
  const second = await judged(artifacts, "c", lists);
  assert.equal(steps.length, 1);
  assert.match(String(first.execute?.stdout), /main\.c/);
  assert.equal(String(second.execute?.stdout), String(first.execute?.stdout));
});

/** What a compile step can leave, and whether it is cached. */
const LEFT: readonly (readonly [script: string, kept: boolean])[] = [
  ["cp /bin/true run", true],
  ["umask 077; cp /bin/true run; echo text > data", true],
  ["cp /bin/true run; chmod 4755 run", false],
  ["cp /bin/true run; chmod 0 run", true],
  [
    "cp /bin/true run; mkdir closed open empty deep; mkdir deep/er; echo a > closed/file; echo b > deep/er/file; chmod 700 closed; chmod 777 open",
    true,
  ],
  ["cp /bin/true run; mkdir sticky; chmod 1777 sticky", false],
  ["cp /bin/true run; ln -s run link", false],
  ["cp /bin/true run; mkfifo pipe", false],
];

for (const [script, kept] of LEFT) {
  test(`the program may do with the files the same as after its compilation: ${script}`, LIMIT, async () => {
    const language = languages.resolve("c");
    assert.ok(language);
    const program = { code: Buffer.from("int main(void) {}"), stdin: Buffer.alloc(0) };
    const planned = plan(language, languages.limitsFor(language, "judge"), program);
    assert.ok(planned.compile);
    const command = (step: Step, text: string): Step => ({
      ...step,
      command: { env: step.command.env, command: ["/bin/sh", "-c", text] },
    });
    const sees = `find . -mindepth 1 -printf '%M %s %p\\n' 2>&1 | sort
      for file in run data closed/file deep/er/file; do cat $file > /dev/null 2>&1; echo "read $file: $?"; done
      for one in open closed empty deep deep/er; do : > $one/new && echo "new in $one"; done 2> /dev/null
      ./run 2> /dev/null; echo "run: $?"`;
    const steps = { compile: command(planned.compile, script), execute: command(planned.execute, sees) };
    const artifacts = new Artifacts(64 * 1_048_576);
    const owner = {
      owner: "one",
      get: (step: Step) => artifacts.get("one", artifactKey("c", step)),
      put: (step: Step, artifact: Artifact) => artifacts.put("one", artifactKey("c", step), artifact),
    };
    const first = await runSteps(slot, steps, { cache: owner });
    const second = await runSteps(slot, steps, { cache: owner });
    assert.match(String(first.execute?.stdout), /run: \d/);
    assert.equal(second.compileCached === true, kept);
    assert.equal(String(second.execute?.stdout), String(first.execute?.stdout));
  });
}

test("classes with inner classes are kept; a program of more than 16 MiB is compiled each time", LIMIT, async () => {
  const artifacts = new Artifacts(128 * 1_048_576);
  const java = `public class Main {
    record Pair(int a, int b) {}
    public static void main(String[] args) { System.out.println(new Pair(1, 2)); }
  }`;
  await judged(artifacts, "java", java);
  const { execute } = await judged(artifacts, "java", java);
  assert.deepEqual([String(execute?.stdout), steps.length], ["Pair[a=1, b=2]\n", 1]);
  const large = '#include <stdio.h>\nchar data[17000000] = {1};\nint main(void) { printf("%d\\n", data[0]); }';
  for (let time = 0; time < 2; time++) {
    const { execute } = await judged(artifacts, "c", large);
    assert.deepEqual([String(execute?.stdout), steps.length], ["1\n", 2]);
  }
});

test("a source with a compile error is compiled each time", LIMIT, async () => {
  const artifacts = new Artifacts(64 * 1_048_576);
  for (let time = 0; time < 2; time++) {
    const reports = await judged(artifacts, "c", "int main( {");
    assert.deepEqual([buildOutcome(reports).result.cause, steps.length], ["compile_error", 1]);
  }
  assert.equal(artifacts.bytes, 0);
});
