import assert from "node:assert/strict";
import { test } from "node:test";
import { proofs } from "../../../src/domain/explain/proofs.ts";
import type { EvidenceRecord } from "../../../src/domain/record.ts";
import { jsonSchemas } from "../../../src/http/schemas.ts";
import { report, teardown } from "../../verdict/reports.ts";
import { recordOf } from "./records.ts";

/** Where a rlimit and a list end, a field does. */
function fieldsOf(value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value) || "soft" in value) return [path];
  return Object.entries(value).flatMap(([name, inner]) => fieldsOf(inner, path ? `${path}.${name}` : name));
}

const full = recordOf({ execute: report({ survivors: 2, teardown: teardown({ residualMounts: ["/box", "/tmp"] }) }) })
  .evidence as EvidenceRecord;

test("every field that evidence can have is explained, and none that it has not", () => {
  const explained = proofs(full);
  assert.deepEqual(
    explained.map(({ field }) => field),
    fieldsOf(full, ""),
  );
  const described = JSON.stringify(jsonSchemas().Record);
  for (const { field, meaning } of explained) {
    assert.ok(meaning.length > 25 && meaning.endsWith("."), `${field}: ${meaning}`);
    const name = field.split(".").at(-1) ?? "";
    assert.ok(described.includes(`"${name}"`), `${name} is not in the record's description`);
  }
  assert.equal(new Set(explained.map(({ meaning }) => meaning)).size, explained.length);
});

test("values are told as people read them", () => {
  const told = Object.fromEntries(proofs(full).map(({ field, value }) => [field, value]));
  assert.deepEqual(
    [
      told["isolation.controls_missing"],
      told["limits.rlimits.cpu_secs"],
      told["limits.cgroup.memory_limit_bytes"],
      told["limits.cgroup.memory_peak_bytes"],
      told["limits.cgroup.cpu_usage_usec"],
      told["limits.cgroup.oom_kill_events"],
      told["teardown.cleanup_verified"],
      told["teardown.residual_mounts"],
      told["teardown.judge_actions"],
    ],
    [
      "none",
      "4 (at most 5)",
      "256 MiB",
      "8.6 MiB",
      "10 ms",
      "0",
      "false",
      "/box, /tmp",
      "descendant_kill: SIGKILL to 2 processes still alive when the program had ended",
    ],
  );
});

test("what is absent from a record is not explained, and without evidence there is nothing to explain", () => {
  const plain = recordOf({ execute: report({ rlimits: {} }) });
  const fields = proofs(plain.evidence).map(({ field }) => field);
  assert.deepEqual(
    fields.filter((field) => /rlimits|judge_actions/.test(field)),
    [],
  );
  assert.deepEqual(proofs(null), []);
});
