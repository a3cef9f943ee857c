import type { SubmissionRecord } from "../../domain/record.ts";

/**
 * Requests and responses of the dashboard, as JSON below /dashboard/api. Both sides are compiled against this file: the
 * routes in this directory return these types, and the page in dashboard/ imports nothing else of the service. Times
 * are ISO 8601 text, durations milliseconds, sizes bytes. A list is complete or has `next`; it is never silently cut
 * off.
 */

/** An error; the text is displayed. */
export interface Problem {
  readonly error: string;
}

// ---- session and profile: /session, /invitations, /me

/** GET /session; needs no session. */
export interface Session {
  /** Null: not signed in. */
  readonly person: Person | null;
  /** No person exists yet: the one-time link of `assay serve` creates the first administrator. */
  readonly empty: boolean;
  /** Label of the button; null: no OpenID Connect provider. */
  readonly provider: string | null;
  readonly version: string;
}

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  /** Administrators see and change everything, members only their own accounts. */
  readonly administrator: boolean;
  /** Accounts visible to the person, by name; for an administrator, all. */
  readonly accounts: readonly AccountRef[];
  /** Names of suspended accounts; empty for an administrator, because the settings list them. */
  readonly suspended: readonly string[];
}

export interface AccountRef {
  readonly id: string;
  readonly name: string;
}

/** POST /session → Session; 401 for a wrong e-mail or password, 429 for too many attempts. DELETE /session → 204. */
export interface SignIn {
  readonly email: string;
  readonly password: string;
}

/**
 * POST /invitations/look → Invitation: the purpose of a one-time link; 404 if it is used, expired or unknown. The token
 * is in the body, because proxies log paths.
 */
export interface LinkToken {
  readonly token: string;
}

export interface Invitation {
  readonly kind: "first" | "invite" | "reset";
  /** Null: the person chooses. */
  readonly email: string | null;
  readonly account: string | null;
  readonly expiresAt: string;
}

/** POST /invitations/accept → Session: consumes the link and signs the person in. */
export interface Acceptance extends LinkToken {
  readonly email: string;
  readonly name: string;
  readonly password: string;
}

/** PATCH /me → Person. */
export interface MyChanges {
  readonly name?: string;
  readonly password?: { readonly current: string; readonly next: string };
}

// ---- members: /members

/**
 * GET /members[?account=ID][&before=NEXT&limit=100] → Members; all for administrators, else the members of own
 * accounts.
 */
export interface Members {
  readonly members: readonly Member[];
  readonly next: string | null;
}

/** GET /members/invitations[?account=ID][&before=NEXT&limit=100] → Invitations: usable links. */
export interface Invitations {
  readonly invited: readonly Invited[];
  readonly next: string | null;
}

export interface Member {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly administrator: boolean;
  readonly accounts: readonly AccountRef[];
  readonly signsInWith: readonly ("password" | "provider")[];
  readonly createdAt: string;
  readonly seenAt: string | null;
  readonly disabledAt: string | null;
}

export interface Invited {
  readonly id: string;
  readonly email: string;
  readonly kind: "invite" | "reset";
  readonly account: string | null;
  readonly administrator: boolean;
  readonly expiresAt: string;
}

/** POST /members/invitations → Link, shown once. `accountId` null only with `administrator`. */
export interface NewInvitation {
  readonly email: string;
  readonly accountId: string | null;
  readonly administrator: boolean;
}

/** POST /members/:id/reset → Link. */
export interface Link {
  readonly url: string;
  readonly expiresAt: string;
}

/** PATCH /members/:id (administrators) → Member. DELETE /members/invitations/:id → 204. */
export interface MemberChanges {
  readonly administrator?: boolean;
  readonly disabled?: boolean;
  readonly accountIds?: readonly string[];
}

// ---- overview: /overview, /health

export const WINDOWS = ["1h", "24h", "7d", "30d"] as const;
export type Window = (typeof WINDOWS)[number];

/** GET /overview?window=1h[&account=ID] → Overview. Without an account: all visible accounts. */
export interface Overview {
  readonly now: Now;
  readonly history: History;
}

/** GET /overview/now[?account=ID] → Now; cheap enough for polling every few seconds. */
export interface Now {
  readonly at: string;
  readonly pending: number;
  readonly oldestPendingMs: number;
  readonly running: number;
  /** Submissions that all workers together can run at once. */
  readonly slots: number;
  readonly deliveriesDue: number;
  readonly ready: boolean;
}

export interface History {
  readonly window: Window;
  /** Length of a bucket. */
  readonly bucketMs: number;
  /** Oldest first, without gaps; the last one is in progress. */
  readonly buckets: readonly Bucket[];
}

export interface Bucket {
  readonly at: string;
  /** Number of runs that ended, by verdict; verdicts without runs are absent. */
  readonly verdicts: Readonly<Record<string, number>>;
  /** Runs among these with the status `error`. */
  readonly errors: number;
  /** Time from accepted to started, and from started to ended: the upper bound of the bin. Null where no run ended. */
  readonly waitMs: Percentiles | null;
  readonly runMs: Percentiles | null;
}

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** GET /health → Health. */
export interface Health {
  readonly ready: boolean;
  readonly cgroupBackend: string | null;
  readonly checks: readonly HealthCheck[];
  readonly database: { readonly kind: "SQLite" | "PostgreSQL"; readonly latencyMs: number | null };
}

export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** Explanation and remedy from the doctor; only for failed checks. */
  readonly means?: string;
  readonly remedy?: string;
}

// ---- projects, keys, webhooks

/**
 * Lists of projects, keys, endpoints, people and invitations are paginated, newest first. `before` is the `next` of the
 * previous page, `limit` is from 1 to 500 with a default of 100, and `account` selects one account.
 */

/** GET /projects[?account=ID][&state=open][&before=NEXT&limit=100] → Projects. */
export interface Projects {
  readonly projects: readonly Project[];
  readonly next: string | null;
}

/** POST /projects → Project; GET and PATCH /projects/:id → Project. */
export interface Project {
  readonly id: string;
  readonly name: string;
  readonly account: AccountRef;
  readonly createdAt: string;
  readonly archivedAt: string | null;
  readonly liveKeys: number;
  readonly endpoints: number;
}

export interface NewProject {
  readonly name: string;
  readonly accountId: string;
}

/** One field per request. */
export interface ProjectChanges {
  readonly name?: string;
  readonly archived?: boolean;
}

/** GET /keys[?account=ID][&project=ID][&state=live][&before=NEXT&limit=100] → Keys. */
export interface Keys {
  readonly keys: readonly Key[];
  readonly next: string | null;
}

export interface Key {
  readonly id: string;
  readonly name: string;
  readonly account: AccountRef;
  readonly project: { readonly id: string; readonly name: string } | null;
  /** First characters of the key. */
  readonly prefix: string;
  /** The key's own limit; null: the limit of the tier. */
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  /** The effective limits: of the key, or of its tier. */
  readonly limits: { readonly requestsPerMinute: number; readonly concurrency: number };
  /** Current usage: requests in the last minute, pending and running submissions. */
  readonly usage: { readonly requests: number; readonly pending: number; readonly running: number };
  readonly profiles: readonly string[];
  readonly defaultProfile: string;
  readonly state: "live" | "expired" | "revoked";
  readonly createdAt: string;
  readonly revokedAt: string | null;
  readonly expiresAt: string | null;
  readonly replaces: string | null;
  readonly lastUsedAt: string | null;
  /** No client has this key: it counts runs of the playground. */
  readonly ofPlayground: boolean;
}

/** POST /keys → MadeKey. PATCH /keys/:id (KeyLimits) → Key. POST /keys/:id/revoke → Key. */
export interface NewKey extends Partial<KeyLimits> {
  readonly name: string;
  readonly projectId: string;
}

/** Only administrators may exceed the limits of the tier. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  readonly profiles: readonly string[];
  readonly defaultProfile: string;
}

/** POST /keys/:id/rotate → MadeKey: the old key stays valid for the overlap. */
export interface Rotation {
  readonly overlapMs: number;
}

/** The only response with the secret. */
export interface MadeKey {
  readonly key: Key;
  readonly secret: string;
}

/** GET /endpoints[?account=ID][&project=ID][&before=NEXT&limit=100] → Endpoints. */
export interface Endpoints {
  readonly endpoints: readonly Endpoint[];
  readonly next: string | null;
}

/** GET /endpoints/:id → Endpoint; DELETE → 204. */
export interface Endpoint {
  readonly id: string;
  readonly url: string;
  readonly project: { readonly id: string; readonly name: string };
  readonly account: AccountRef;
  readonly signing: "standard" | "raw";
  readonly active: boolean;
  readonly createdAt: string;
  /** States of the newest deliveries. */
  readonly recent: { readonly delivered: number; readonly failed: number; readonly pending: number };
}

/**
 * POST /endpoints → MadeEndpoint. PATCH /endpoints/:id → Endpoint. POST /endpoints/:id/rotate-secret with a Rotation →
 * MadeEndpoint: for the overlap, deliveries are also signed with the old secret.
 */
export interface NewEndpoint {
  readonly projectId: string;
  readonly url: string;
  readonly signing?: "standard" | "raw";
}

export interface EndpointChanges {
  readonly active?: boolean;
  readonly signing?: "standard" | "raw";
}

export interface MadeEndpoint {
  readonly endpoint: Endpoint;
  readonly secret: string;
  /** A warning about the address; null: none. */
  readonly caution: string | null;
  /** When deliveries stop being signed with the replaced secret; null if none was replaced. */
  readonly formerEndsAt: string | null;
}

/** POST /endpoints/:id/replay-failed → Replayed: sends results again whose newest delivery to this endpoint failed. */
export interface Replays {
  /** Only deliveries created since then. */
  readonly since?: string;
}

export interface Replayed {
  readonly replayed: number;
  /** More may remain: repeat the request. */
  readonly more: boolean;
}

/** POST /endpoints/:id/test → Delivery, after its single attempt. */
/** GET /deliveries?endpoint=ID|submission=ID[&before=NEXT] → Deliveries, newest first. POST /deliveries/:id/replay → Delivery. */
export interface Deliveries {
  readonly deliveries: readonly Delivery[];
  readonly next: string | null;
}

export interface Delivery {
  readonly id: string;
  readonly endpointId: string;
  /** The URL to which it is or was sent. */
  readonly url: string;
  readonly submissionId: string | null;
  readonly webhookId: string;
  readonly kind: "result" | "replay" | "test";
  readonly state: "pending" | "delivered" | "failed";
  readonly createdAt: string;
  readonly nextAt: string | null;
  readonly endedAt: string | null;
  /** Reason of a failure without an attempt. */
  readonly reason: string | null;
  readonly attempts: readonly {
    readonly number: number;
    readonly at: string;
    readonly latencyMs: number;
    readonly status: number | null;
    readonly error: string | null;
    /** The beginning of the response, without control characters. */
    readonly answer: string | null;
  }[];
}

// ---- submissions and the playground

/** GET /submissions?verdict=&status=&language=&key=&project=&account=&id=&since=&until=&before=SEQ&limit=50 → Submissions. */
export interface Submissions {
  readonly submissions: readonly SubmissionRow[];
  /** For `before`; null: no older ones. */
  readonly next: string | null;
}

export interface SubmissionRow {
  readonly id: string;
  readonly status: SubmissionRecord["status"];
  readonly verdict: string | null;
  readonly language: string;
  readonly profile: string;
  readonly account: AccountRef;
  readonly project: { readonly id: string; readonly name: string } | null;
  readonly key: { readonly id: string; readonly name: string };
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
}

/** GET /submissions/:id → SubmissionDetail. GET /submissions/:id/record → the record alone, as a download. */
export interface SubmissionDetail {
  readonly row: SubmissionRow;
  readonly record: SubmissionRecord;
  readonly code: string;
  readonly stdin: string;
  readonly attempts: number;
  /** The verdict in a sentence or two for a newcomer, and why it was not a similar one; null until the run ends. */
  readonly explanation: Explanation | null;
  readonly timeline: readonly Span[];
  readonly usage: readonly Usage[];
  readonly proofs: readonly Proof[];
  readonly deliveries: readonly Delivery[];
}

export interface Explanation {
  readonly title: string;
  readonly text: string;
  /** "Why not RE?" and the like. */
  readonly whyNot: readonly { readonly verdict: string; readonly text: string }[];
}

/** Unknown spans (a compile step of an old record) are absent. */
export interface Span {
  readonly name: "queued" | "compile" | "run" | "teardown";
  readonly startMs: number;
  readonly ms: number;
}

/** Of the execute step. */
export interface Usage {
  readonly name: "cpu" | "wall" | "memory" | "processes" | "stdout" | "stderr";
  readonly used: number;
  readonly limit: number;
  readonly unit: "ms" | "bytes" | "count";
  /** The limit that ended the run. */
  readonly met: boolean;
}

/** A field of the evidence and its meaning. */
export interface Proof {
  /** As in the record: `limits.cgroup.oom_kill_events`. */
  readonly field: string;
  readonly value: string;
  readonly meaning: string;
}

/** POST /submissions → {id}: a run of the playground, charged to the account's playground key. */
export interface NewSubmission {
  readonly accountId: string;
  readonly language: string;
  readonly code: string;
  readonly stdin: string;
  readonly profile: "judge" | "agent";
}

/** POST /submissions/:id/again → {id}: runs the same program again, with the playground key. */
export interface Accepted {
  readonly id: string;
}

/**
 * GET /submissions/:id/live → text/event-stream with the events `status` (pending, running), `stdout` and `stderr`
 * (JSON: {at: offset in bytes, text}) and finally `ended` (SubmissionDetail), then the end of the stream. Begins with
 * the output so far.
 */
export type LiveEvent =
  | { readonly event: "status"; readonly data: { readonly status: "pending" | "running" } }
  | { readonly event: "stdout" | "stderr"; readonly data: { readonly at: number; readonly text: string } }
  | { readonly event: "ended"; readonly data: SubmissionDetail };

// ---- languages, nodes, audit, settings

/** GET /languages → Language[]: the configured languages, available or not. */
export interface Language {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly version: string;
  readonly available: boolean;
  readonly detail: string;
  /** The command lines. */
  readonly compile: string | null;
  readonly execute: string;
  readonly limits: Readonly<
    Record<"judge" | "agent", { readonly compile: StepLimits | null; readonly execute: StepLimits }>
  >;
  /** Example programs: hello, and one for each verdict, including hostile programs. */
  readonly examples: readonly Example[];
}

export interface StepLimits {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly processes: number;
  readonly fileBytes: number;
}

export interface Example {
  readonly title: string;
  readonly verdict: string;
  readonly code: string;
  readonly stdin: string;
}

/** GET /nodes → Node[]: the workers. */
export interface Node {
  readonly id: string;
  readonly slots: number;
  readonly languages: readonly string[];
  readonly ready: boolean;
  readonly cgroupBackend: string | null;
  readonly checks: readonly HealthCheck[];
  readonly provenAt: string | null;
  readonly running: number;
}

/** GET /audit?account=&before=&limit=100 → Audit, newest first. */
export interface Audit {
  readonly entries: readonly AuditEntry[];
  readonly next: string | null;
}

export interface AuditEntry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly account: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  /**
   * Address of the client that made the request; null for a command, and for entries older than the recording of
   * addresses.
   */
  readonly address: string | null;
}

/**
 * GET /settings (administrators) → Settings; PUT /tiers/:name → Tier; POST /accounts → Account; PATCH /accounts/:id
 * (AccountChanges) → Account.
 */
export interface Settings {
  /** Null: records are kept indefinitely. Set by the configuration of the service; read-only here. */
  readonly retentionMs: number | null;
  readonly maxPending: number;
  readonly tiers: readonly Tier[];
  readonly accounts: readonly UsedAccount[];
}

export interface Tier {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly concurrency: number;
}

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly createdAt: string;
  /** Null: not suspended. */
  readonly suspendedAt: string | null;
}

/** An account with its current usage of shared resources. */
export interface UsedAccount extends Account {
  readonly pending: number;
  readonly running: number;
  /** Requests of all its keys in the last minute. */
  readonly requests: number;
}

/** POST /accounts/:id/drop-pending (administrators) → Dropped; POST /accounts/:id/suspend and /resume → Account. */
export interface Dropped {
  readonly dropped: number;
}

export interface NewAccount {
  readonly name: string;
  readonly tier: string;
}

export type AccountChanges = Partial<NewAccount>;
