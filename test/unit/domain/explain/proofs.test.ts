import assert from "node:assert/strict";
import { test } from "node:test";
import type { EvidenceRecord } from "../../../../src/domain/evidence-facts.ts";
import { proofs } from "../../../../src/domain/explain/proofs.ts";
import { bodySchemas } from "../../../../src/http/openapi/openapi.ts";
import { recordOf } from "../../../support/domain/explain/records.ts";
import { report, teardown } from "../../../support/verdict/reports.ts";

/** Rlimits and lists are leaves. */
function fieldsOf(value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value) || "soft" in value) return [path];
  return Object.entries(value).flatMap(([name, inner]) => fieldsOf(inner, path ? `${path}.${name}` : name));
}

const full = recordOf({ execute: report({ survivors: 2, teardown: teardown({ residualMounts: ["/box", "/tmp"] }) }) })
  .evidence as EvidenceRecord;

test("explains exactly the fields of the evidence", () => {
  const explained = proofs(full);
  assert.deepEqual(
    explained.map(({ field }) => field),
    fieldsOf(full, ""),
  );
  const described = JSON.stringify(bodySchemas().Record);
  for (const { field, meaning } of explained) {
    assert.ok(meaning.length > 25 && meaning.endsWith("."), `${field}: ${meaning}`);
    const name = field.split(".").at(-1) ?? "";
    assert.ok(described.includes(`"${name}"`), `${name} is not in the record's description`);
  }
  assert.equal(new Set(explained.map(({ meaning }) => meaning)).size, explained.length);
});

test("formats values for readers", () => {
  const shown = Object.fromEntries(proofs(full).map(({ field, value }) => [field, value]));
  assert.deepEqual(
    [
      shown["isolation.controls_missing"],
      shown["limits.rlimits.cpu_secs"],
      shown["limits.cgroup.memory_limit_bytes"],
      shown["limits.cgroup.memory_peak_bytes"],
      shown["limits.cgroup.cpu_usage_usec"],
      shown["limits.cgroup.oom_kill_events"],
      shown["teardown.cleanup_verified"],
      shown["teardown.residual_mounts"],
      shown["teardown.judge_actions"],
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

test("does not explain absent fields, nor anything without evidence", () => {
  const plain = recordOf({ execute: report({ rlimits: {} }) });
  const fields = proofs(plain.evidence).map(({ field }) => field);
  assert.deepEqual(
    fields.filter((field) => /rlimits|judge_actions/.test(field)),
    [],
  );
  assert.deepEqual(proofs(null), []);
});
