import type { SandboxCounts, ServiceStatus, SnapshotCounts } from "../domain/status.ts";
import type { Prometheus } from "./prometheus.ts";

/** Gauges whose values come from the database. */
const OF_DATABASE = ["pending", "oldestPending", "held", "largestShare", "running", "deliveries", "oldestDue"] as const;

/**
 * Sets the gauges from the status. A gauge whose value is unknown is absent, because 0 would be wrong.
 * @param languages the names of all languages, also of those that are not offered.
 */
export function setGauges(prometheus: Prometheus, status: ServiceStatus, languages: readonly string[]): void {
  const { engine, slots, database, disk, certificateEndsAtMs } = status;
  prometheus.set("build", { version: status.version, node: process.version }, 1);
  prometheus.set("ready", {}, Number(engine.ready));
  if (engine.readyAtMs !== null) prometheus.set("proven", {}, engine.readyAtMs / 1000);
  prometheus.set("capacity", {}, engine.workers);
  for (const language of languages)
    prometheus.set("offered", { language }, Number(engine.languages.includes(language)));
  for (const state of ["wanted", "alive", "busy"] as const) if (slots) prometheus.set("slots", { state }, slots[state]);
  if (slots?.runtimes) {
    prometheus.set("runtimesWaiting", {}, slots.runtimes.waiting);
    prometheus.set("runtimesBytes", {}, slots.runtimes.bytes);
  }
  if (disk) {
    prometheus.set("dataFree", {}, disk.freeBytes);
    prometheus.set("dataSize", {}, disk.sizeBytes);
  }
  if (certificateEndsAtMs === null) prometheus.forget("certificate");
  else prometheus.set("certificate", {}, certificateEndsAtMs / 1000);
  prometheus.set("databaseUp", {}, Number(database !== null));
  for (const gauge of OF_DATABASE) prometheus.forget(gauge);
  if (!database) return;
  const { backlog } = database;
  prometheus.set("pending", {}, backlog.pending);
  prometheus.set("oldestPending", {}, backlog.oldestPendingMs / 1000);
  prometheus.set("held", {}, backlog.held);
  prometheus.set("largestShare", {}, backlog.largestShare);
  for (const language of languages) prometheus.set("running", { language }, 0);
  for (const [language, amount] of Object.entries(backlog.running)) prometheus.set("running", { language }, amount);
  prometheus.set("deliveries", {}, backlog.deliveries);
  prometheus.set("oldestDue", {}, backlog.oldestDueMs / 1000);
}

/** What a process without sandboxes does not have is null. */
export function setSandboxGauges(
  prometheus: Prometheus,
  counts: SandboxCounts | null,
  snapshots: SnapshotCounts | null,
): void {
  if (snapshots) {
    prometheus.set("snapshots", {}, snapshots.amount);
    prometheus.set("snapshotBytes", { kind: "held" }, snapshots.heldBytes);
    prometheus.set("snapshotBytes", { kind: "most" }, snapshots.mostBytes);
  }
  if (!counts) return;
  for (const kind of ["held", "most"] as const) {
    prometheus.set("sandboxes", { kind }, counts[kind].sandboxes);
    prometheus.set("sandboxMemory", { kind }, counts[kind].memoryBytes);
    prometheus.set("sandboxDisks", { kind }, counts[kind].diskBytes);
  }
  prometheus.set("sandboxConnections", {}, counts.held.connections);
  // Without networks, nothing is open.
  prometheus.set("egressOpen", {}, counts.egress?.open ?? 0);
}
