// Generated from /openapi.json: npm run generate.

export interface Accepted {
  /**
   * Id of the submission
   */
  id: string;
  status: "pending";
  /**
   * Number of pending submissions of all keys, including this one
   */
  queue_depth: number;
}

export interface AppliedLimits {
  rlimits: AppliedLimitsRlimits;
  /**
   * The cgroup version from which the numbers below were read.
   */
  cgroup_backend: "cgroup_v2" | "cgroup_v1" | "cgroup_hybrid";
  cgroup: AppliedLimitsCgroup;
}

export interface AppliedLimitsCgroup {
  /**
   * The memory that all processes together could use, read back from the kernel, not copied from the request.
   */
  memory_limit_bytes: number;
  /**
   * The most memory that they used at the same time, including files that they or the compiler wrote.
   */
  memory_peak_bytes: number;
  /**
   * How often the memory limit was reached and the kernel could not free memory.
   */
  oom_events: number;
  /**
   * Processes of this box that the kernel killed for memory. MLE is based on this counter: the box was created for this run alone, and no program can change the counter.
   */
  oom_kill_events: number;
  /**
   * CPU time of all processes together, counted exactly by the kernel. CPU time of child processes is included.
   */
  cpu_usage_usec: number;
  /**
   * Processes and threads that existed when the evidence was collected.
   */
  process_count: number;
  /**
   * The number of processes and threads that could exist at the same time, read back from the kernel.
   */
  process_limit: number;
}

export interface AppliedLimitsRlimits {
  /**
   * A backstop above the CPU time limit, for a program that the launcher's timer did not end; the limits of wall and CPU time are not in the record, because they follow from profile, language and request.
   */
  cpu_secs?: Rlimit;
  /**
   * The address space that a process could reserve. The memory limit below counts memory in use, not reservations.
   */
  as_bytes?: Rlimit;
  /**
   * The number of files and connections that a process could have open at the same time.
   */
  nofile?: Rlimit;
  /**
   * A backstop above the process limit below, so that the kernel counts refusals there.
   */
  nproc?: Rlimit;
}

export interface AttachExecutionQuery {
  /**
   * The output of stdout begins at this byte
   */
  stdout?: number;
  /**
   * The output of stderr begins at this byte
   */
  stderr?: number;
}

export type AttachedControl = AttachedEnd | AttachedKill | AttachedSignal | AttachedResize;

export interface AttachedEnd {
  type: "end";
}

export interface AttachedEnded {
  type: "ended";
  execution: Execution;
}

export interface AttachedError {
  type: "error";
  error: string;
  message?: string;
}

export interface AttachedKill {
  type: "kill";
}

export interface AttachedResize {
  type: "resize";
  rows: number;
  cols: number;
}

export interface AttachedSignal {
  type: "signal";
  signal: "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGKILL" | "SIGUSR1" | "SIGUSR2" | "SIGTERM";
}

/**
 * The next bytes of the stream are at this position, because those before were not kept
 */
export interface AttachedSkipped {
  type: "skipped";
  stream: "stdout" | "stderr";
  at: number;
}

export interface AttachedStart {
  type: "start";
  number: number;
  stdout: number;
  stderr: number;
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
   * The expected output
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
  /**
   * What the program wrote, of which the first MiB is stored
   */
  stdout: string;
  stderr: string;
  exit_code: number | null;
  cpu_time_secs: number | null;
  wall_time_secs: number | null;
  memory_peak_bytes: number | null;
}

export type Cause =
  | "internal_error"
  | "oom_kill"
  | "pids_limit"
  | "file_size_limit"
  | "wall_timeout"
  | "cpu_timeout"
  | "fatal_signal"
  | "nonzero_exit"
  | "normal_exit"
  | "compile_error"
  | "cancelled"
  | "compile_oom_kill"
  | "compile_pids_limit"
  | "compile_file_size_limit"
  | "compile_wall_timeout"
  | "compile_cpu_timeout";

export interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

export type ClientMessage = InputMessage | EndMessage | SignalMessage;

export interface Command {
  command: string[];
  env: {
    [k: string]: string;
  };
}

export interface ConnectQuery {
  /**
   * The last `id` that the client received; without it, the output begins at its start
   */
  after?: string;
}

export type Content = string | Base64;

export interface Egress {
  /**
   * The version of the policy at the time of the record
   */
  policy_version: number;
  /**
   * Bytes that the programs sent, and names under wildcards for which a name server was asked
   */
  bytes_up: number;
  /**
   * Bytes that the programs received
   */
  bytes_down: number;
  budget_left: EgressBudgetLeft;
  /**
   * The first connections, at most 1,000, in the order in which they began
   *
   * @maxItems 1000
   */
  connections: EgressConnection[];
  /**
   * All further connections, by name or address and decision; `null` for those after the first 1,000 names
   *
   * @maxItems 1002
   */
  more: EgressMore[];
  /**
   * Connections that were denied
   */
  denied: number;
  /**
   * Names that the policy does not allow, at most 1,000
   *
   * @maxItems 1000
   */
  refused_names: EgressRefusedNames[];
  dns: EgressDns;
  /**
   * Whether everything is listed and counted here. False if the part of Assay that forwards connections has failed meanwhile: all connections have ended then, and what was known of them is lost
   */
  complete: boolean;
  /**
   * By what a connection belongs here: the kernel's record of the socket, or only the sandbox, because the execution is not known
   */
  source: "inet_diag cgroup id" | "sandbox";
}

/**
 * What the sandbox may still send and receive
 */
export interface EgressBudgetLeft {
  up: number;
  down: number;
}

export interface EgressConnection {
  /**
   * When the program connected
   */
  at: string;
  /**
   * The name that the program meant; null for a connection to an address
   */
  name: string | null;
  /**
   * The address to which the connection was made; for one that was denied, the address that the program used
   */
  address: string | null;
  port: number;
  decision: "allowed" | "denied";
  /**
   * The host or network of the rule that allows the connection
   */
  rule: string | null;
  /**
   * Why it was denied, or why it failed or was ended
   */
  reason: string | null;
  /**
   * Bytes that the programs sent, and names under wildcards for which a name server was asked
   */
  bytes_up: number;
  /**
   * Bytes that the programs received
   */
  bytes_down: number;
  /**
   * What ended it; null if it was denied, or is still open
   */
  ended: ("client" | "server" | "idle" | "budget" | "policy" | "sandbox") | null;
}

/**
 * Queries for names that the policy allows, and for others
 */
export interface EgressDns {
  answered: number;
  refused: number;
}

export interface EgressHost {
  /**
   * A name, or an address; null for all that are not listed
   */
  name: string | null;
  decision: "allowed" | "denied";
  connections: number;
  /**
   * Bytes that the programs sent, and names under wildcards for which a name server was asked
   */
  bytes_up: number;
  /**
   * Bytes that the programs received
   */
  bytes_down: number;
}

export interface EgressMore {
  name: string | null;
  decision: "allowed" | "denied";
  connections: number;
  /**
   * Bytes that the programs sent, and names under wildcards for which a name server was asked
   */
  bytes_up: number;
  /**
   * Bytes that the programs received
   */
  bytes_down: number;
}

export interface EgressRefusedNames {
  name: string;
  queries: number;
}

export interface EndMessage {
  type: "end";
}

export interface EndedMessage {
  type: "ended";
  record: SubmissionRecord;
}

export interface ErrorBody {
  error: string;
  message?: string;
}

export interface ErrorMessage {
  type: "error";
  error: string;
  message?: string;
}

export interface Evidence {
  isolation: Isolation;
  limits: AppliedLimits;
  teardown: Teardown;
}

/**
 * An execution in a sandbox. Values that are not known yet are null
 */
export interface Execution {
  /**
   * Id of the sandbox
   */
  sandbox_id: string;
  /**
   * Number of the execution in its sandbox
   */
  number: number;
  /**
   * Version of this schema
   */
  schema_version: "2.0";
  /**
   * What was given: `argv`, `shell` or `code`
   */
  kind: "argv" | "shell" | "code";
  /**
   * The program and its arguments, of which the first 4096 bytes are kept; null for another kind
   */
  argv: string[] | null;
  /**
   * The shell command, of which the first 4096 bytes are kept; null for another kind
   */
  shell: string | null;
  /**
   * Whether only the beginning of `argv` or `shell` is kept
   */
  truncated: boolean;
  /**
   * Canonical name of the language of the code; null for another kind
   */
  language: string | null;
  /**
   * The directory in which it started
   */
  cwd: string;
  /**
   * Whether processes that its main program leaves remain
   */
  background: boolean;
  /**
   * Whether it has a terminal
   */
  terminal: boolean;
  /**
   * `error` if and only if the verdict is IE
   */
  status: "running" | "completed" | "error";
  timestamps: ExecutionTimestamps;
  /**
   * Processes that go on after the end of the main program; 0 unless the execution was started in the background
   */
  processes_left: number | null;
  result: Result;
  output: Output;
  /**
   * Usage of the execution, including child processes
   */
  metrics: Metrics;
  /**
   * Null until the execution has ended
   */
  evidence: Evidence | null;
  /**
   * What it reached over the network; null until it has ended, and if its sandbox has no network
   */
  egress: Egress | null;
}

export interface ExecutionEventsQuery {
  /**
   * The output of stdout begins at this byte
   */
  stdout?: number;
  /**
   * The output of stderr begins at this byte
   */
  stderr?: number;
}

export interface ExecutionInputQuery {
  /**
   * With `true`, the input ends after these bytes. The input of a terminal has no end
   */
  end?: "true" | "false";
}

export interface ExecutionOutput {
  /**
   * The position of the first byte of the text in the whole output, in bytes
   */
  at: number;
  /**
   * Output, in which bytes that are not UTF-8 are replaced
   */
  text: string;
}

export interface ExecutionRequest {
  /**
   * A program, by its path or by its name in PATH, and its arguments: up to 128 with 131072 bytes, each with up to 65536. A request has either `argv`, `shell` or `code`
   */
  argv?: string[];
  /**
   * A command for bash, up to 65536 bytes
   */
  shell?: string;
  /**
   * Name or alias of the language of `code`
   */
  language?: string;
  /**
   * A program, up to 1048576 bytes
   */
  code?: string;
  /**
   * A program in base64, instead of `code`
   */
  code_base64?: string;
  /**
   * Standard input, up to 1048576 bytes
   */
  stdin?: string;
  /**
   * Standard input in base64, instead of `stdin`
   */
  stdin_base64?: string;
  /**
   * Whether the standard input stays open after `stdin`, for requests that send more
   */
  open_input?: boolean;
  /**
   * The directory in which it starts, by default /home/user
   */
  cwd?: string;
  /**
   * Environment variables of the execution, in addition to those of the sandbox: up to 20 with 32768 bytes, each with up to 16000. They can be secrets: they are never shown, and not stored
   */
  env?: {
    [k: string]: string;
  };
  limits?: RunLimits;
  /**
   * Whether processes that the program leaves go on. The response does not wait for its end
   */
  background?: boolean;
  /**
   * The size of a terminal, which the program gets instead of pipes. The response does not wait for its end
   */
  terminal?: TerminalSize;
}

export interface ExecutionSignal {
  signal: "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGKILL" | "SIGUSR1" | "SIGUSR2" | "SIGTERM";
}

export interface ExecutionState {
  sandbox_id: string;
  number: number;
  status: "running" | "completed" | "error";
}

export interface ExecutionSummary {
  number: number;
  kind: "argv" | "shell" | "code";
  argv: string[] | null;
  shell: string | null;
  language: string | null;
  background: boolean;
  terminal: boolean;
  status: "running" | "completed" | "error";
  verdict: Verdict | null;
  started_at: string;
  completed_at: string | null;
  processes_left: number | null;
}

export interface ExecutionTimestamps {
  /**
   * ISO 8601, UTC, milliseconds
   */
  started_at: string;
  /**
   * When it ended
   */
  completed_at: string | null;
}

export interface Executions {
  executions: ExecutionSummary[];
  /**
   * The value of `before` for the next page; null if there are no older entries
   */
  next: string | null;
}

export interface ExecutionsQuery {
  /**
   * The value of `next` from the previous page; without it, the list starts at the newest
   */
  before?: string;
  /**
   * The most entries of a page, from 1 to 100
   */
  limit?: number;
}

export interface FileChanged {
  path: string;
}

export interface FileEventsQuery {
  /**
   * Path of a directory, by default /home/user
   */
  path?: string;
  /**
   * With `true`, directories in it are watched as well
   */
  recursive?: "true" | "false";
}

export interface FileFailure {
  error: string;
  code: string;
  path: string | null;
}

export interface FileInfo {
  path: string;
  type: "file" | "directory" | "link" | "other";
  /**
   * Size of the content of a file; 0 for everything else
   */
  bytes: number;
  /**
   * The permissions as a number: 420 for 0644
   */
  mode: number;
  modified_at: string;
  /**
   * Changes with the content; for `If-Match` and `If-None-Match`, in quotation marks
   */
  etag: string;
  /**
   * Where a link leads, as it was written
   */
  target: string | null;
}

export interface FileInfoQuery {
  /**
   * Path, absolute or relative to /home/user
   */
  path?: string;
  /**
   * With `false`, a link itself is described
   */
  follow?: "true" | "false";
}

export interface FileMove {
  path: string;
  /**
   * The new path
   */
  to: string;
}

export interface FileMoved {
  /**
   * The new path
   */
  path: string;
  /**
   * The path before
   */
  from: string;
}

export interface FilePath {
  path: string;
}

export interface Files {
  entries: FileInfo[];
  /**
   * The value of `after` for the next page; null after the last one
   */
  next: string | null;
}

export interface FloatsChecker {
  type: "floats";
  /**
   * Whether upper and lower case differ; true by default
   */
  case_sensitive?: boolean;
  /**
   * Whether the tokens must be in the same lines; false by default
   */
  line_breaks?: boolean;
  /**
   * The largest absolute error; by default 10⁻⁶, or 0 if only the other error is given
   */
  absolute?: number;
  /**
   * The largest relative error; by default 10⁻⁶, or 0 if only the other error is given
   */
  relative?: number;
}

export interface GraderResult {
  /**
   * The id of the record of its run; null until it has ended
   */
  submission_id: string | null;
  /**
   * Why it gave no result, so that the verdict is IE; null if it gave one
   */
  message: string | null;
}

export interface GroupResult {
  /**
   * Empty for the tests without a group
   */
  name: string;
  /**
   * How the points follow from the tests and groups in the group. Groups of problem packages also have the rules `least`, `greatest`, `average` and `all`
   */
  rule: "sum" | "min" | "least" | "greatest" | "average" | "all";
  /**
   * The group that contains this one; null if none does
   */
  parent: string | null;
  score: number;
  max_score: number;
  /**
   * Whether all tests passed, unless the package has another rule; null while open tests decide it
   */
  passed: boolean | null;
}

export interface Health {
  status: "ok" | "degraded";
  /**
   * `strict` if a recent self-test proved full isolation
   */
  enforcement_mode: "strict" | "none";
  /**
   * Number of submissions that can run at the same time
   */
  workers: number;
  /**
   * Number of pending submissions of all keys
   */
  queue_depth: number;
}

export interface ImportProblemQuery {
  /**
   * Name of the problem. By default, the name of the directory in the archive that contains all files
   */
  name?: string;
  /**
   * Time limit in seconds of CPU time, which replaces that of the package. It is required if the package has none
   */
  time_limit?: number;
  /**
   * Whether a package whose structure can be read, but whose programs or their settings have faults, becomes a faulty version. By default, it is refused
   */
  allow_faults?: "true" | "false";
}

export interface InputMessage {
  type: "input";
  /**
   * Bytes for the standard input of the program: text, or {"base64": …}
   */
  input: Content;
}

export interface Isolation {
  /**
   * `strict`: every control below was in force before the first instruction of the program. In any other mode the verdict is IE.
   */
  mode: "strict" | "incomplete";
  /**
   * The controls that confined the program. Each was read back from the kernel before the program started, not copied from the request. The program cannot undo them.
   */
  controls_applied: string[];
  /**
   * Controls that could not be confirmed: a single one makes the verdict IE, because the other evidence then proves nothing.
   */
  controls_missing: string[];
  /**
   * `hardened`: in `/proc` the program saw its own processes and nothing else of the machine.
   */
  proc_policy: "hardened" | "none";
  /**
   * The system call filter. `builtin-deny`: the kernel refuses calls that no submission needs.
   */
  sys_policy: "builtin-deny" | "custom" | "disabled";
  /**
   * `native`: the launcher referred to processes by pidfds, which the kernel never reuses for another process, so it never killed or waited for a wrong one.
   */
  pidfd_mode: "native" | "fallback";
  /**
   * A summary of the isolation, with the cgroup version that the kernel uses for accounting.
   */
  reason: string;
}

export interface JudgeRequest {
  /**
   * Name or alias of a language; GET /api/languages lists the names, except for plaintext, executable and multifile
   */
  language: string;
  /**
   * Source, up to 262144 bytes of UTF-8 unless the operator sets another bound. It is required unless there is `code_base64` or `entry`
   */
  code?: string;
  /**
   * Set of limits. The key must allow the profile. Without this field, the default profile of the key holds
   */
  profile?: Profile;
  /**
   * Source of the program in base64, instead of `code`
   */
  code_base64?: string;
  /**
   * Further files in /box, by their paths. Each is text, or {"base64": …}. There may be up to 48 files with 1048576 bytes in all. For C, C++, Go and Java, other source files, such as `util.cpp`, are compiled together with the program. A path has up to 8 names, each of at most 255 bytes, and 1024 bytes in all. A name has letters, digits, punctuation and symbols of any script except `\ : * ? " < > |`, and spaces inside of it. It does not begin with `.`, `-` or `@`. Paths are normalized to Unicode's form NFC
   */
  files?: {
    [k: string]: Content;
  };
  /**
   * Path of the file in `files` that is compiled and run instead of `code`
   */
  entry?: string;
  /**
   * Arguments of the program. There may be up to 32 arguments and 32 variables in `env`, together 16384 bytes
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
   * Options that are added to those of the compiler. Only options for optimisation, standard, warnings, strictness and macros are allowed
   */
  compiler_options?: string[];
  /**
   * Whether stderr is merged into stdout, in the order of the writes
   */
  stderr_to_stdout?: boolean;
  /**
   * @minItems 1
   * @maxItems 50
   */
  cases: Case[];
  /**
   * How the output is compared with `expected`. By default `lines`, which ignores white space at the ends of lines
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
   * The problem and its version; null if the request had the tests
   */
  problem: JudgementProblem | null;
  /**
   * `error` if and only if the verdict is IE
   */
  status: Status;
  timestamps: JudgementTimestamps;
  verdict: JudgementVerdict | null;
  /**
   * Null until the judgement has ended
   */
  score: number | null;
  tests: JudgementTests;
  max_score: number;
  stop: "first_failure" | "never" | "group";
  checker: "exact" | "lines" | "tokens" | "floats" | "unordered_lines" | "regex" | "program";
  /**
   * The grader of the package, which runs after the tests. Only judgements of a problem with a grader have it
   */
  grader?: GraderResult;
  groups: GroupResult[];
  /**
   * The runs, in the order of the tests
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
   * `sum` adds the points of the tests; `min` multiplies the points of the group by the smallest share that a test earned. By default `sum`
   */
  rule?: "sum" | "min";
  /**
   * Earlier groups whose tests must all pass; otherwise this group is skipped
   */
  depends?: string[];
}

export interface JudgementProblem {
  id: string;
  version: number;
}

export interface JudgementRequest {
  /**
   * Name or alias of a language; GET /api/languages lists the names, except for plaintext, executable and multifile
   */
  language: string;
  /**
   * Source, up to 262144 bytes of UTF-8 unless the operator sets another bound. It is required unless there is `code_base64` or `entry`
   */
  code?: string;
  /**
   * Set of limits. The key must allow the profile. Without this field, the default profile of the key holds
   */
  profile?: Profile;
  /**
   * Source of the program in base64, instead of `code`
   */
  code_base64?: string;
  /**
   * Further files in /box, by their paths. Each is text, or {"base64": …}. There may be up to 48 files with 1048576 bytes in all. For C, C++, Go and Java, other source files, such as `util.cpp`, are compiled together with the program. A path has up to 8 names, each of at most 255 bytes, and 1024 bytes in all. A name has letters, digits, punctuation and symbols of any script except `\ : * ? " < > |`, and spaces inside of it. It does not begin with `.`, `-` or `@`. Paths are normalized to Unicode's form NFC
   */
  files?: {
    [k: string]: Content;
  };
  /**
   * Path of the file in `files` that is compiled and run instead of `code`
   */
  entry?: string;
  /**
   * Arguments of the program. There may be up to 32 arguments and 32 variables in `env`, together 16384 bytes
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
   * Options that are added to those of the compiler. Only options for optimisation, standard, warnings, strictness and macros are allowed
   */
  compiler_options?: string[];
  /**
   * Whether stderr is merged into stdout, in the order of the writes
   */
  stderr_to_stdout?: boolean;
  /**
   * The tests. They are required unless the request has `problem`
   *
   * @minItems 1
   * @maxItems 500
   */
  tests?: JudgementTest[];
  /**
   * Id of a problem, which is used instead of `tests`, `checker` and `groups`. Its tests can have limits
   */
  problem?: string;
  /**
   * Version of the problem; by default the current one
   */
  problem_version?: number;
  /**
   * How outputs are checked. By default `lines`, which ignores white space at the ends of lines
   */
  checker?: ("exact" | "lines" | "tokens" | "floats" | "unordered_lines" | "regex") | BuiltInChecker | ProgramChecker;
  /**
   * @maxItems 100
   */
  groups?: JudgementGroup[];
  /**
   * Which tests are skipped: those after the `first_failure` (the default), those after a failure in the same `group`, or none (`never`)
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
   * The problem and its version; null if the request had the tests
   */
  problem: JudgementSummaryProblem | null;
  /**
   * `error` if and only if the verdict is IE
   */
  status: Status;
  timestamps: JudgementSummaryTimestamps;
  verdict: JudgementVerdict | null;
  /**
   * Null until the judgement has ended
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
   * Name of the test; by default its number
   */
  name?: string;
  /**
   * Standard input of the program: text, or {"base64": …}
   */
  stdin?: Content;
  /**
   * The expected output, or several. A built-in checker needs at least one, and accepts an output that matches any of them
   */
  expected?: Content | Content[];
  /**
   * Points of the test; 1 by default
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
 * WA: the output is wrong. CE: the program does not compile. The other verdicts have the same meaning as in the record
 */
export type JudgementVerdict = "AC" | "WA" | "TLE" | "MLE" | "PLE" | "FSE" | "SIG" | "RE" | "CE" | "IE";

export interface Judgements {
  judgements: JudgementSummary[];
  /**
   * The value of `before` for the next page; null if there are no older entries
   */
  next: string | null;
}

export interface JudgementsQuery {
  /**
   * Lists only entries with this status
   */
  status?: "pending" | "running" | "completed" | "error";
  /**
   * Lists only entries in this language, given by its canonical name
   */
  language?: string;
  /**
   * The value of `next` from the previous page; without it, the list starts at the newest
   */
  before?: string;
  /**
   * The most entries of a page, from 1 to 100
   */
  limit?: number;
  /**
   * Lists only entries with this verdict
   */
  verdict?: "AC" | "WA" | "TLE" | "MLE" | "PLE" | "FSE" | "SIG" | "RE" | "CE" | "IE";
  /**
   * Lists only judgements on the problem with this id, even if it has been deleted
   */
  problem?: string;
}

export interface Language {
  name: string;
  /**
   * Name of the language with its version and standard
   */
  label: string;
  aliases: string[];
  /**
   * Name of the source file in /box
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
 * The canonical names of the languages
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

export interface ListFilesQuery {
  /**
   * Path of a directory, by default /home/user
   */
  path?: string;
  /**
   * The value of `next` from the previous page
   */
  after?: string;
  /**
   * The most entries of a page, from 1 to 1000
   */
  limit?: number;
}

export interface LiveInput {
  /**
   * Bytes for the standard input of the program: text, or {"base64": …}
   */
  input: Content;
}

export interface LiveInputAccepted {
  /**
   * Id of the submission
   */
  id: string;
  status: Status;
}

export interface LiveSignal {
  signal: Signal;
}

export interface Metrics {
  /**
   * CPU time of all processes of the program
   */
  cpu_time_secs: number | null;
  /**
   * Time from the start to the end of the program
   */
  wall_time_secs: number | null;
  /**
   * The most memory that all processes of the program used at the same time
   */
  memory_peak_bytes: number | null;
  /**
   * CPU time divided by wall time
   */
  cpu_wall_ratio: number | null;
  /**
   * What explains the ratio
   */
  divergence: ("cpu_bound" | "sleep_or_block_bound" | "host_interference_suspected") | null;
}

export interface NetworkOffer {
  /**
   * Whether sandboxes of this service can have a network
   */
  available: boolean;
  /**
   * What a sandbox of this key may reach at most: the network bound of its project and account; "none" if its operator has opened nothing
   */
  policy: NetworkPolicy;
  today: NetworkOfferToday;
}

/**
 * What sandboxes have reserved and not used yet counts as used
 */
export interface NetworkOfferToday {
  /**
   * The present day, in UTC
   */
  date: string;
  /**
   * What all sandboxes together may still send today; null if the operator has set no such bound
   */
  bytes_up_left: number | null;
  /**
   * What they may still receive today
   */
  bytes_down_left: number | null;
}

/**
 * What programs may reach over the network: "none", or what the rules allow. What no rule allows is refused
 */
export type NetworkPolicy = "none" | NetworkPolicyItem;

export interface NetworkPolicyItem {
  /**
   * @minItems 1
   * @maxItems 100
   */
  allow: NetworkPolicyItemAllow[];
  /**
   * Bytes that programs may send to the network, all connections together, over the whole life of the sandbox, from 0 to 17592186044416; by default 1048576
   */
  bytes_up?: number;
  /**
   * Bytes that programs may receive, in the same way, from 0 to 17592186044416; by default 1073741824
   */
  bytes_down?: number;
  /**
   * Connections that may be open at the same time, from 1 to 64; by default 64
   */
  connections?: number;
  /**
   * Connections that may begin within a minute, with those that are refused, from 1 to 600; by default 600
   */
  connections_per_minute?: number;
}

export interface NetworkPolicyItemAllow {
  /**
   * A name such as `api.example.com`, or `*.example.org` for all names below example.org
   */
  host?: string;
  /**
   * Instead of `host`, a network, such as `203.0.113.0/24` with a prefix of at least 8 bits, or 16 (IPv6). It is only for connections to addresses: a name is allowed by its own rule
   */
  cidr?: string;
  /**
   * TCP ports, at most 16 different ones in a policy; not 53
   *
   * @minItems 1
   * @maxItems 16
   */
  ports: number[];
}

export interface NewSandboxLimits {
  /**
   * Memory of all programs, and of files in memory, together, from 67108864 to 4294967296; by default 536870912
   */
  memory_bytes?: number;
  /**
   * Processes and threads of all executions together, from 8 to 512; by default 256
   */
  processes?: number;
  /**
   * Where the files are. `memory`: they count as memory, too. `disk`: the sandbox has a disk of its own, if the service permits that; by default `memory`
   */
  storage?: "memory" | "disk";
  /**
   * Bytes of all files that differ from the image. In memory: from 4194304 to 4294967296, by default 268435456. On a disk: one of 1073741824, 2147483648, 4294967296, 8589934592, 17179869184, by default 4294967296
   */
  disk_bytes?: number;
  /**
   * Files and directories that differ from the image. In memory: from 256 to 65536, by default 32768. On a disk: one for each 16384 bytes, so it need not be given
   */
  inodes?: number;
  /**
   * CPUs to which each execution is bound; a service can permit fewer, from 1 to 64; by default 1
   */
  cpus?: number;
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

export interface OutputMessage {
  type: "stdout" | "stderr";
  /**
   * Position of the text in the stream, in bytes
   */
  at: number;
  text: string;
  /**
   * The value of `after` for a client that has all messages so far, or null
   */
  id: string | null;
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
   * Name of the problem, unique in the account
   */
  name: string;
  title: string;
  version: number;
  tests: number;
  /**
   * Size of all inputs and answers
   */
  bytes: number;
  limits: ProblemLimits;
  /**
   * What the package has to mend, if the version is faulty; otherwise empty. Each judgement on a faulty version ends with IE
   */
  faults: string[];
  created_at: string;
  updated_at: string;
  /**
   * All versions that are stored, newest first
   */
  versions: ProblemVersions[];
}

/**
 * Limits of each test. If a limit is null, that of the profile holds
 */
export interface ProblemLimits {
  cpu_time_secs: number | null;
  memory_bytes: number | null;
}

export interface ProblemVersions {
  version: number;
  tests: number;
  /**
   * Size of all inputs and answers
   */
  bytes: number;
  limits: ProblemVersionsLimits;
  /**
   * What the package has to mend, if the version is faulty; otherwise empty. Each judgement on a faulty version ends with IE
   */
  faults: string[];
  created_at: string;
}

/**
 * Limits of each test. If a limit is null, that of the profile holds
 */
export interface ProblemVersionsLimits {
  cpu_time_secs: number | null;
  memory_bytes: number | null;
}

export interface Problems {
  problems: ProblemsProblems[];
  /**
   * The value of `before` for the next page; null if there are no older entries
   */
  next: string | null;
}

export interface ProblemsProblems {
  /**
   * Id of the problem
   */
  id: string;
  /**
   * Name of the problem, unique in the account
   */
  name: string;
  title: string;
  version: number;
  tests: number;
  /**
   * Size of all inputs and answers
   */
  bytes: number;
  limits: ProblemsProblemsLimits;
  /**
   * What the package has to mend, if the version is faulty; otherwise empty. Each judgement on a faulty version ends with IE
   */
  faults: string[];
  created_at: string;
  updated_at: string;
}

/**
 * Limits of each test. If a limit is null, that of the profile holds
 */
export interface ProblemsProblemsLimits {
  cpu_time_secs: number | null;
  memory_bytes: number | null;
}

export interface ProblemsQuery {
  /**
   * The value of `next` from the previous page; without it, the list starts at the newest
   */
  before?: string;
  /**
   * The most entries of a page, from 1 to 100
   */
  limit?: number;
}

export type Profile = "judge" | "agent";

export interface ProgramChecker {
  type: "program";
  /**
   * How the checker is called and how it reports its result
   */
  interface: "kattis" | "testlib";
  /**
   * Name or alias of a language; GET /api/languages lists the names, except for plaintext, executable and multifile
   */
  language: string;
  /**
   * Source of the program in base64, instead of `code`
   */
  code_base64?: string;
  /**
   * Further files in /box, by their paths. Each is text, or {"base64": …}. There may be up to 48 files with 1048576 bytes in all. For C, C++, Go and Java, other source files, such as `util.cpp`, are compiled together with the program. A path has up to 8 names, each of at most 255 bytes, and 1024 bytes in all. A name has letters, digits, punctuation and symbols of any script except `\ : * ? " < > |`, and spaces inside of it. It does not begin with `.`, `-` or `@`. Paths are normalized to Unicode's form NFC
   */
  files?: {
    [k: string]: Content;
  };
  /**
   * Path of the file in `files` that is compiled and run instead of `code`
   */
  entry?: string;
  /**
   * Source, up to 262144 bytes of UTF-8 unless the operator sets another bound. It is required unless there is `code_base64` or `entry`
   */
  code?: string;
  /**
   * Arguments that follow those of the interface
   *
   * @maxItems 16
   */
  args?: string[];
  /**
   * Whether the checker runs together with the program, so that each reads the output of the other
   */
  interactive?: boolean;
  /**
   * The most runs of the program for one test. This field is only for the interface `kattis`
   */
  passes?: number;
}

export interface ReadArchiveQuery {
  /**
   * Path of a directory, by default /home/user
   */
  path?: string;
}

export interface ReadFileQuery {
  /**
   * Path, absolute or relative to /home/user
   */
  path?: string;
}

export interface Ready {
  status: "ready";
  /**
   * `strict` if a recent self-test proved full isolation
   */
  enforcement_mode: "strict" | "none";
  cgroup_backend: ("cgroup_v2" | "cgroup_v1" | "cgroup_hybrid") | null;
  checks: Check[];
}

export interface RemoveFileQuery {
  /**
   * Path, absolute or relative to /home/user
   */
  path?: string;
  /**
   * With `true`, a directory may have content
   */
  recursive?: "true" | "false";
}

export interface Result {
  /**
   * How the run ended
   */
  verdict: Verdict | null;
  /**
   * Why the run ended
   */
  cause: Cause | null;
  /**
   * The party that ended the run
   */
  actor: ("runtime" | "kernel" | "judge") | null;
  /**
   * Null unless the program exited
   */
  exit_code: number | null;
  /**
   * The signal that ended the program
   */
  signal: number | null;
  /**
   * A sentence for display; null on success
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
   * `skipped` if the test was not needed
   */
  status: "waiting" | "queued" | "completed" | "skipped";
  verdict: JudgementVerdict | null;
  points: number;
  max_points: number;
  /**
   * The message of the checker, or the error message of the record
   */
  message: string | null;
  /**
   * The id of the record; null until the run has ended
   */
  submission_id: string | null;
  cpu_time_secs: number | null;
  wall_time_secs: number | null;
  memory_peak_bytes: number | null;
}

/**
 * Limits that replace those of the profile and are at most as high. `limits` holds for the run, `compile_limits` for the compiler
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
   * `compile` if only the compiler ran
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

export interface Runs {
  /**
   * Id of the submission
   */
  id: string;
  /**
   * How often the program ran. Null for several runs that an earlier release of the service did not count
   */
  runs: number | null;
  /**
   * The mean of the runs; null if the program was not executed
   */
  cpu_time_secs: number | null;
  /**
   * The mean of the runs; null if the program was not executed
   */
  memory_peak_bytes: number | null;
}

/**
 * A sandbox. Values that are not known yet are null
 */
export interface Sandbox {
  /**
   * Id of the sandbox
   */
  id: string;
  /**
   * `creating`: its box is being made; `paused`: its programs are frozen; `ended`: nothing of it is left but its records
   */
  state: "creating" | "running" | "paused" | "ended";
  /**
   * Why it ended; null until then
   */
  end_reason: ("client" | "lifetime" | "idle" | "memory" | "suspended" | "worker_lost" | "shutdown" | "failed") | null;
  timestamps: SandboxTimestamps;
  /**
   * How long it lives at most, from its start
   */
  lifetime_secs: number;
  /**
   * How long it lives without any request or reader while its programs use less than 1 % of a CPU. While it is paused, this clock stands still.
   */
  idle_secs: number;
  /**
   * `snapshot`: when its lifetime or idle time is over, a snapshot of its files is taken before it ends
   */
  on_timeout: "end" | "snapshot";
  /**
   * Id of the snapshot whose files it began with; null for a fresh one
   */
  from_snapshot: string | null;
  last_snapshot: SandboxLastSnapshot;
  limits: SandboxLimits;
  network: SandboxNetwork;
  /**
   * What the client chose
   */
  metadata: {
    [k: string]: string;
  };
  evidence: SandboxEvidence;
}

export interface SandboxChange {
  /**
   * How long the sandbox lives at most, from its start; by default 3600 s
   */
  lifetime_secs?: number;
  /**
   * How long the sandbox lives without any request or reader while its programs use less than 1 % of a CPU; by default 600 s
   */
  idle_secs?: number;
  /**
   * Names and values by which the client finds its sandboxes: up to 32, with names of up to 64 and values of up to 512 characters, together up to 4096 bytes
   */
  metadata?: {
    [k: string]: string;
  };
}

export interface SandboxEgress {
  /**
   * The version of the policy at the time of the record
   */
  policy_version: number;
  /**
   * Bytes that the programs sent, and names under wildcards for which a name server was asked
   */
  bytes_up: number;
  /**
   * Bytes that the programs received
   */
  bytes_down: number;
  budget_left: SandboxEgressBudgetLeft;
  /**
   * Connections that were denied
   */
  denied: number;
  dns: SandboxEgressDns;
  /**
   * Whether everything is listed and counted here. False if the part of Assay that forwards connections has failed meanwhile: all connections have ended then, and what was known of them is lost
   */
  complete: boolean;
  /**
   * All connections of the sandbox, by name or address and decision
   *
   * @maxItems 1002
   */
  hosts: EgressHost[];
  /**
   * What belongs to no execution, such as what processes do that an execution has left behind, after its end
   */
  unattributed: Egress;
}

/**
 * What the sandbox may still send and receive
 */
export interface SandboxEgressBudgetLeft {
  up: number;
  down: number;
}

/**
 * Queries for names that the policy allows, and for others
 */
export interface SandboxEgressDns {
  answered: number;
  refused: number;
}

export interface SandboxEgressReport {
  sandbox_id: string;
  /**
   * What all of its executions together have reached, or tried to; null if it has no network, and after the end if its machine was lost
   */
  egress: SandboxEgress | null;
}

export interface SandboxEnded {
  error: string;
  end_reason: "client" | "lifetime" | "idle" | "memory" | "suspended" | "worker_lost" | "shutdown" | "failed";
}

export interface SandboxEvidence {
  /**
   * The controls that confine the sandbox, each read back from the kernel before the first execution. `socket_limit` is one of them where programs can use sockets on the loopback interface, and `lock_limit` where locks of files have an effect
   */
  controls_applied: string[] | null;
  /**
   * Controls that could not be confirmed. A sandbox with a missing control does not start.
   */
  controls_missing: string[] | null;
  teardown: SandboxEvidenceTeardown;
}

export interface SandboxEvidenceTeardown {
  /**
   * Whether the kernel confirmed that no process, mount or cgroup of the sandbox is left; null until it has ended, and if its box was lost
   */
  cleanup_verified: boolean | null;
  /**
   * Processes that could not be ended
   */
  processes_left: number | null;
  /**
   * Processes that ended and were not reaped
   */
  zombies: number | null;
  /**
   * Mounts that could not be removed
   */
  residual_mounts: string[] | null;
  /**
   * Cgroups that could not be removed
   */
  groups_left: string[] | null;
}

export interface SandboxLastSnapshot {
  /**
   * Id of the snapshot that `on_timeout` has taken; null if there is none
   */
  id: string | null;
  /**
   * Why `on_timeout` could not take a snapshot; null if it could, or was not to
   */
  error: string | null;
}

export interface SandboxLimits {
  /**
   * Memory of all programs, and of files in memory, together
   */
  memory_bytes: number;
  /**
   * Processes and threads of all executions together
   */
  processes: number;
  /**
   * Where the files are: in `memory`, where they count as well, or on a `disk` of the sandbox
   */
  storage: "memory" | "disk";
  /**
   * Bytes of all files that differ from the image
   */
  disk_bytes: number;
  /**
   * Files and directories that differ from the image
   */
  inodes: number;
  /**
   * CPUs to which each execution is bound
   */
  cpus: number;
}

export interface SandboxMetrics {
  /**
   * Memory of all programs and files now; 0 after the end
   */
  memory_bytes: number;
  /**
   * The highest use of memory since the start; after the end, that of the samples, or null if there are none
   */
  memory_peak_bytes: number | null;
  /**
   * CPU time of all programs since the start; after the end, that of the last sample, or null if there is none
   */
  cpu_time_secs: number | null;
  /**
   * Processes and threads now; 0 after the end
   */
  processes: number;
  /**
   * Processes that the kernel killed because the sandbox reached its memory limit; null after the end
   */
  oom_kills: number | null;
  /**
   * Bytes of all files that differ from the image; 0 after the end
   */
  disk_bytes: number;
  /**
   * Files and directories that differ from the image; 0 after the end
   */
  inodes: number;
  /**
   * What it used over its life, oldest first, at most 240. Only with `samples=true`
   *
   * @maxItems 240
   */
  samples?: SandboxSample[];
}

export interface SandboxMetricsQuery {
  /**
   * With `true`, the response has what the sandbox used over its life
   */
  samples?: "true" | "false";
}

export interface SandboxNetwork {
  /**
   * Version of the policy: 1 at first, and one higher after each replacement
   */
  version: number;
  /**
   * What its programs may reach over the network. With "none" and version 1, it has no network for good
   */
  policy: NetworkPolicy;
}

export interface SandboxRequest {
  /**
   * How long the sandbox lives at most, from its start; by default 3600 s
   */
  lifetime_secs?: number;
  /**
   * How long the sandbox lives without any request or reader while its programs use less than 1 % of a CPU; by default 600 s
   */
  idle_secs?: number;
  limits?: NewSandboxLimits;
  /**
   * Environment variables of all executions: up to 20 with 32768 bytes, each with up to 16000. They can be secrets: they are never shown, and stored only encrypted, until the end of the sandbox
   */
  env?: {
    [k: string]: string;
  };
  /**
   * Names and values by which the client finds its sandboxes: up to 32, with names of up to 64 and values of up to 512 characters, together up to 4096 bytes
   */
  metadata?: {
    [k: string]: string;
  };
  /**
   * Id of a snapshot of the account, whose files the sandbox begins with. They must fit into its limits
   */
  from?: string;
  /**
   * `snapshot`: when its lifetime or its idle time is over, a snapshot of its files is taken before it ends, and `last_snapshot` of its record names it; by default `end`
   */
  on_timeout?: "end" | "snapshot";
  /**
   * What its programs may reach over the network, by default "none". A sandbox that is created with "none" has no network for good
   */
  network?: NetworkPolicy;
}

export interface SandboxSample {
  /**
   * When it was measured
   */
  at: string;
  /**
   * CPU time of all programs from the start to this time
   */
  cpu_time_secs: number;
  /**
   * The highest use of memory that was measured since the sample before
   */
  memory_bytes: number;
  /**
   * Processes and threads, in the same way
   */
  processes: number;
  /**
   * Bytes of files, in the same way
   */
  disk_bytes: number;
}

export interface SandboxTimestamps {
  /**
   * ISO 8601, UTC, milliseconds
   */
  created_at: string;
  /**
   * When its box was ready
   */
  started_at: string | null;
  /**
   * When its lifetime is over, if it does not end before
   */
  expires_at: string | null;
  /**
   * When it was removed
   */
  ended_at: string | null;
}

export interface Sandboxes {
  sandboxes: Sandbox[];
  /**
   * The value of `before` for the next page; null if there are no older entries
   */
  next: string | null;
}

export interface SandboxesQuery {
  /**
   * Lists only sandboxes in this state
   */
  state?: "creating" | "running" | "paused" | "ended";
  /**
   * Lists only sandboxes with these metadata, written like a query and then percent-encoded: `task%3D42%26user%3D7`
   */
  metadata?: string;
  /**
   * The value of `next` from the previous page; without it, the list starts at the newest
   */
  before?: string;
  /**
   * The most entries of a page, from 1 to 100
   */
  limit?: number;
}

export type Signal = "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGKILL" | "SIGUSR1" | "SIGUSR2" | "SIGTERM";

export interface SignalMessage {
  type: "signal";
  signal: Signal;
}

/**
 * The files of a sandbox at one moment
 */
export interface Snapshot {
  /**
   * Id of the snapshot
   */
  id: string;
  /**
   * Id of the sandbox whose files it has
   */
  sandbox_id: string;
  /**
   * The name that the client chose
   */
  name: string | null;
  /**
   * Length of the archive, which counts for the quota of the account
   */
  bytes: number;
  /**
   * Files, directories, links and FIFOs
   */
  files: number;
  /**
   * SHA-256 of the archive: the same files have the same hash
   */
  sha256: string;
  /**
   * ISO 8601, UTC, milliseconds
   */
  created_at: string;
}

export interface SnapshotRequest {
  /**
   * A name for people, with 1 to 128 characters
   */
  name?: string;
}

export interface Snapshots {
  snapshots: Snapshot[];
  /**
   * The value of `before` for the next page; null if there are no older entries
   */
  next: string | null;
}

export interface SnapshotsQuery {
  /**
   * The value of `next` from the previous page; without it, the list starts at the newest
   */
  before?: string;
  /**
   * The most entries of a page, from 1 to 100
   */
  limit?: number;
}

export type Status = "pending" | "running" | "completed" | "error";

export interface StatusMessage {
  type: "status";
  status: Status;
}

export interface SubmissionEgress {
  /**
   * Id of the submission
   */
  id: string;
  /**
   * What the program may reach over the network; "none" if it has none
   */
  network: NetworkPolicy;
  /**
   * What it has reached, or tried to; null if it has no network, until its run has ended, and if its machine was lost
   */
  egress: Egress | null;
}

/**
 * The current state of a submission. Values that are not known yet are null
 */
export interface SubmissionRecord {
  /**
   * Id of the submission
   */
  id: string;
  /**
   * Version of this schema
   */
  schema_version: "2.0";
  /**
   * Canonical name of the language
   */
  language: string;
  /**
   * Set of limits
   */
  profile: Profile;
  /**
   * `error` if and only if the verdict is IE
   */
  status: Status;
  timestamps: SubmissionRecordTimestamps;
  result: Result;
  output: Output;
  /**
   * Usage of the execute step, including child processes
   */
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
  /**
   * When its run started
   */
  started_at: string | null;
  /**
   * When it ended
   */
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
   * The value of `before` for the next page; null if there are no older entries
   */
  next: string | null;
}

export interface SubmissionsQuery {
  /**
   * Lists only entries with this status
   */
  status?: "pending" | "running" | "completed" | "error";
  /**
   * Lists only entries in this language, given by its canonical name
   */
  language?: string;
  /**
   * The value of `next` from the previous page; without it, the list starts at the newest
   */
  before?: string;
  /**
   * The most entries of a page, from 1 to 100
   */
  limit?: number;
  /**
   * Lists only entries with this verdict
   */
  verdict?: "AC" | "RE" | "TLE" | "MLE" | "PLE" | "FSE" | "SIG" | "IE";
}

export interface SubmitRequest {
  /**
   * Name or alias of a language; GET /api/languages lists the names, except for plaintext, executable and multifile
   */
  language: string;
  /**
   * Source of the program, 1 to 65536 bytes of UTF-8. It is required unless the request has `code_base64` or `entry`
   */
  code?: string;
  /**
   * Standard input, up to 262144 bytes of UTF-8
   */
  stdin?: string;
  /**
   * Set of limits. The key must allow the profile. Without this field, the default profile of the key holds
   */
  profile?: Profile;
  /**
   * Source of the program in base64, instead of `code`
   */
  code_base64?: string;
  /**
   * Standard input in base64, instead of `stdin`
   */
  stdin_base64?: string;
  /**
   * Whether GET /api/result/{id}/events sends the output while the program runs
   */
  stream?: boolean;
  /**
   * Whether clients can send input and signals to the program while it runs. It includes `stream`. `stdin` is the beginning of the input
   */
  live_input?: boolean;
  /**
   * How often the program runs, up to 20: one run after the other, until one has a verdict other than AC. The record shows the last run, and GET /api/result/{id}/runs the means. Each run counts as a request. Not together with `stream`
   */
  runs?: number;
  /**
   * Further files in /box, by their paths. Each is text, or {"base64": …}. There may be up to 48 files with 1048576 bytes in all. For C, C++, Go and Java, other source files, such as `util.cpp`, are compiled together with the program. A path has up to 8 names, each of at most 255 bytes, and 1024 bytes in all. A name has letters, digits, punctuation and symbols of any script except `\ : * ? " < > |`, and spaces inside of it. It does not begin with `.`, `-` or `@`. Paths are normalized to Unicode's form NFC
   */
  files?: {
    [k: string]: Content;
  };
  /**
   * Path of the file in `files` that is compiled and run instead of `code`
   */
  entry?: string;
  /**
   * Arguments of the program. There may be up to 32 arguments and 32 variables in `env`, together 16384 bytes
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
   * Options that are added to those of the compiler. Only options for optimisation, standard, warnings, strictness and macros are allowed
   */
  compiler_options?: string[];
  /**
   * Whether stderr is merged into stdout, in the order of the writes
   */
  stderr_to_stdout?: boolean;
  /**
   * What the program may reach over the network, by default "none". It must be within what `GET /api/network` returns. Only with the profile `agent`, and not together with `files`, `entry`, `stderr_to_stdout`, `live_input` or several `runs`. GET /api/result/{id}/egress returns what the program has reached
   */
  network?: NetworkPolicy;
}

export interface Teardown {
  /**
   * `clean`: the first process of the box ended and was reaped; its end makes the kernel kill all others.
   */
  reap_status: "clean" | "incomplete";
  /**
   * `ok`: after the box was removed, no process was left in its cgroups. Nothing continued in the background.
   */
  descendant_containment: "ok" | "leaked";
  /**
   * Processes that had ended but had not been reaped.
   */
  zombie_count: number;
  /**
   * `true`: the removal of the box's processes, cgroups and mounts is proven, so the next run inherits nothing from this one.
   */
  cleanup_verified: boolean;
  /**
   * Mounts of the box that remained after teardown. Empty: none.
   */
  residual_mounts: string[];
  /**
   * Evidence that could not be read, and cgroups that could not be removed. An unreadable counter does not count as zero, so it makes the verdict IE. A cgroup that was not removed does not change the verdict.
   */
  collection_errors: string[];
  /**
   * Actions of the launcher on the program with their reasons, recorded before each action; absent if the launcher did not intervene.
   */
  judge_actions?: TeardownJudgeActions[];
}

export interface TeardownJudgeActions {
  action_type: "forced_kill" | "descendant_kill";
  details: string;
}

export interface TerminalSize {
  rows: number;
  cols: number;
}

export interface TokensChecker {
  type: "tokens";
  /**
   * Whether upper and lower case differ; true by default
   */
  case_sensitive?: boolean;
  /**
   * Whether the tokens must be in the same lines; false by default
   */
  line_breaks?: boolean;
}

export interface Unpacked {
  files: number;
  bytes: number;
}

export interface Usage {
  /**
   * Id of the submission
   */
  id: string;
  /**
   * Null until the run has ended, for a run of less than 30 ms, and if the platform failed
   */
  usage: RunUsage | null;
}

export interface UsageSample {
  /**
   * Time since the start of the program
   */
  at_secs: number;
  /**
   * CPU time used until then
   */
  cpu_time_secs: number;
  /**
   * The highest reading since the previous sample
   */
  memory_bytes: number;
}

export type Verdict = "AC" | "RE" | "TLE" | "MLE" | "PLE" | "FSE" | "SIG" | "IE";

export interface WriteArchiveQuery {
  /**
   * Path of a directory, by default /home/user
   */
  path?: string;
}

export interface WriteFileQuery {
  /**
   * Path, absolute or relative to /home/user
   */
  path?: string;
  /**
   * Permissions as an octal number, such as 755. By default, those of the replaced file, or 644
   */
  mode?: string;
  /**
   * With `true`, missing directories are made
   */
  parents?: "true" | "false";
}
