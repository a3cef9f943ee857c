// Generated from /openapi.json: npm run generate. Over 300 lines: one list.

export interface Accepted {
  /**
   * Id of the submission
   */
  id: string;
  status: "pending";
  /**
   * Pending submissions of all keys, this one included
   */
  queue_depth: number;
}

export interface AppliedLimits {
  rlimits: AppliedLimitsRlimits;
  cgroup_backend: "cgroup_v2" | "cgroup_v1" | "cgroup_hybrid";
  cgroup: AppliedLimitsCgroup;
}

export interface AppliedLimitsCgroup {
  memory_limit_bytes: number;
  memory_peak_bytes: number;
  oom_events: number;
  oom_kill_events: number;
  cpu_usage_usec: number;
  process_count: number;
  process_limit: number;
}

export interface AppliedLimitsRlimits {
  /**
   * A backstop above the CPU limit; the wall and CPU limits follow from profile and language
   */
  cpu_secs?: Rlimit;
  as_bytes?: Rlimit;
  nofile?: Rlimit;
  nproc?: Rlimit;
}

export interface Base64 {
  base64: string;
}

export type Batch = (Accepted | ErrorBody)[];

/**
 * @minItems 1
 * @maxItems 50
 */
export type BatchRequest = SubmitRequest[];

export type BuiltInChecker = PlainChecker | TokensChecker | FloatsChecker;

export interface Case {
  stdin?: string;
  /**
   * The answer
   */
  expected: string;
}

export interface CaseResult {
  submission_id: string | null;
  verdict: JudgementVerdict;
  passed: boolean;
  /**
   * The first difference, or the error message of the record
   */
  message: string | null;
  stdout: string;
  stderr: string;
  exit_code: number | null;
  cpu_time_secs: number | null;
  wall_time_secs: number | null;
  memory_peak_bytes: number | null;
}

export type Cause =
  | "normal_exit"
  | "nonzero_exit"
  | "fatal_signal"
  | "compile_error"
  | "internal_error"
  | "cancelled"
  | "oom_kill"
  | "wall_timeout"
  | "cpu_timeout"
  | "pids_limit"
  | "file_size_limit"
  | "compile_oom_kill"
  | "compile_wall_timeout"
  | "compile_cpu_timeout"
  | "compile_pids_limit"
  | "compile_file_size_limit";

export interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

export interface Command {
  command: string[];
  env: {
    [k: string]: string;
  };
}

export type Content = string | Base64;

export interface ErrorBody {
  error: string;
  message?: string;
}

export interface Evidence {
  isolation: Isolation;
  limits: AppliedLimits;
  teardown: Teardown;
}

export interface FloatsChecker {
  type: "floats";
  /**
   * True by default
   */
  case_sensitive?: boolean;
  /**
   * Lines must have the same tokens; false by default
   */
  line_breaks?: boolean;
  /**
   * The largest absolute error; 10⁻⁶ if neither error is given, 0 if only the other one is
   */
  absolute?: number;
  /**
   * The largest relative error; 10⁻⁶ if neither error is given, 0 if only the other one is
   */
  relative?: number;
}

export interface GroupResult {
  /**
   * Empty for tests without a group
   */
  name: string;
  rule: "sum" | "min";
  score: number;
  max_score: number;
  /**
   * Null while it can still be
   */
  passed: boolean | null;
}

export interface Health {
  status: "ok" | "degraded";
  /**
   * `strict`: a recent self-test proved full isolation
   */
  enforcement_mode: "strict" | "none";
  /**
   * Submissions that can run at once
   */
  workers: number;
  /**
   * Pending submissions of all keys
   */
  queue_depth: number;
}

export interface ImportProblemQuery {
  /**
   * By default the directory in the archive that has all files
   */
  name?: string;
  /**
   * In seconds of CPU time, in place of that of the package. Required if it has none
   */
  time_limit?: number;
}

export interface Isolation {
  mode: "strict" | "incomplete";
  /**
   * Read back from the kernel
   */
  controls_applied: string[];
  /**
   * Not empty: the verdict is IE
   */
  controls_missing: string[];
  proc_policy: "hardened" | "none";
  sys_policy: "builtin-deny" | "custom" | "disabled";
  pidfd_mode: "native" | "fallback";
  reason: string;
}

export interface JudgeRequest {
  /**
   * Name or alias of a language; GET /api/languages has the names
   */
  language: string;
  /**
   * Source, 1 to 65536 bytes of UTF-8. Required without `code_base64` and `entry`
   */
  code?: string;
  /**
   * A profile that the key allows. Defaults to the default profile of the key
   */
  profile?: Profile;
  /**
   * The same as `code`, in base64
   */
  code_base64?: string;
  /**
   * Further files of /box: path → text, or {"base64": …}; up to 48 files with 1048576 bytes. The compilers of C, C++ and Go also compile those with their suffix
   */
  files?: {
    [k: string]: Content;
  };
  /**
   * Path of the file that is run, or compiled, in place of `code`
   */
  entry?: string;
  /**
   * Arguments of the program; with `env` up to 32 of each and 16384 bytes
   */
  args?: string[];
  /**
   * Environment variables of the program
   */
  env?: {
    [k: string]: string;
  };
  limits?: RunLimits;
  compile_limits?: RunLimits;
  /**
   * Options of the compiler, after its own: those for optimisation, standard, warnings and macros
   */
  compiler_options?: string[];
  /**
   * Whether output to stderr becomes part of stdout, in its order
   */
  stderr_to_stdout?: boolean;
  /**
   * @minItems 1
   * @maxItems 50
   */
  cases: Case[];
  /**
   * How output is compared with `expected`; `lines` by default, without white space at ends
   */
  checker?: "exact" | "lines" | "tokens" | "floats" | "unordered_lines" | "regex";
}

export interface Judged {
  results: CaseResult[];
  all_passed: boolean;
}

export interface Judgement {
  /**
   * Id of the judgement
   */
  id: string;
  schema_version: "judgement-1.0";
  language: string;
  profile: Profile;
  /**
   * The problem and its version; null for tests of a request
   */
  problem: JudgementProblem | null;
  /**
   * `error` if and only if the verdict is IE
   */
  status: Status;
  timestamps: JudgementTimestamps;
  verdict: JudgementVerdict | null;
  /**
   * Null until it has ended
   */
  score: number | null;
  tests: JudgementTests;
  max_score: number;
  stop: "first_failure" | "never" | "group";
  checker: "exact" | "lines" | "tokens" | "floats" | "unordered_lines" | "regex" | "program";
  groups: GroupResult[];
  /**
   * In the order of the tests
   */
  runs: Run[];
}

export interface JudgementAccepted {
  /**
   * Id of the judgement
   */
  id: string;
  status: "pending";
}

export interface JudgementGroup {
  name: string;
  /**
   * `sum` of the points, or all points times the `min`imum share of a test; `sum` by default
   */
  rule?: "sum" | "min";
  /**
   * Earlier groups of which all tests must pass
   */
  depends?: string[];
}

export interface JudgementProblem {
  id: string;
  version: number;
}

export interface JudgementRequest {
  /**
   * Name or alias of a language; GET /api/languages has the names
   */
  language: string;
  /**
   * Source, 1 to 65536 bytes of UTF-8. Required without `code_base64` and `entry`
   */
  code?: string;
  /**
   * A profile that the key allows. Defaults to the default profile of the key
   */
  profile?: Profile;
  /**
   * The same as `code`, in base64
   */
  code_base64?: string;
  /**
   * Further files of /box: path → text, or {"base64": …}; up to 48 files with 1048576 bytes. The compilers of C, C++ and Go also compile those with their suffix
   */
  files?: {
    [k: string]: Content;
  };
  /**
   * Path of the file that is run, or compiled, in place of `code`
   */
  entry?: string;
  /**
   * Arguments of the program; with `env` up to 32 of each and 16384 bytes
   */
  args?: string[];
  /**
   * Environment variables of the program
   */
  env?: {
    [k: string]: string;
  };
  limits?: RunLimits;
  compile_limits?: RunLimits;
  /**
   * Options of the compiler, after its own: those for optimisation, standard, warnings and macros
   */
  compiler_options?: string[];
  /**
   * Whether output to stderr becomes part of stdout, in its order
   */
  stderr_to_stdout?: boolean;
  /**
   * Required without `problem`
   *
   * @minItems 1
   * @maxItems 500
   */
  tests?: JudgementTest[];
  /**
   * Id of a problem: its tests, checker, groups and limits, in place of those fields
   */
  problem?: string;
  /**
   * By default the current one
   */
  problem_version?: number;
  /**
   * `lines` by default: without white space at the ends of lines
   */
  checker?: ("exact" | "lines" | "tokens" | "floats" | "unordered_lines" | "regex") | BuiltInChecker | ProgramChecker;
  /**
   * @maxItems 100
   */
  groups?: JudgementGroup[];
  /**
   * When tests are left out: after the `first_failure`, `never`, or after the first failure of a `group`
   */
  stop?: "first_failure" | "never" | "group";
}

export interface JudgementSummary {
  /**
   * Id of the judgement
   */
  id: string;
  schema_version: "judgement-1.0";
  language: string;
  profile: Profile;
  /**
   * The problem and its version; null for tests of a request
   */
  problem: JudgementSummaryProblem | null;
  /**
   * `error` if and only if the verdict is IE
   */
  status: Status;
  timestamps: JudgementSummaryTimestamps;
  verdict: JudgementVerdict | null;
  /**
   * Null until it has ended
   */
  score: number | null;
  tests: JudgementSummaryTests;
}

export interface JudgementSummaryProblem {
  id: string;
  version: number;
}

export interface JudgementSummaryTests {
  total: number;
  passed: number;
  ended: number;
}

export interface JudgementSummaryTimestamps {
  created_at: string;
  completed_at: string | null;
}

export interface JudgementTest {
  /**
   * Its number by default
   */
  name?: string;
  /**
   * The input: text, or {"base64": …}
   */
  stdin?: Content;
  /**
   * The answer, or several of which any is right. Required by the built-in checkers
   */
  expected?: Content | Content[];
  /**
   * 1 by default
   */
  points?: number;
  group?: string;
  limits?: RunLimits;
}

export interface JudgementTests {
  total: number;
  passed: number;
  ended: number;
}

export interface JudgementTimestamps {
  created_at: string;
  completed_at: string | null;
}

/**
 * WA: wrong output; CE: does not compile; others as in the record
 */
export type JudgementVerdict = "AC" | "WA" | "TLE" | "MLE" | "PLE" | "FSE" | "SIG" | "RE" | "CE" | "IE";

export interface Judgements {
  judgements: JudgementSummary[];
  /**
   * For `before`; null: no older ones
   */
  next: string | null;
}

export interface JudgementsQuery {
  /**
   * Only with this status
   */
  status?: "pending" | "running" | "completed" | "error";
  /**
   * Only in this language, by its canonical name
   */
  language?: string;
  /**
   * `next` of the page before
   */
  before?: string;
  /**
   * At most this many, 1 to 100
   */
  limit?: number;
  /**
   * Only with this verdict
   */
  verdict?: "AC" | "WA" | "TLE" | "MLE" | "PLE" | "FSE" | "SIG" | "RE" | "CE" | "IE";
  /**
   * Only on this problem, by its id, also after its deletion
   */
  problem?: string;
}

export interface Language {
  name: string;
  /**
   * Name with version and standard
   */
  label: string;
  aliases: string[];
  /**
   * Name of the source in /box
   */
  source: string;
  compile: Command | null;
  execute: Command;
  limits: {
    [k: string]: LanguageLimits;
  };
}

export type LanguageDetails = Language[];

export interface LanguageLimits {
  compile: Limits | null;
  execute: Limits;
}

/**
 * Canonical names
 */
export type Languages = string[];

export interface Limits {
  wall_time_secs: number;
  cpu_time_secs: number;
  memory_bytes: number;
  processes: number;
  file_bytes: number;
  open_files: number;
  stack_bytes: number;
  stdout_bytes: number;
  stderr_bytes: number;
}

/**
 * Of the execute step only, children included
 */
export interface Metrics {
  cpu_time_secs: number | null;
  wall_time_secs: number | null;
  memory_peak_bytes: number | null;
  cpu_wall_ratio: number | null;
  divergence: ("cpu_bound" | "sleep_or_block_bound" | "host_interference_suspected") | null;
}

export interface NotFinished {
  error: string;
  /**
   * Id of the submission
   */
  id: string;
  status: Status;
}

export interface NotReady {
  error: string;
  status: "not_ready";
  checks: Check[];
}

export interface Output {
  /**
   * Invalid UTF-8 becomes U+FFFD; without U+FFFD, the text is exactly the program's output
   */
  stdout: string | null;
  /**
   * Invalid UTF-8 becomes U+FFFD; without U+FFFD, the text is exactly the program's output
   */
  stderr: string | null;
  /**
   * Whether all output was captured, regardless of encoding
   */
  integrity: ("complete" | "truncated_by_judge_limit" | "crash_mid_write" | "write_error") | null;
}

export interface PlainChecker {
  type: "exact" | "lines" | "unordered_lines" | "regex";
}

export interface Problem {
  /**
   * Id of the problem
   */
  id: string;
  /**
   * Unique in the account
   */
  name: string;
  title: string;
  version: number;
  tests: number;
  /**
   * Of all inputs and answers
   */
  bytes: number;
  limits: ProblemLimits;
  created_at: string;
  updated_at: string;
  /**
   * Newest first
   */
  versions: ProblemVersions[];
}

/**
 * Of each test; null: that of the profile
 */
export interface ProblemLimits {
  cpu_time_secs: number | null;
  memory_bytes: number | null;
}

export interface ProblemVersions {
  version: number;
  tests: number;
  /**
   * Of all inputs and answers
   */
  bytes: number;
  limits: ProblemVersionsLimits;
  created_at: string;
}

/**
 * Of each test; null: that of the profile
 */
export interface ProblemVersionsLimits {
  cpu_time_secs: number | null;
  memory_bytes: number | null;
}

export interface Problems {
  problems: ProblemsProblems[];
  /**
   * For `before`; null: no older ones
   */
  next: string | null;
}

export interface ProblemsProblems {
  /**
   * Id of the problem
   */
  id: string;
  /**
   * Unique in the account
   */
  name: string;
  title: string;
  version: number;
  tests: number;
  /**
   * Of all inputs and answers
   */
  bytes: number;
  limits: ProblemsProblemsLimits;
  created_at: string;
  updated_at: string;
}

/**
 * Of each test; null: that of the profile
 */
export interface ProblemsProblemsLimits {
  cpu_time_secs: number | null;
  memory_bytes: number | null;
}

export interface ProblemsQuery {
  /**
   * `next` of the page before
   */
  before?: string;
  /**
   * At most this many, 1 to 100
   */
  limit?: number;
}

export type Profile = "judge" | "agent";

export interface ProgramChecker {
  type: "program";
  /**
   * How it is called and answers
   */
  interface: "kattis" | "testlib";
  /**
   * Name or alias of a language; GET /api/languages has the names
   */
  language: string;
  /**
   * Source, 1 to 65536 bytes of UTF-8. Required without `code_base64` and `entry`
   */
  code?: string;
  /**
   * The same as `code`, in base64
   */
  code_base64?: string;
  /**
   * Further files of /box: path → text, or {"base64": …}; up to 48 files with 1048576 bytes. The compilers of C, C++ and Go also compile those with their suffix
   */
  files?: {
    [k: string]: Content;
  };
  /**
   * Path of the file that is run, or compiled, in place of `code`
   */
  entry?: string;
  /**
   * After the arguments of the interface
   *
   * @maxItems 16
   */
  args?: string[];
  /**
   * It runs together with the program, and each reads the output of the other
   */
  interactive?: boolean;
  /**
   * The most runs of the program for a test; only for the interface `kattis`
   */
  passes?: number;
}

export interface Ready {
  status: "ready";
  /**
   * `strict`: a recent self-test proved full isolation
   */
  enforcement_mode: "strict" | "none";
  cgroup_backend: ("cgroup_v2" | "cgroup_v1" | "cgroup_hybrid") | null;
  checks: Check[];
}

export interface Result {
  verdict: Verdict | null;
  /**
   * Why the run ended
   */
  cause: Cause | null;
  /**
   * The actor that ended the run
   */
  actor: ("runtime" | "kernel" | "judge") | null;
  /**
   * Null when a signal ended the program
   */
  exit_code: number | null;
  signal: number | null;
  /**
   * For display; null on success
   */
  error_message: string | null;
}

export interface Rlimit {
  soft: number;
  hard: number;
}

export interface Run {
  name: string;
  group: string;
  /**
   * `skipped`: not needed
   */
  status: "waiting" | "queued" | "completed" | "skipped";
  verdict: JudgementVerdict | null;
  points: number;
  max_points: number;
  /**
   * Of the checker, or the error message of the record
   */
  message: string | null;
  /**
   * Once it has ended: the id of its record
   */
  submission_id: string | null;
  cpu_time_secs: number | null;
  wall_time_secs: number | null;
  memory_peak_bytes: number | null;
}

/**
 * Lower limits of the run, or, as `compile_limits`, of the compiler: each at most that of the profile
 */
export interface RunLimits {
  wall_time_secs?: number;
  cpu_time_secs?: number;
  memory_bytes?: number;
  processes?: number;
  file_bytes?: number;
  open_files?: number;
  stack_bytes?: number;
  stdout_bytes?: number;
  stderr_bytes?: number;
}

export interface RunUsage {
  /**
   * `compile` if the program did not run
   */
  step: "compile" | "execute";
  wall_time_secs: number;
  cpu_time_secs: number;
  memory_peak_bytes: number;
  memory_limit_bytes: number;
  /**
   * @maxItems 128
   */
  samples: UsageSample[];
}

export type Status = "pending" | "running" | "completed" | "error";

/**
 * The current state of a submission; unknown values are null
 */
export interface SubmissionRecord {
  id: string;
  schema_version: "2.0";
  /**
   * Canonical name
   */
  language: string;
  profile: Profile;
  status: Status;
  timestamps: SubmissionRecordTimestamps;
  result: Result;
  output: Output;
  metrics: Metrics;
  /**
   * Null until a run has been reported
   */
  evidence: Evidence | null;
}

export interface SubmissionRecordTimestamps {
  /**
   * ISO 8601, UTC, milliseconds
   */
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
}

export interface SubmissionSummary {
  /**
   * Id of the submission
   */
  id: string;
  status: Status;
  verdict: Verdict | null;
  language: string;
  profile: Profile;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
}

export interface Submissions {
  submissions: SubmissionSummary[];
  /**
   * For `before`; null: no older ones
   */
  next: string | null;
}

export interface SubmissionsQuery {
  /**
   * Only with this status
   */
  status?: "pending" | "running" | "completed" | "error";
  /**
   * Only in this language, by its canonical name
   */
  language?: string;
  /**
   * `next` of the page before
   */
  before?: string;
  /**
   * At most this many, 1 to 100
   */
  limit?: number;
  /**
   * Only with this verdict
   */
  verdict?: "AC" | "RE" | "TLE" | "MLE" | "PLE" | "FSE" | "SIG" | "IE";
}

export interface SubmitRequest {
  /**
   * Name or alias of a language; GET /api/languages has the names
   */
  language: string;
  /**
   * Source, 1 to 65536 bytes of UTF-8. Required without `code_base64` and `entry`
   */
  code?: string;
  /**
   * Standard input, up to 262144 bytes of UTF-8
   */
  stdin?: string;
  /**
   * A profile that the key allows. Defaults to the default profile of the key
   */
  profile?: Profile;
  /**
   * The same as `code`, in base64
   */
  code_base64?: string;
  /**
   * The same as `stdin`, in base64
   */
  stdin_base64?: string;
  /**
   * Whether GET /api/result/{id}/events has the output while the program runs
   */
  stream?: boolean;
  /**
   * Further files of /box: path → text, or {"base64": …}; up to 48 files with 1048576 bytes. The compilers of C, C++ and Go also compile those with their suffix
   */
  files?: {
    [k: string]: Content;
  };
  /**
   * Path of the file that is run, or compiled, in place of `code`
   */
  entry?: string;
  /**
   * Arguments of the program; with `env` up to 32 of each and 16384 bytes
   */
  args?: string[];
  /**
   * Environment variables of the program
   */
  env?: {
    [k: string]: string;
  };
  limits?: RunLimits;
  compile_limits?: RunLimits;
  /**
   * Options of the compiler, after its own: those for optimisation, standard, warnings and macros
   */
  compiler_options?: string[];
  /**
   * Whether output to stderr becomes part of stdout, in its order
   */
  stderr_to_stdout?: boolean;
}

export interface Teardown {
  reap_status: "clean" | "incomplete";
  descendant_containment: "ok" | "leaked";
  zombie_count: number;
  cleanup_verified: boolean;
  residual_mounts: string[];
  collection_errors: string[];
  /**
   * Only when the supervisor intervened
   */
  judge_actions?: TeardownJudgeActions[];
}

export interface TeardownJudgeActions {
  action_type: "forced_kill" | "descendant_kill";
  details: string;
}

export interface TokensChecker {
  type: "tokens";
  /**
   * True by default
   */
  case_sensitive?: boolean;
  /**
   * Lines must have the same tokens; false by default
   */
  line_breaks?: boolean;
}

export interface Usage {
  /**
   * Id of the submission
   */
  id: string;
  /**
   * Null before the end, for a run of less than 30 ms, and if the platform failed
   */
  usage: RunUsage | null;
}

export interface UsageSample {
  /**
   * Since the start of the program
   */
  at_secs: number;
  /**
   * Until then
   */
  cpu_time_secs: number;
  /**
   * The highest reading since the sample before
   */
  memory_bytes: number;
}

export type Verdict = "AC" | "RE" | "TLE" | "MLE" | "PLE" | "FSE" | "SIG" | "IE";
