// Generated from src/store/schema/schema.postgres.sql and the comments of its migrations: npm run generate.
import type { Generated, Selectable } from "kysely";

/**
 * The tables and views, and their columns. Times are milliseconds since the epoch. Programs, input and output are bytes, because
 * PostgreSQL's text type rejects U+0000.
 */
export interface Schema {
  /** The customers of the service. Everything else belongs to one of them. */
  accounts: {
    id: string;
    name: string;
    tier: string;
    created_at: number;
    /**
     * Of accounts with equally many running submissions, the one with the lowest turn is served next. A claim gives it the highest turn.
     */
    turn: Generated<number>;
    /** Null if the account is not suspended. */
    suspended_at: number | null;
    /** The turn for claims of deliveries, among accounts with equally many attempts under way. */
    delivery_turn: Generated<number>;
  };
  /** The keys of the API. Only their hashes are stored. */
  api_keys: {
    id: string;
    account_id: string;
    project_id: string | null;
    name: string;
    prefix: string;
    hash: string;
    /** The limits of the key; null for those of the tier. */
    requests_per_minute: number | null;
    concurrency: number | null;
    /** JSON array of profile names. */
    profiles: string;
    default_profile: string;
    created_at: number;
    revoked_at: number | null;
    last_used_at: number | null;
    /** Of keys of an account with equally many running submissions, the one with the lowest turn is next. A claim gives it the highest. */
    turn: Generated<number>;
    /** When a rotated key expires; null for a key that was not rotated. */
    expires_at: number | null;
    /** The key that this one replaced; null for none. */
    replaces: string | null;
  };
  /** The attempts to send deliveries. */
  attempts: {
    delivery_seq: number;
    /** 1 for the first. */
    number: number;
    at: number;
    latency_ms: number;
    /** The HTTP status of the response; null without a response. */
    status: number | null;
    /** The error in words, for people; null without an error. */
    error: string | null;
    /** The first bytes of the response; null without a response. */
    answer: Buffer | null;
    /**
     * The headers of the request, and the first headers of the response: JSON pairs of names and values. Null if there was no request or no
     * response, and for attempts of releases that did not store headers.
     */
    sent_headers: string | null;
    answer_headers: string | null;
  };
  /** The audit trail: changes, sign-ins, and reads by administrators. */
  audit: {
    seq: Generated<number>;
    at: number;
    /** `cli` for a command, the e-mail of a person, or `stranger` for a refused sign-in. */
    actor: string;
    /** For example `key.create`. */
    action: string;
    /** Id of the object that was changed or read, or a name (`AuditEntry.subject`). */
    subject: string;
    account_id: string | null;
    /** JSON; never contains a secret. */
    detail: string;
    /** The address of the client, or its network for a refused sign-in; null if it is unknown, and for a command. */
    address: string | null;
  };
  /** The inputs and answers of tests. Each content is stored once per account. A row can have several MiB. */
  contents: {
    seq: Generated<number>;
    account_id: string;
    /** SHA-256, hexadecimal. */
    hash: string;
    bytes: Buffer;
  };
  /** The outbox of webhook deliveries. The transaction that stores a result adds its deliveries, so that a crash loses none. */
  deliveries: {
    seq: Generated<number>;
    id: string;
    endpoint_id: string;
    /** Null for a delivery of a judgement, and for a test message, which has a `body`. */
    submission_seq: number | null;
    /** The header webhook-id: the id of the submission or judgement, or an id of the test message. */
    message_id: string;
    /** `result`, `replay` or `test`. */
    kind: string;
    body: Buffer | null;
    /** `pending`, `delivered` or `failed`. */
    state: string;
    /** The number of recorded attempts. */
    attempts: Generated<number>;
    /** The time of the next attempt; null for an ended delivery. */
    next_at: number | null;
    /** Increases with every claim. */
    fence: Generated<number>;
    lease_until: number | null;
    created_at: number;
    ended_at: number | null;
    /** Why the delivery failed, if it was ended without a further attempt, as after the removal of its endpoint; otherwise null. */
    reason: string | null;
    judgement_seq: number | null;
    /** 1 for a callback, which has another body and URL than other deliveries; otherwise null. */
    callback: number | null;
  };
  /** The bytes that sandboxes have leased of a day of an account or project, and not given back. */
  egress_days: {
    /** The id of the account or project. */
    owner_id: string;
    /** In UTC, as in 2026-11-30. */
    day: string;
    bytes_up: number;
    bytes_down: number;
  };
  /** What sandboxes have reached, or tried to. Hostile programs choose the names, of which a project has at most 1,000 a day. */
  egress_hosts: {
    account_id: string;
    /** In UTC, as in 2026-11-30. */
    day: string;
    /** Empty for sandboxes without a project. */
    project_id: string;
    /** A name or an address; empty for all others. */
    name: string;
    /** `allowed` or `denied`. */
    decision: string;
    connections: number;
    bytes_up: number;
    bytes_down: number;
  };
  /** The webhook endpoints, which receive the results of projects. */
  endpoints: {
    id: string;
    project_id: string;
    url: string;
    /** The secret that signs messages, encrypted with the key in a file; see src/webhooks/. */
    secret: Buffer;
    /** `standard` if the key of the HMAC is the decoded secret, `raw` if it is the text of the secret. */
    signing: string;
    /** 1 if the endpoint is active, otherwise 0. */
    active: number;
    created_at: number;
    removed_at: number | null;
    /** When the first delivery failed since the last success; null if none has failed since. See `Endpoint.failingSinceMs`. */
    failing_since: number | null;
  };
  /** The executions of sandboxes, with their outcomes. A row can have several MiB. */
  executions: {
    sandbox_seq: number;
    /** 1 for the first. */
    number: number;
    key_id: string;
    kind: string;
    /** JSON of what the client asked for, without input, code and variables of the environment. */
    request: string;
    /** `running`, `completed` or `error`. */
    status: string;
    verdict: string | null;
    cause: string | null;
    started_at: number;
    completed_at: number | null;
    /** Processes that the main program left; null while it runs, and if nothing is known. */
    processes_left: number | null;
    /** JSON of the outcome, as in `outcomes`; null while it runs. */
    body: string | null;
    stdout: Buffer | null;
    stderr: Buffer | null;
    /** JSON of what the execution reached over the network (EgressRecord), which can have 2 MiB. */
    egress: string | null;
  };
  /** Secrets that a rotation replaced: deliveries are also signed with them until they expire. */
  former_secrets: {
    id: string;
    endpoint_id: string;
    /** Encrypted, like the current secret. */
    secret: Buffer;
    ends_at: number;
  };
  /**
   * How many submissions ended in the minute that begins at `at`. Later, rows of minutes are merged into rows of hours. The same holds for
   * the other tables of the history.
   */
  history: {
    at: number;
    account_id: string;
    language: string;
    verdict: string;
    amount: number;
  };
  /** The number of ended deliveries by endpoint and state. */
  history_deliveries: {
    at: number;
    /** The account of the endpoint. */
    account_id: string;
    endpoint_id: string;
    state: string;
    amount: number;
  };
  /** The number of ended submissions by key. */
  history_keys: {
    at: number;
    account_id: string;
    key_id: string;
    verdict: string;
    amount: number;
  };
  /** The most submissions that were pending, and that were running, at one time in the minute or hour that begins at `at`. */
  history_load: {
    at: number;
    /** Empty for the whole service, which has a row even if nothing was pending or running. */
    account_id: string;
    pending: number;
    running: number;
    /** The slots of all workers; 0 in rows of an account. */
    slots: number;
  };
  /** The number of ended submissions by wait time and by run time. */
  history_times: {
    at: number;
    account_id: string;
    /** `wait`: from acceptance to start; `run`: from start to end. */
    kind: string;
    /** The range of the time (`binOf` in src/domain/history.ts). */
    bin: number;
    amount: number;
  };
  /** Unused one-time links. */
  invitations: {
    id: string;
    /** SHA-256 of the token in the link, hexadecimal. */
    hash: string;
    /** `first`: for the first administrator. `invite`: for a new person. `reset`: for a person who forgot the password. */
    kind: string;
    /** Null for the first administrator, who chooses an e-mail. */
    email: string | null;
    /** The person whose password is reset; null for the other kinds. */
    person_id: string | null;
    /** The account of which the invited person becomes a member; null for none. */
    account_id: string | null;
    administrator: number;
    created_at: number;
    expires_at: number;
  };
  /**
   * What submissions have that came through the Judge0 API, in addition to their program and outcome. A row can have several MiB. Releases
   * from the view foreign_submissions on use only the view.
   */
  judge0_submissions: {
    submission_seq: number;
    /** The account of the submission. An index has the submissions of an account in their order. */
    account_id: string;
    language_id: number;
    expected_output: Buffer | null;
    additional_files: Buffer | null;
    /** JSON; src/compat/judge0/submission.ts has the format. */
    settings: string;
    callback_url: string | null;
    /** The endpoint whose secret signs the callback; null without a callback. */
    endpoint_id: string | null;
    /** The Judge0 status of an ended submission; null until the end. */
    status: number | null;
    /** The output of a successful compilation; null if there is none. */
    compile_output: Buffer | null;
    /** The name of the API (ForeignApi.name). */
    api: Generated<string>;
  };
  /** The programs of judgements. They have their own table, because the rows of `judgements` are read often. */
  judged_programs: {
    judgement_seq: number;
    code: Buffer;
    additions: Buffer | null;
  };
  /** Programs that are run on many tests. Each run is a submission. */
  judgements: {
    seq: Generated<number>;
    id: string;
    account_id: string;
    key_id: string;
    project_id: string | null;
    version_seq: number;
    language: string;
    profile: string;
    stop: string;
    status: string;
    /** The states of the tests (src/domain/judgement.ts), one letter each. */
    states: string;
    verdict: string | null;
    score: number | null;
    created_at: number;
    completed_at: number | null;
    /** The problem, which may have been deleted, and the number of its version. Both are null if the request contained the tests. */
    problem_id: string | null;
    problem_version: number | null;
    /** JSON of a StoredGrading (src/store/judgements/grading.ts); null unless a grader has graded the judgement. */
    grading: string | null;
  };
  /** The networks from which people have signed in. */
  known_places: {
    person_id: string;
    place: string;
    /** The time of the last sign-in from this network. */
    at: number;
  };
  /** The announcements of processes that have links: services, and processes that have sandboxes. */
  links: {
    id: string;
    /** SHA-256 of the certificate of the process, hexadecimal. */
    fingerprint: string;
    /** Where the process can be dialled, as HOST:PORT; null: nowhere. */
    address: string | null;
    /** 1 if it is a service, which may ask others. */
    is_service: number;
    /** The sandboxes that it can have, and their memory; 0: it has none, and may not be asked. */
    sandboxes: number;
    memory_bytes: number;
    /** The largest number of CPUs that one of them may ask for. */
    cpus: number;
    /** The machine whose snapshots its sandboxes can begin with, as in the table of snapshots; null: it has no sandboxes. */
    snapshot_store: string | null;
    announced_at: number;
    lease_until: number;
    /** Bytes of all disks that the process can give its sandboxes; 0: they have none. */
    disk_bytes: Generated<number>;
    /** 1 if the sandboxes of the process can have a network. */
    network: Generated<number>;
  };
  /** The input that clients give to submissions while they run. The end of a submission deletes its rows. */
  live_input: {
    submission_seq: number;
    /** The number of the piece, from 1. */
    n: number;
    /** The bytes of all pieces up to this one. */
    total: number;
    /** Null for a signal. `bytes` and `signal` are both null for the end of the input. */
    bytes: Buffer | null;
    signal: number | null;
  };
  /** The output of submissions that people watch. The end of a submission deletes its rows. */
  live_output: {
    submission_seq: number;
    /** The fence of the claim: a repeated run begins without output. */
    fence: number;
    /** The number of the piece in the run. */
    n: number;
    /** `stdout` or `stderr`. */
    stream: string;
    /** Offset in the stream, in bytes. */
    at: number;
    bytes: Buffer;
  };
  /** The accounts of each person. */
  members: {
    person_id: string;
    account_id: string;
  };
  /** What an operator permits the sandboxes of an account, or of one of its projects. */
  network_bounds: {
    /** The id of the account or project. */
    owner_id: string;
    account_id: string;
    /** Null: the bound is that of the account. */
    project_id: string | null;
    /** 1 at first, and one higher after each change. */
    version: number;
    /** JSON of the policy (toNetworkJson of src/domain/egress/policy.ts): at most 16 KiB. */
    policy: string;
    /** Bytes of all sandboxes together on one day; null: there is no such bound. */
    up_per_day: number | null;
    down_per_day: number | null;
    changed_at: number;
  };
  /** The outcomes of ended submissions. */
  outcomes: {
    submission_seq: number;
    stdout: Buffer | null;
    stderr: Buffer | null;
    /** JSON of the other fields of the Outcome (src/store/submissions/rows.ts). */
    body: string;
    /** What the compiler wrote for a program that compiled; null if it wrote nothing. */
    compile_output: Buffer | null;
  };
  /** Users of the dashboard. */
  people: {
    id: string;
    /** The e-mail in lower case, for comparisons. */
    email: string;
    name: string;
    /** 1 if the person sees and changes all accounts, otherwise 0. */
    administrator: number;
    /** The hash of the password, with its parameters; null for a person who only signs in with the provider. */
    password: string | null;
    /** Issuer and subject at the provider; null until the person signs in with the provider, and after a reset of the password. */
    provider_subject: string | null;
    created_at: number;
    seen_at: number | null;
    disabled_at: number | null;
  };
  /** The newest versions of problems. */
  problem_versions: {
    problem_seq: number;
    /** 1 for the first. */
    number: number;
    version_seq: number;
    tests: number;
    /** The size of all inputs and answers together. */
    bytes: number;
    /** The limits of each test; null for those of the profile. */
    cpu_secs: number | null;
    memory_bytes: number | null;
    created_at: number;
    /** JSON of the list of texts that the definition of a faulty version has; null for any other version. */
    faults: string | null;
  };
  /** The problems of accounts: tests that are stored under a name. */
  problems: {
    seq: Generated<number>;
    id: string;
    account_id: string;
    name: string;
    title: string;
    /** The number of the current version. */
    version: number;
    created_at: number;
    updated_at: number;
  };
  /** The programs of single submissions. */
  programs: {
    submission_seq: number;
    code: Buffer;
    stdin: Buffer;
    /** JSON (src/domain/program-options.ts) as UTF-8; null if the program consists of one source file and its input. */
    additions: Buffer | null;
  };
  /** Groups of keys and endpoints of an account. */
  projects: {
    id: string;
    account_id: string;
    name: string;
    created_at: number;
    /** An archived project gets no new keys or endpoints; its records stay. Null if the project is not archived. */
    archived_at: number | null;
  };
  /** The requests of each key in the last minute, for an exact sliding window. The newest request of a key stays, whatever its age. */
  quota: {
    key_id: string;
    /** The number of the request among those of the key, which increases. */
    n: number;
    at: number;
  };
  /** The results of ended runs of judgements. */
  runs: {
    judgement_seq: number;
    test: number;
    submission_seq: number;
    verdict: string;
    /** The earned part of the points of the test, 0 to 1. */
    share: number;
    /** The message of the checker or of the run. */
    message: string | null;
    cpu_usec: number | null;
    wall_ns: number | null;
    memory_bytes: number | null;
  };
  /** The samples of submissions that ran long enough to have some. */
  samples: {
    submission_seq: number;
    /** JSON; src/domain/samples.ts has the format. */
    body: string;
  };
  /**
   * What a sandbox that has ended reached over the network. A table of its own, because lists of sandboxes read whole rows. A row can have
   * several MiB.
   */
  sandbox_egress: {
    sandbox_seq: number;
    /** JSON of a SandboxEgressRecord (src/domain/egress/egress-record.ts), which can have 2 MiB. */
    body: string;
  };
  /** A table of its own, because lists of sandboxes read whole rows. */
  sandbox_usage: {
    sandbox_seq: number;
    /** JSON of the samples (src/domain/sandboxes/usage.ts): at most 10 kB. */
    samples: string;
  };
  /** Sandboxes: boxes that live, in which executions run. */
  sandboxes: {
    seq: Generated<number>;
    id: string;
    account_id: string;
    key_id: string;
    project_id: string | null;
    /** `creating`, `running`, `paused` or `ended`. */
    state: string;
    /** Why it ended (SANDBOX_END_REASONS in src/domain/sandboxes/sandbox.ts); null until then. */
    end_reason: string | null;
    created_at: number;
    started_at: number | null;
    ended_at: number | null;
    lifetime_secs: number;
    idle_secs: number;
    memory_bytes: number;
    /** JSON of the limits (SandboxLimits). */
    limits: string;
    /** JSON of the names and values that the client chose. */
    metadata: string;
    /** JSON of the SandboxEvidence; null until the box is ready. */
    evidence: string | null;
    /** The process that has the sandbox, and until when nobody else may end it. */
    worker_id: string;
    lease_until: number;
    idempotency_key: string | null;
    request_hash: string | null;
    /** The snapshot whose files the sandbox began with. */
    from_snapshot: string | null;
    on_timeout: Generated<string>;
    /** The snapshot that was then taken, or why there is none. */
    last_snapshot: string | null;
    last_snapshot_error: string | null;
    /** The launcher that has the box. Null until the box is ready. */
    launcher: string | null;
    /**
     * JSON with the token of the box and the environment of its executions, encrypted like a webhook secret. Null once the sandbox has
     * ended.
     */
    kept: Buffer | null;
    /** Until when its launcher keeps it, if the process that had it was stopped and has left it to the launcher; otherwise null. */
    kept_until: number | null;
    /** The service that waits for a process that claims the sandbox, or has waited; null if the service had the sandbox itself. */
    service_id: string | null;
    /** Bytes of the disk of the sandbox; 0: its files are in memory. */
    disk_bytes: Generated<number>;
    /** The number of the newest feature that the sandbox asks for (SANDBOX_FEATURES in src/domain/sandboxes/sandbox.ts). */
    needs: Generated<number>;
    /** JSON of its network policy; null: it was created without a network, and has none for good. */
    network: string | null;
    /** The version of the policy: one higher after each replacement. */
    network_version: Generated<number>;
    /** The bytes that its processes have leased of its budgets, and not given back. */
    leased_up: Generated<number>;
    leased_down: Generated<number>;
  };
  /** Requests of the last minute that made the service send to webhook endpoints, and the deliveries that replays added. */
  sends: {
    seq: Generated<number>;
    at: number;
    account_id: string;
    kind: string;
    amount: number;
  };
  /** The sessions of people who are signed in to the dashboard. */
  sessions: {
    /** SHA-256 of the token in the cookie, hexadecimal. */
    hash: string;
    person_id: string;
    created_at: number;
    seen_at: number;
  };
  /** The sign-in attempts of the last minute, in all processes. */
  sign_in_attempts: {
    seq: Generated<number>;
    at: number;
    /** The network of the client (src/http/listener/network.ts). */
    place: string;
    /** SHA-256 of the e-mail, because unknown clients can type anything there, including a password. */
    email_hash: string;
  };
  /** Snapshots. The archives are files of the machines. */
  snapshots: {
    seq: Generated<number>;
    id: string;
    account_id: string;
    project_id: string | null;
    key_id: string;
    /** The sandbox can have been deleted since. */
    sandbox_id: string;
    name: string | null;
    /** The length of the archive; while it is written, at least what it will probably have. */
    bytes: number;
    /** Both are null while the archive is written. */
    files: number | null;
    sha256: string | null;
    /** The machine that has the archive (SnapshotStore.id). */
    store_id: string;
    created_at: number;
    /** Until when the process that writes the archive may take; null when it is complete. */
    written_until: number | null;
  };
  /** What only submissions with a network have. The sandbox in which one runs has no row of its own. */
  submission_networks: {
    submission_seq: number;
    /** JSON of the network policy that the request asked for. */
    network: string;
    /** The bytes that workers have leased of its budgets, and not given back. */
    leased_up: Generated<number>;
    leased_down: Generated<number>;
    /** JSON of what its run reached over the network (EgressRecord), which can have 2 MiB. */
    egress: string | null;
  };
  /**
   * How far submissions have come that gave up their slot between two of their runs. The end of a submission deletes its row. A row can
   * have several MiB.
   */
  submission_progress: {
    submission_seq: number;
    /** JSON; src/domain/progress.ts has the format. */
    body: Buffer;
  };
  /** Submissions. The rows are small, because each claim, renewal and end of a submission rewrites its row. */
  submissions: {
    /** The order of acceptance, independent of clocks. */
    seq: Generated<number>;
    id: string;
    account_id: string;
    key_id: string;
    project_id: string | null;
    language: string;
    profile: string;
    status: string;
    /** How many attempts count against MAX_ATTEMPTS. */
    attempts: number;
    /** Increases with every claim, and never decreases: a lease is valid only if it has this fence. */
    fence: Generated<number>;
    idempotency_key: string | null;
    request_hash: string | null;
    created_at: number;
    started_at: number | null;
    completed_at: number | null;
    worker_id: string | null;
    lease_until: number | null;
    verdict: string | null;
    /** 1 if a user may watch the run, 2 if the client also gives it input; otherwise null. */
    live: number | null;
    /** The judgement of which it is a run, and the number of the test, from 0. Both are null for a single submission. */
    judgement_seq: number | null;
    test: number | null;
    /** Null until the end, and for accepted submissions that ended before this column existed. */
    cause: string | null;
    /** Id of the submission that this one repeats, which may have been deleted; null for none. */
    original_id: string | null;
    /**
     * Only for releases before the view foreign_submissions: 1 if there is a row in judge0_submissions, 2 if the submission also runs
     * several times; otherwise null.
     */
    judge0: number | null;
    /** The number of completed runs when the submission last gave up its slot between two runs; null if it never did. */
    completed_runs: number | null;
    /** 1 if clients give the program input while it runs; otherwise null. */
    takes_input: number | null;
  };
  /** The limits that several accounts have in common. */
  tiers: {
    name: string;
    requests_per_minute: number;
    concurrency: number;
    sandboxes: Generated<number>;
    sandbox_memory_bytes: Generated<number>;
    executions: Generated<number>;
    snapshots: Generated<number>;
    snapshot_bytes: Generated<number>;
    /** Bytes of the disks of all sandboxes of an account together. */
    sandbox_disk_bytes: Generated<number>;
  };
  /** Ended submissions that the history has yet to count. The submissions themselves may have been deleted. */
  uncounted: {
    submission_seq: number;
    account_id: string;
    language: string;
    /** See `classOf` (src/domain/history.ts). */
    verdict: string;
    completed_at: number;
    wait_ms: number;
    run_ms: number;
    /** Null in rows of earlier releases: the migration that added the column has counted these submissions by key, if they had started. */
    key_id: string | null;
  };
  /** Ended deliveries that the history has yet to count. */
  uncounted_deliveries: {
    delivery_seq: number;
    endpoint_id: string;
    /** `delivered` or `failed`. */
    state: string;
    ended_at: number;
  };
  /** The contents of the tests of a version. Place 0 of a test is its input; the other places are its answers. */
  version_contents: {
    version_seq: number;
    test: number;
    place: number;
    content_seq: number;
  };
  /** The immutable definitions of judgements and of versions of problems. Each is stored once per account. */
  versions: {
    seq: Generated<number>;
    account_id: string;
    /** SHA-256 of the definition, the checker and the contents, hexadecimal; another text while the version is being deleted. */
    hash: string;
    /** JSON of a Definition (src/domain/judgement.ts). */
    definition: string;
    /** The program of the checker (`encodeProgram` in src/store/submissions/rows.ts); null if the checker is no program. */
    checker: Buffer | null;
    /** 1 if all its contents are stored, 0 while they are being stored, -1 while the version is being deleted. */
    complete: number;
    /** When it was last stored or used. If no judgement or problem uses it, it is deleted like a record that ended at this time. */
    used_at: number;
    /** JSON of a Harness (src/domain/harness.ts); null if the problem adds nothing to submissions. */
    harness: string | null;
    /** A program, as in the column checker; null if the problem has no grader. */
    grader: Buffer | null;
  };
  /** The announcements of workers. */
  workers: {
    id: string;
    slots: number;
    /** JSON array of names. */
    languages: string;
    /** JSON of the Readiness (src/domain/readiness.ts) that its newest proof found. */
    readiness: string;
    proven_at: number;
    announced_at: number;
    lease_until: number;
  };
  /** What clients of other services' APIs have sent in addition to the program; src/domain/foreign-api.ts describes the columns. */
  foreign_submissions: {
    submission_seq: number;
    account_id: string;
    api: Generated<string>;
    category: number;
    data: string;
    reference: Buffer | null;
    attachment: Buffer | null;
    callback_url: string | null;
    endpoint_id: string | null;
    note: number | null;
    compile_output: Buffer | null;
  };
}

/** A row of a table. */
export type Row<Table extends keyof Schema> = Selectable<Schema[Table]>;

export interface TableShape {
  readonly name: keyof Schema;
  /** The columns of its primary key. */
  readonly key: readonly string[];
  /** The column in which the database numbers the rows. */
  readonly identity?: string;
  /** A column that references other rows of the table. */
  readonly refersToItself?: string;
  /** Whether a row can have several MiB, so that fewer rows are read at once. */
  readonly isLarge?: true;
}

/** All tables, each after those that it references. */
export const TABLES: readonly TableShape[] = [
  { name: "tiers", key: ["name"] },
  { name: "accounts", key: ["id"] },
  { name: "api_keys", key: ["id"], refersToItself: "replaces" },
  { name: "projects", key: ["id"] },
  { name: "endpoints", key: ["id"] },
  { name: "versions", key: ["seq"], identity: "seq" },
  { name: "judgements", key: ["seq"], identity: "seq" },
  { name: "submissions", key: ["seq"], identity: "seq" },
  { name: "deliveries", key: ["seq"], identity: "seq" },
  { name: "attempts", key: ["delivery_seq", "number"] },
  { name: "audit", key: ["seq"], identity: "seq" },
  { name: "contents", key: ["seq"], identity: "seq", isLarge: true },
  { name: "egress_days", key: ["owner_id", "day"] },
  { name: "egress_hosts", key: ["account_id", "day", "project_id", "name", "decision"] },
  { name: "sandboxes", key: ["seq"], identity: "seq" },
  { name: "executions", key: ["sandbox_seq", "number"], isLarge: true },
  { name: "former_secrets", key: ["id"] },
  { name: "history", key: ["at", "account_id", "language", "verdict"] },
  { name: "history_deliveries", key: ["at", "account_id", "endpoint_id", "state"] },
  { name: "history_keys", key: ["at", "account_id", "key_id", "verdict"] },
  { name: "history_load", key: ["at", "account_id"] },
  { name: "history_times", key: ["at", "account_id", "kind", "bin"] },
  { name: "people", key: ["id"] },
  { name: "invitations", key: ["id"] },
  { name: "judge0_submissions", key: ["submission_seq"], isLarge: true },
  { name: "judged_programs", key: ["judgement_seq"] },
  { name: "known_places", key: ["person_id", "place"] },
  { name: "links", key: ["id"] },
  { name: "live_input", key: ["submission_seq", "n"] },
  { name: "live_output", key: ["submission_seq", "fence", "n"] },
  { name: "members", key: ["person_id", "account_id"] },
  { name: "network_bounds", key: ["owner_id"] },
  { name: "outcomes", key: ["submission_seq"] },
  { name: "problems", key: ["seq"], identity: "seq" },
  { name: "problem_versions", key: ["problem_seq", "number"] },
  { name: "programs", key: ["submission_seq"] },
  { name: "quota", key: ["key_id", "n"] },
  { name: "runs", key: ["judgement_seq", "test"] },
  { name: "samples", key: ["submission_seq"] },
  { name: "sandbox_egress", key: ["sandbox_seq"], isLarge: true },
  { name: "sandbox_usage", key: ["sandbox_seq"] },
  { name: "sends", key: ["seq"], identity: "seq" },
  { name: "sessions", key: ["hash"] },
  { name: "sign_in_attempts", key: ["seq"], identity: "seq" },
  { name: "snapshots", key: ["seq"], identity: "seq" },
  { name: "submission_networks", key: ["submission_seq"] },
  { name: "submission_progress", key: ["submission_seq"], isLarge: true },
  { name: "uncounted", key: ["submission_seq"] },
  { name: "uncounted_deliveries", key: ["delivery_seq"] },
  { name: "version_contents", key: ["version_seq", "test", "place"] },
  { name: "workers", key: ["id"] },
];
