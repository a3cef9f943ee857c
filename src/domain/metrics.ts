import { STREAM_OUTCOMES } from "./egress/outcomes.ts";
import { ERRORS, type ErrorCode } from "./error.ts";
import { PROFILE_NAMES } from "./limits.ts";
import { VERDICTS } from "./outcome.ts";
import { SANDBOX_END_REASON_NAMES } from "./sandboxes/sandbox.ts";

/** The definition of a metric. */
export interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly name: `assay_${string}`;
  readonly help: string;
  readonly labels: Labels;
  /** Upper bounds of a histogram in seconds. */
  readonly buckets?: readonly number[];
}

/**
 * The values of each label. Null stands for values that are known only when the service starts, such as names of languages and routes.
 * `other` stands for values that are not listed.
 */
type Labels = Readonly<Record<string, readonly string[] | null>>;

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"] as const;
export const STATUS_CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;

/** Operations of the store, grouped for operators. */
export const OPERATIONS = [
  "authenticate",
  "quota",
  "accept",
  "read",
  "claim",
  "lease",
  "finish",
  "deliveries",
  "workers",
  "retention",
  "history",
  "live",
  "sandboxes",
  "admin",
] as const;

const REASONS = Object.keys(ERRORS) as ErrorCode[];

/** A request with `wait=true` takes up to 30 s, a webhook attempt up to 10 s. */
const ANSWER_SECS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Both steps of the slowest profile together take minutes. */
const RUN_SECS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160];
/** Buckets from an immediate start to a queue of a thousand submissions. */
const WAIT_SECS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 900];
const DATABASE_SECS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

/**
 * All metrics; `npm run generate` writes them to docs/operations.md. Times are in seconds, sizes in bytes. Every label
 * has few values, and clients cannot choose them.
 */
export const METRICS = {
  requests: histogram(
    "assay_http_request_duration_seconds",
    "Duration of requests by route; a request that waits with wait=true has a route of its own",
    { route: null, method: METHODS, status: STATUS_CLASSES },
    ANSWER_SECS,
  ),
  refusals: counter(
    "assay_http_refusals_total",
    "Requests answered with an error, by the name of the error in docs/api.md",
    {
      reason: REASONS,
    },
  ),
  connectionsRefused: counter(
    "assay_http_connections_refused_total",
    "Connections that a limit closed or refused. address: connections of one address; all: all connections; reading: the client read a long response too slowly; records, pipelining, chunks: the client sent many small TLS records, requests or chunks of a body at once",
    {
      limit: ["address", "all", "reading", "records", "pipelining", "chunks"],
    },
  ),

  accepted: counter(
    "assay_submissions_accepted_total",
    "Submissions that this process accepted; a request that repeats an idempotency key does not count",
    {
      language: null,
      profile: PROFILE_NAMES,
    },
  ),
  waited: histogram(
    "assay_submission_wait_seconds",
    "Time from acceptance to the start of the run, for runs in this process",
    { language: null, profile: PROFILE_NAMES },
    WAIT_SECS,
  ),
  ran: histogram(
    "assay_submission_run_seconds",
    "Duration of runs in this process, including all steps, teardowns and checks",
    { language: null, profile: PROFILE_NAMES },
    RUN_SECS,
  ),
  ended: counter(
    "assay_submissions_ended_total",
    "Submissions that ended with a run in this process; those with the status error count as IE",
    {
      language: null,
      verdict: VERDICTS,
    },
  ),
  yielded: counter(
    "assay_runs_yielded_total",
    "Times that a submission of several runs gave up its slot between two runs because others waited",
    { language: null },
  ),
  repeated: counter("assay_runs_repeated_total", "Runs that the platform failed and that are repeated", {
    language: null,
  }),
  compiles: counter(
    "assay_compiles_total",
    "Compile steps in this process. ran: the compiler ran; kept: the result of an earlier compilation for the same account was used",
    {
      language: null,
      result: ["ran", "kept"],
    },
  ),
  runtimes: counter(
    "assay_runtimes_total",
    "Steps of languages with a runtime. parked: the runtime had been started in advance; cold: it was started for the step",
    {
      language: null,
      start: ["parked", "cold"],
    },
  ),
  givenBack: counter(
    "assay_runs_given_back_total",
    "Submissions that this process claimed and returned to the queue, because no slot became free in time or the worker stopped",
    {},
  ),
  leasesExpired: counter(
    "assay_leases_expired_total",
    "Leases of silent workers that this process ended, by the new status of the submission",
    {
      became: ["pending", "error"],
    },
  ),
  leasesLost: counter("assay_leases_lost_total", "Runs that this process ended because their lease was lost", {}),
  sandboxesLost: counter("assay_sandboxes_lost_total", "Runs that ended without a report", {}),
  leftovers: counter(
    "assay_leftovers_total",
    "Runs that left a part of their box behind, by kind. released_later: only memory or sockets without a process",
    {
      kind: ["cleanup_unverified", "process", "residual_mount", "collection_error", "released_later"],
    },
  ),
  slotsOpened: counter("assay_slots_opened_total", "Connections to the launcher that became slots", {}),
  slotsLost: counter("assay_slots_lost_total", "Slots that were lost although this process had not closed them", {}),
  slotFailures: counter("assay_slot_open_failures_total", "Slots that the launcher could not open", {}),
  proofs: counter(
    "assay_proofs_total",
    "Readiness proofs that this process made; each is a real run with every control",
    {
      result: ["ok", "failed"],
    },
  ),

  sandboxCreated: histogram(
    "assay_sandbox_create_duration_seconds",
    "Time from the request for a sandbox until it ran, for sandboxes of this process",
    {},
    ANSWER_SECS,
  ),
  sandboxesEnded: counter(
    "assay_sandboxes_ended_total",
    "Sandboxes that this process ended: its own, and those of a process that was lost",
    { reason: SANDBOX_END_REASON_NAMES },
  ),
  snapshotTaken: histogram(
    "assay_snapshot_duration_seconds",
    "Time from the request for a snapshot of a sandbox of this process until it was durable, or failed",
    {},
    ANSWER_SECS,
  ),
  executionRan: histogram(
    "assay_execution_duration_seconds",
    "Time from the start of an execution in a sandbox until its end was durable",
    {},
    DATABASE_SECS.concat(RUN_SECS.filter((secs) => secs > 5)),
  ),
  executionsEnded: counter("assay_executions_ended_total", "Executions in sandboxes of this process that ended", {
    verdict: VERDICTS,
  }),
  egressConnections: counter(
    "assay_egress_connections_total",
    "Connections of sandboxes of this process that ended, by what ended them, or that were denied. client, server: one side; idle: no bytes; budget: bytes were used up; policy: a later policy, or what the program sent; sandbox: its end; denied_policy: no rule allows it; denied_address: the name leads to an address that is not allowed; denied_request: what the program sent first names another host; denied_connections: too many",
    { outcome: STREAM_OUTCOMES },
  ),
  egressBytes: counter(
    "assay_egress_bytes_total",
    "Bytes that programs of sandboxes of this process sent to the network (up) and received (down)",
    { direction: ["up", "down"] },
  ),
  egressLeaseFailures: counter(
    "assay_egress_lease_failures_total",
    "Bytes of the network of a sandbox that could not be leased from the database, so that connections ended, or could not be given back, so that they count as used",
    { kind: ["lease", "give_back"] },
  ),
  egressRestarts: counter(
    "assay_egress_restarts_total",
    "Times that the proxy of the sandboxes of this process died and was started again; all their connections ended",
    {},
  ),

  webhookAttempts: histogram(
    "assay_webhook_attempt_duration_seconds",
    "Duration of webhook attempts of this process, by outcome; again: the attempt will be repeated",
    { outcome: ["delivered", "again", "failed"] },
    ANSWER_SECS,
  ),
  purged: counter("assay_records_purged_total", "Records that this process deleted after their retention time", {}),
  database: histogram(
    "assay_database_operation_duration_seconds",
    "Duration of database operations until they are durable",
    { operation: OPERATIONS },
    DATABASE_SECS,
  ),
  databaseErrors: counter(
    "assay_database_errors_total",
    "Failed database operations. away: the database is unavailable",
    {
      operation: OPERATIONS,
      kind: ["away", "other"],
    },
  ),

  databaseUp: gauge(
    "assay_database_up",
    "1 if the database responded to this scrape; if 0, the gauges whose values come from the database are absent",
  ),
  pending: gauge("assay_submissions_pending", "Pending submissions in the database, from all services"),
  oldestPending: gauge(
    "assay_submissions_oldest_pending_age_seconds",
    "Age of the oldest pending submission that has never started, ignoring suspended accounts; 0 if there is none",
  ),
  held: gauge(
    "assay_submissions_held",
    "Pending submissions that wait for the concurrency of their own key or the end of a suspension, not for a worker",
  ),
  largestShare: gauge(
    "assay_submissions_pending_largest_share",
    "Share of all pending submissions that the account with the most of them has, from 0 to 1",
  ),
  running: gauge("assay_submissions_running", "Running submissions in the database, on all workers", {
    language: null,
  }),
  deliveries: gauge(
    "assay_webhook_deliveries_pending",
    "Webhook deliveries that are not finished, whether due now or later",
  ),
  oldestDue: gauge(
    "assay_webhook_deliveries_oldest_due_age_seconds",
    "Time since the oldest due delivery became due; 0 if there is none",
  ),
  capacity: gauge(
    "assay_workers",
    "Submissions that can run at the same time on all workers that this process knows; not the number of workers",
  ),
  slots: gauge(
    "assay_slots",
    "Slots of this process. wanted: how many there should be; alive: connected to the launcher; busy: running a submission, or removing the box of a cancelled one",
    {
      state: ["wanted", "alive", "busy"],
    },
  ),
  runtimesWaiting: gauge("assay_runtimes_waiting", "Language runtimes that have started and wait for a submission"),
  runtimesBytes: gauge("assay_runtimes_waiting_bytes", "Memory used by the waiting runtimes"),
  sandboxes: gauge("assay_sandboxes", "Sandboxes of this process. held: that have not ended; most: that it may have", {
    kind: ["held", "most"],
  }),
  sandboxMemory: gauge(
    "assay_sandboxes_memory_bytes",
    "Memory of sandboxes, by their limits. held: of those that have not ended; most: that this process may give them",
    { kind: ["held", "most"] },
  ),
  sandboxDisks: gauge(
    "assay_sandboxes_disk_bytes",
    "Disks of sandboxes. held: of those that have not ended; most: that this process may give them",
    { kind: ["held", "most"] },
  ),
  sandboxConnections: gauge(
    "assay_sandboxes_connections",
    "Connections of this process to boxes of sandboxes: executions, requests for files, and some that wait",
  ),
  egressOpen: gauge(
    "assay_egress_connections_open",
    "Connections of sandboxes of this process to the network that are open",
  ),
  snapshots: gauge(
    "assay_snapshots",
    "Snapshots in the directory of this process; machines that share a directory report the same ones",
  ),
  snapshotBytes: gauge(
    "assay_snapshots_bytes",
    "Bytes of snapshots in the directory of this process. held: of all, with those that it is writing; most: that it may write (ASSAY_SNAPSHOT_BYTES)",
    { kind: ["held", "most"] },
  ),
  ready: gauge("assay_ready", "1 if a run proved every control within the last 10 s, else 0"),
  proven: gauge(
    "assay_last_proof_timestamp_seconds",
    "Time of the last successful readiness proof; absent before the first one",
  ),
  offered: gauge("assay_language_offered", "1 if the language is offered, else 0", {
    language: null,
  }),
  dataFree: gauge("assay_data_free_bytes", "Space available to the service in the file system of the data directory"),
  dataSize: gauge("assay_data_size_bytes", "Size of the file system of the data directory"),
  certificate: gauge(
    "assay_certificate_expiry_timestamp_seconds",
    "Expiry of the certificate in the certificate file; absent if there is none",
  ),
  build: gauge("assay_build_info", "Always 1; the labels have the versions of Assay and Node", {
    version: null,
    node: null,
  }),
} as const satisfies Record<string, Metric>;

function counter<const L extends Labels>(name: Metric["name"], help: string, labels: L) {
  return { kind: "counter", name, help, labels } as const;
}

function gauge<const L extends Labels = Record<never, never>>(name: Metric["name"], help: string, labels = {} as L) {
  return { kind: "gauge", name, help, labels } as const;
}

function histogram<const L extends Labels>(name: Metric["name"], help: string, labels: L, buckets: readonly number[]) {
  return { kind: "histogram", name, help, labels, buckets } as const;
}
