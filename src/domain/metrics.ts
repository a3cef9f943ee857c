import { ERRORS, type ErrorCode } from "./error.ts";
import { PROFILE_NAMES } from "./limits.ts";
import { VERDICTS } from "./outcome.ts";

/** What a metric is. `labels`: each with all the values that it can have. */
export interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly name: `assay_${string}`;
  readonly help: string;
  readonly labels: Labels;
  /** Of a histogram: upper bounds in seconds. */
  readonly buckets?: readonly number[];
}

/** Null: names of languages or routes, which are known when the service starts; `other` for any further one. */
type Labels = Readonly<Record<string, readonly string[] | null>>;

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"] as const;
export const STATUS_CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;

/** What the store is asked for, by what an operator would look for. */
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
  "admin",
] as const;

const REASONS = Object.keys(ERRORS) as ErrorCode[];

/** A held `wait=true` takes 30 s, a webhook attempt 10 s. */
const ANSWER_SECS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Compile and execute step of the slowest profile come to minutes. */
const RUN_SECS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160];
/** From one that starts at once to one behind a thousand. */
const WAIT_SECS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 900];
const DATABASE_SECS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

/**
 * Everything that is measured, in one table: the names and labels that rooms may use, and what docs/operations.md says. Times are
 * seconds, sizes bytes. Every label has few values, and none of them is chosen by a client.
 */
export const METRICS = {
  requests: histogram(
    "assay_http_request_duration_seconds",
    "Requests answered and how long that took, by route; a held wait=true is a route of its own",
    { route: null, method: METHODS, status: STATUS_CLASSES },
    ANSWER_SECS,
  ),
  refusals: counter(
    "assay_http_refusals_total",
    "Requests answered with an error, by its name in src/domain/error.ts",
    {
      reason: REASONS,
    },
  ),
  connectionsRefused: counter(
    "assay_http_connections_refused_total",
    "Connections closed by a limit; reading: of a client that read a long answer too slowly",
    {
      limit: ["address", "all", "reading"],
    },
  ),

  accepted: counter("assay_submissions_accepted_total", "Submissions accepted here; repeated requests do not count", {
    language: null,
    profile: PROFILE_NAMES,
  }),
  waited: histogram(
    "assay_submission_wait_seconds",
    "From acceptance to the start of the run that was made here",
    { language: null, profile: PROFILE_NAMES },
    WAIT_SECS,
  ),
  ran: histogram(
    "assay_submission_run_seconds",
    "From the start of a run made here to its outcome, all steps and teardowns",
    { language: null, profile: PROFILE_NAMES },
    RUN_SECS,
  ),
  ended: counter("assay_submissions_ended_total", "Submissions ended by a run made here; IE is the status error", {
    language: null,
    verdict: VERDICTS,
  }),
  repeated: counter("assay_runs_repeated_total", "Runs that the platform failed and that are made once more", {
    language: null,
  }),
  givenBack: counter("assay_runs_given_back_total", "Runs ended by a stop of the worker, before their time", {}),
  leasesExpired: counter("assay_leases_expired_total", "Submissions taken back here from a worker that was silent", {
    became: ["pending", "error"],
  }),
  leasesLost: counter("assay_leases_lost_total", "Runs ended here because another worker had taken them over", {}),
  sandboxesLost: counter("assay_sandboxes_lost_total", "Runs of which no report came back", {}),
  leftovers: counter("assay_leftovers_total", "Runs after which something of the box stayed, by what it was", {
    kind: ["cleanup_unverified", "process", "residual_mount", "collection_error"],
  }),
  slotsOpened: counter("assay_slots_opened_total", "Connections to the launcher that became slots", {}),
  slotsLost: counter("assay_slots_lost_total", "Slots that were lost while they were open", {}),
  slotFailures: counter("assay_slot_open_failures_total", "Slots that the launcher did not give", {}),
  proofs: counter("assay_proofs_total", "Proofs of readiness made here: real runs through every control", {
    result: ["ok", "failed"],
  }),

  webhookAttempts: histogram(
    "assay_webhook_attempt_duration_seconds",
    "Webhook attempts made here: delivered, due again, or given up",
    { outcome: ["delivered", "again", "failed"] },
    ANSWER_SECS,
  ),
  purged: counter("assay_records_purged_total", "Records removed here because their time was over", {}),
  database: histogram(
    "assay_database_operation_duration_seconds",
    "What the store was asked for, until it was durable",
    { operation: OPERATIONS },
    DATABASE_SECS,
  ),
  databaseErrors: counter("assay_database_errors_total", "What the store could not do: away, or any other error", {
    operation: OPERATIONS,
    kind: ["away", "other"],
  }),

  databaseUp: gauge("assay_database_up", "1 if the database answered this scrape, else 0 and its gauges are absent"),
  pending: gauge("assay_submissions_pending", "Pending submissions in the database, of all services"),
  oldestPending: gauge(
    "assay_submissions_oldest_pending_age_seconds",
    "Since the first pending one was accepted, without those of suspended accounts; 0: none",
  ),
  held: gauge(
    "assay_submissions_held",
    "Pending submissions that wait for their own key's concurrency or the end of a suspension, not for a worker",
  ),
  largestShare: gauge(
    "assay_submissions_pending_largest_share",
    "Of the pending submissions, the part of the account that has the most: 0 to 1",
  ),
  running: gauge("assay_submissions_running", "Running submissions in the database, of all workers", {
    language: null,
  }),
  deliveries: gauge("assay_webhook_deliveries_pending", "Deliveries that are due now or later"),
  oldestDue: gauge("assay_webhook_deliveries_oldest_due_age_seconds", "Since the first delivery was due; 0: none is"),
  capacity: gauge("assay_workers", "Submissions that can be run at once now, as this process knows it"),
  slots: gauge("assay_slots", "Slots of this process: how many there should be, are there, and run something", {
    state: ["wanted", "alive", "busy"],
  }),
  ready: gauge("assay_ready", "1 if every control was proven within the last seconds, else 0"),
  proven: gauge("assay_last_proof_timestamp_seconds", "When readiness was seen last; absent before"),
  offered: gauge("assay_language_offered", "1 if the language is offered, 0 if its hello failed", { language: null }),
  dataFree: gauge("assay_data_free_bytes", "Space left to the service in the file system of the data directory"),
  dataSize: gauge("assay_data_size_bytes", "Size of that file system"),
  certificate: gauge(
    "assay_certificate_expiry_timestamp_seconds",
    "When the certificate in the file ends; absent without one",
  ),
  build: gauge("assay_build_info", "1, with the version of Assay and of Node as labels", { version: null, node: null }),
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
