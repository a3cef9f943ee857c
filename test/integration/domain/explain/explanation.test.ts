import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT_CAUSES, RULES } from "../../../../src/domain/causes.ts";
import { explain } from "../../../../src/domain/explain/explanation.ts";
import { internalError } from "../../../../src/domain/outcome.ts";
import { type SubmissionRecord, toRecord } from "../../../../src/domain/record.ts";
import { newSubmission } from "../../../../src/domain/submission.ts";
import type { Plan } from "../../../../src/worker/plan.ts";
import { runStats } from "../../../../src/worker/run-stats.ts";
import { ENDS, ended, recordOf } from "../../../support/domain/explain/records.ts";
import { LIMITS } from "../../../support/sandbox/steps.ts";
import { report } from "../../../support/verdict/reports.ts";

/** The complete text of the explanation. */
function wordsOf(record: SubmissionRecord): string {
  const explanation = explain(record);
  assert.ok(explanation);
  const { title, text, whyNot } = explanation;
  for (const one of [title, text, ...whyNot.map((why) => why.text)])
    assert.doesNotMatch(one, /undefined|null|NaN| {2}|\s$/, JSON.stringify(explanation));
  assert.ok(whyNot.length >= 2 && whyNot.every(({ verdict }) => verdict !== record.result.verdict));
  return `${title}. ${text} ${whyNot.map((why) => `Not ${why.verdict}: ${why.text}`).join(" ")}`;
}

const theEnd = ({ result: { verdict, cause, actor } }: SubmissionRecord) => `${verdict} ${cause} ${actor}`;

test("every row of the verdict table has its own text with the numbers that prove it", () => {
  const ends = Object.entries(ENDS).map(([name, execute]) => {
    const record = recordOf({ execute });
    assert.ok(name.startsWith(theEnd(record)), `${name} ended as ${theEnd(record)}`);
    return theEnd(record);
  });
  assert.deepEqual(
    ends,
    RULES.map(({ verdict, cause, actor }) => `${verdict} ${cause} ${actor}`),
  );
  const words = (name: string) => wordsOf(recordOf({ execute: ENDS[name] ?? assert.fail(name) }));
  for (const [name, says] of [
    ["MLE oom_kill kernel", /more memory than the limit of 256 MiB.* counted 1 kill .*Not RE: .*no exit code/s],
    ["PLE pids_limit kernel", /more than 10 processes and threads.*ended with exit code 1/s],
    ["FSE file_size_limit kernel", /maximum size.*killed by signal 25 \(SIGXFSZ\)/s],
    ["FSE file_size_limit kernel, without BPF", /maximum size.*killed by signal 25 \(SIGXFSZ\)/s],
    ["TLE wall_timeout judge", /wall time.*5\.00 s of wall time, 10 ms of CPU time.*most of that time waiting/s],
    ["TLE cpu_timeout judge", /CPU time.*the program was killed: 2\.10 s of wall time, 2\.00 s of CPU time/s],
    ["TLE cpu_timeout judge, in exit", /exceeded it while they exited.*12\.00 s of CPU time.*Not RE: .*exit code/s],
    ["TLE cpu_timeout kernel", /the kernel killed the program: .*4\.00 s of CPU time/s],
    ["TLE cpu_timeout kernel, at the rlimit", /the kernel killed the program: .*6\.00 s of CPU time/s],
    ["SIG fatal_signal runtime", /signal 11 \(SIGSEGV\).*accessed invalid memory.*Not MLE: .*counter is 0/s],
    [
      "RE nonzero_exit runtime",
      /exited with code 3.*Not MLE: .*counter is 0, and its memory peak was 8\.6 MiB of 256 MiB/s,
    ],
    ["AC normal_exit runtime", /exited with code 0/],
  ] as const) {
    assert.match(words(name), says, name);
  }
  const different = new Set(Object.values(ENDS).map((execute) => explain(recordOf({ execute }))?.title));
  assert.equal(different.size, new Set(RULES.map(({ cause }) => cause)).size);
});

test("explains that the kill of a child is MLE regardless of its parent's exit code", () => {
  const record = recordOf({ execute: report({ exitCode: 1, oomKills: 2 }) });
  assert.equal(theEnd(record), "MLE oom_kill kernel");
  assert.match(wordsOf(record), /counted 2 kills.*Not RE: Exit code 1 comes from a process that remained/s);
});

test("explains limits of the compile step as the compiler's, and that the program did not run", () => {
  const explained = new Set<string>();
  for (const [name, compile] of Object.entries(ENDS)) {
    const record = recordOf({ compile });
    const { verdict, cause } = record.result;
    if (cause === "internal_error") continue;
    const limit = LIMIT_CAUSES.find((one) => cause === `compile_${one}`);
    const words = wordsOf(record);
    if (limit) {
      explained.add(limit);
      assert.match(words, /^.* by the compiler\. The compiler reached a limit, so your program was never run\./, name);
      assert.doesNotMatch(explain(record)?.text ?? "", /[Tt]he program/);
    } else assert.deepEqual([verdict, cause, /never run/.test(words)], ["RE", "compile_error", true], name);
  }
  assert.deepEqual([...explained].sort(), [...LIMIT_CAUSES].sort());
});

test("explains a failure of the platform with its reason", () => {
  const record = toRecord(ended(internalError("the sandbox was lost before the run ended")));
  assert.match(
    wordsOf(record),
    /^The platform failed, not your program\. .*the sandbox was lost before the run ended\..*says nothing about the program/s,
  );
});

test("names recorded limits, a busy host and leftovers", () => {
  const steps = { execute: ENDS["TLE wall_timeout judge"] ?? assert.fail() };
  const plan = { execute: { limits: LIMITS } } as Plan;
  assert.match(
    explain(recordOf(steps), runStats(steps, plan))?.text ?? "",
    new RegExp(`reached \\(${(LIMITS.wallMs / 1000).toFixed(2)} s\\)`),
  );
  const busy = recordOf({ execute: { ...steps.execute, psiFullUsec: 4_000_000 } });
  assert.match(wordsOf(busy), /machine may have been too busy/);
  assert.match(wordsOf(recordOf({ execute: report({ survivors: 1 }) })), /left behind were killed/);
});

test("a submission that has not ended has no explanation", () => {
  const request = { language: "c", profile: "judge", code: "x", stdin: "" } as const;
  const caller = {
    keyId: "k",
    accountId: "a",
    projectId: null,
    requestsPerMinute: 1,
    concurrency: 1,
    executions: 1,
    profiles: [],
    defaultProfile: "judge",
  } as const;
  assert.equal(explain(toRecord(newSubmission(request, caller, 0))), null);
});
