import assert from "node:assert/strict";
import { test } from "node:test";
import type { Evidence, Outcome } from "../../../src/domain/outcome.ts";
import { countLeftovers } from "../../../src/worker/leftovers.ts";

const CLEAN: Evidence["teardown"] = {
  reapStatus: "clean",
  descendantContainment: "ok",
  zombieCount: 0,
  cleanupVerified: true,
  residualMounts: [],
  collectionErrors: [],
  judgeActions: [],
};
const SOCKETS = "cgroup not removed: sockets in the network namespace";
const GROUP = "cgroup not removed: s0-b1 in memory: Device or resource busy";

const CASES: readonly [title: string, changed: Partial<Evidence["teardown"]>, kinds: string[]][] = [
  ["nothing", {}, []],
  [
    "sockets that the kernel releases later",
    { cleanupVerified: false, collectionErrors: [SOCKETS] },
    ["released_later"],
  ],
  [
    "sockets and a cgroup",
    { cleanupVerified: false, collectionErrors: [SOCKETS, GROUP] },
    ["cleanup_unverified", "collection_error"],
  ],
  [
    "sockets and a process",
    { cleanupVerified: false, descendantContainment: "leaked", collectionErrors: [SOCKETS] },
    ["cleanup_unverified", "process", "collection_error"],
  ],
  ["a zombie", { cleanupVerified: false, reapStatus: "incomplete", zombieCount: 1 }, ["cleanup_unverified"]],
  ["a mount", { cleanupVerified: false, residualMounts: ["/box"] }, ["cleanup_unverified", "residual_mount"]],
];

for (const [title, changed, expected] of CASES)
  test(`counts ${title}`, () => {
    const kinds: unknown[] = [];
    const meter = { count: (_: string, labels: { kind?: string }) => kinds.push(labels.kind), time: () => {} };
    const outcome = { evidence: { teardown: { ...CLEAN, ...changed } } } as Outcome;
    countLeftovers(outcome, meter as never);
    assert.deepEqual(kinds, expected);
  });
