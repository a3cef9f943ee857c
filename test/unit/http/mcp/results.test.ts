import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { newSubmission, type Submission } from "../../../../src/domain/submission.ts";
import { SHOWN_BYTES, showPage, showRun } from "../../../../src/http/mcp/results.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import { report } from "../../../support/verdict/reports.ts";

const caller = {
  ...{ keyId: "k", accountId: "a", projectId: null, requestsPerMinute: 1, concurrency: 1, executions: 1 },
  ...{ profiles: ["judge" as const], defaultProfile: "judge" as const },
};

function ended(facts: Parameters<typeof report>[0]): Submission {
  const submit = { language: "c", code: "", stdin: "", profile: "judge" as const };
  return {
    ...newSubmission(submit, caller, 0),
    status: "completed",
    outcome: buildOutcome({ execute: report(facts) }),
  };
}

const text = fc.string({ unit: "grapheme", maxLength: 200 }).map((one) => one.repeat(300));

test("the pages of an output that is UTF-8 together are the output", () => {
  fc.assert(
    fc.property(text, (whole) => {
      const bytes = Buffer.from(whole);
      let read = "";
      for (let offset: number | null = 0; offset !== null; ) {
        const { value }: ReturnType<typeof showPage> = showPage("id", "stdout", bytes, offset);
        assert.ok(Buffer.byteLength(value.text) <= SHOWN_BYTES);
        assert.ok(value.next_offset === null || value.next_offset > offset);
        read += value.text;
        offset = value.next_offset;
      }
      assert.equal(read, bytes.toString());
    }),
    { numRuns: 50 },
  );
});

test("a page beyond the end is empty, and one of other bytes ends", () => {
  assert.deepEqual(showPage("id", "stderr", Buffer.from("abc"), 9).value, {
    ...{ id: "id", stream: "stderr", offset: 9, text: "", bytes: 3, next_offset: null },
  });
  const { value } = showPage("id", "stdout", Buffer.alloc(SHOWN_BYTES * 2, 0x80), 0);
  assert.equal(value.next_offset, SHOWN_BYTES);
});

test("a long output is its beginning and its end, and says how much is missing and where", () => {
  fc.assert(
    fc.property(text, (whole) => {
      const bytes = Buffer.from(whole);
      const { stdout } = showRun(ended({ stdout: bytes }), 1).value;
      assert.ok(stdout);
      const [head = "", tail] = stdout.text.split(/\n\[\d+ bytes left out: get_result [^\n]*\]\n/);
      assert.equal(stdout.left_out_bytes > 0, bytes.length > SHOWN_BYTES);
      if (tail === undefined) return assert.equal(head, bytes.toString());
      const left = bytes.subarray(Buffer.byteLength(head), Buffer.byteLength(head) + stdout.left_out_bytes);
      assert.equal(head + left + tail, bytes.toString());
      assert.match(stdout.text, new RegExp(`offset ${Buffer.byteLength(head)}\\]`));
    }),
    { numRuns: 50 },
  );
});

test("the reason is one sentence, also with numbers in it", () => {
  const why = (facts: Parameters<typeof report>[0]) => showRun(ended(facts), 1).value.why;
  assert.equal(why({}), "The program exited with code 0, which means success.");
  assert.equal(why({ exitCode: 3 }), "The program exited with code 3.");
  assert.match(why({ killReason: "wall", signal: 9, exitCode: null }), /wall time limit .*CPU time\.$/);
});
