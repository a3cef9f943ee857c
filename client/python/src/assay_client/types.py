"""The bodies of the API. Generated from /openapi.json: npm run generate."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

AttachedControl: TypeAlias = "AttachedEnd | AttachedKill | AttachedSignal | AttachedResize"

Batch: TypeAlias = "list[Accepted | ErrorBody]"

BatchRequest: TypeAlias = "list[SubmitRequest]"

BuiltInChecker: TypeAlias = "PlainChecker | TokensChecker | FloatsChecker"

Cause: TypeAlias = "Literal['internal_error', 'oom_kill', 'pids_limit', 'file_size_limit', 'wall_timeout', 'cpu_timeout', 'fatal_signal', 'nonzero_exit', 'normal_exit', 'compile_error', 'cancelled', 'compile_oom_kill', 'compile_pids_limit', 'compile_file_size_limit', 'compile_wall_timeout', 'compile_cpu_timeout']"

ClientMessage: TypeAlias = "InputMessage | EndMessage | SignalMessage"

Content: TypeAlias = "str | Base64"

# WA: the output is wrong. CE: the program does not compile. The other verdicts have the same meaning as in the record
JudgementVerdict: TypeAlias = "Literal['AC', 'WA', 'TLE', 'MLE', 'PLE', 'FSE', 'SIG', 'RE', 'CE', 'IE']"

LanguageDetails: TypeAlias = "list[Language]"

# The canonical names of the languages
Languages: TypeAlias = "list[str]"

# What programs may reach over the network: "none", or what the rules allow. What no rule allows is refused
NetworkPolicy: TypeAlias = "Literal['none'] | NetworkPolicyItem"

Profile: TypeAlias = "Literal['judge', 'agent']"

Signal: TypeAlias = "Literal['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGUSR1', 'SIGUSR2', 'SIGTERM']"

Status: TypeAlias = "Literal['pending', 'running', 'completed', 'error']"

Verdict: TypeAlias = "Literal['AC', 'RE', 'TLE', 'MLE', 'PLE', 'FSE', 'SIG', 'IE']"


class Accepted(TypedDict):
    # Id of the submission
    id: str
    status: Literal["pending"]
    # Number of pending submissions of all keys, including this one
    queue_depth: int


class AppliedLimits(TypedDict):
    rlimits: AppliedLimitsRlimits
    # The cgroup version from which the numbers below were read.
    cgroup_backend: Literal["cgroup_v2", "cgroup_v1", "cgroup_hybrid"]
    cgroup: AppliedLimitsCgroup


class AppliedLimitsCgroup(TypedDict):
    # The memory that all processes together could use, read back from the kernel, not copied from the request.
    memory_limit_bytes: int
    # The most memory that they used at the same time, including files that they or the compiler wrote.
    memory_peak_bytes: int
    # How often the memory limit was reached and the kernel could not free memory.
    oom_events: int
    # Processes of this box that the kernel killed for memory. MLE is based on this counter: the box was created for this run alone, and no program can change the counter.
    oom_kill_events: int
    # CPU time of all processes together, counted exactly by the kernel. CPU time of child processes is included.
    cpu_usage_usec: int
    # Processes and threads that existed when the evidence was collected.
    process_count: int
    # The number of processes and threads that could exist at the same time, read back from the kernel.
    process_limit: int


class AppliedLimitsRlimits(TypedDict):
    # A backstop above the CPU time limit, for a program that the launcher's timer did not end; the limits of wall and CPU time are not in the record, because they follow from profile, language and request.
    cpu_secs: NotRequired[Rlimit]
    # The address space that a process could reserve. The memory limit below counts memory in use, not reservations.
    as_bytes: NotRequired[Rlimit]
    # The number of files and connections that a process could have open at the same time.
    nofile: NotRequired[Rlimit]
    # A backstop above the process limit below, so that the kernel counts refusals there.
    nproc: NotRequired[Rlimit]


class AttachExecutionQuery(TypedDict):
    # The output of stdout begins at this byte
    stdout: NotRequired[int]
    # The output of stderr begins at this byte
    stderr: NotRequired[int]


class AttachedEnd(TypedDict):
    type: Literal["end"]


class AttachedEnded(TypedDict):
    type: Literal["ended"]
    execution: Execution


class AttachedError(TypedDict):
    type: Literal["error"]
    error: str
    message: NotRequired[str]


class AttachedKill(TypedDict):
    type: Literal["kill"]


class AttachedResize(TypedDict):
    type: Literal["resize"]
    rows: int
    cols: int


class AttachedSignal(TypedDict):
    type: Literal["signal"]
    signal: Literal["SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGTERM"]


class AttachedSkipped(TypedDict):
    """The next bytes of the stream are at this position, because those before were not kept."""

    type: Literal["skipped"]
    stream: Literal["stdout", "stderr"]
    at: int


class AttachedStart(TypedDict):
    type: Literal["start"]
    number: int
    stdout: int
    stderr: int


class Base64(TypedDict):
    base64: str


class Case(TypedDict):
    stdin: NotRequired[str]
    # The expected output
    expected: str


class CaseResult(TypedDict):
    submission_id: str | None
    verdict: JudgementVerdict
    passed: bool
    # The first difference, or the error message of the record
    message: str | None
    # What the program wrote, of which the first MiB is stored
    stdout: str
    stderr: str
    exit_code: int | None
    cpu_time_secs: float | None
    wall_time_secs: float | None
    memory_peak_bytes: int | None


class Check(TypedDict):
    name: str
    ok: bool
    detail: str


class Command(TypedDict):
    command: list[str]
    env: dict[str, str]


class ConnectQuery(TypedDict):
    # The last `id` that the client received; without it, the output begins at its start
    after: NotRequired[str]


class Egress(TypedDict):
    # The version of the policy at the time of the record
    policy_version: int
    # Bytes that the programs sent, and names under wildcards for which a name server was asked
    bytes_up: int
    # Bytes that the programs received
    bytes_down: int
    budget_left: EgressBudgetLeft
    # The first connections, at most 1,000, in the order in which they began
    connections: list[EgressConnection]
    # All further connections, by name or address and decision; `null` for those after the first 1,000 names
    more: list[EgressMore]
    # Connections that were denied
    denied: int
    # Names that the policy does not allow, at most 1,000
    refused_names: list[EgressRefusedNames]
    dns: EgressDns
    # Whether everything is listed and counted here. False if the part of Assay that forwards connections has failed meanwhile: all connections have ended then, and what was known of them is lost
    complete: bool
    # By what a connection belongs here: the kernel's record of the socket, or only the sandbox, because the execution is not known
    source: Literal["inet_diag cgroup id", "sandbox"]


class EgressBudgetLeft(TypedDict):
    """What the sandbox may still send and receive."""

    up: int
    down: int


class EgressConnection(TypedDict):
    # When the program connected
    at: str
    # The name that the program meant; null for a connection to an address
    name: str | None
    # The address to which the connection was made; for one that was denied, the address that the program used
    address: str | None
    port: int
    decision: Literal["allowed", "denied"]
    # The host or network of the rule that allows the connection
    rule: str | None
    # Why it was denied, or why it failed or was ended
    reason: str | None
    # Bytes that the programs sent, and names under wildcards for which a name server was asked
    bytes_up: int
    # Bytes that the programs received
    bytes_down: int
    # What ended it; null if it was denied, or is still open
    ended: Literal["client", "server", "idle", "budget", "policy", "sandbox"] | None


class EgressDns(TypedDict):
    """Queries for names that the policy allows, and for others."""

    answered: int
    refused: int


class EgressHost(TypedDict):
    # A name, or an address; null for all that are not listed
    name: str | None
    decision: Literal["allowed", "denied"]
    connections: int
    # Bytes that the programs sent, and names under wildcards for which a name server was asked
    bytes_up: int
    # Bytes that the programs received
    bytes_down: int


class EgressMore(TypedDict):
    name: str | None
    decision: Literal["allowed", "denied"]
    connections: int
    # Bytes that the programs sent, and names under wildcards for which a name server was asked
    bytes_up: int
    # Bytes that the programs received
    bytes_down: int


class EgressRefusedNames(TypedDict):
    name: str
    queries: int


class EndMessage(TypedDict):
    type: Literal["end"]


class EndedMessage(TypedDict):
    type: Literal["ended"]
    record: SubmissionRecord


class ErrorBody(TypedDict):
    error: str
    message: NotRequired[str]


class ErrorMessage(TypedDict):
    type: Literal["error"]
    error: str
    message: NotRequired[str]


class Evidence(TypedDict):
    isolation: Isolation
    limits: AppliedLimits
    teardown: Teardown


class Execution(TypedDict):
    """An execution in a sandbox. Values that are not known yet are null."""

    # Id of the sandbox
    sandbox_id: str
    # Number of the execution in its sandbox
    number: int
    # Version of this schema
    schema_version: Literal["2.0"]
    # What was given: `argv`, `shell` or `code`
    kind: Literal["argv", "shell", "code"]
    # The program and its arguments, of which the first 4096 bytes are kept; null for another kind
    argv: list[str] | None
    # The shell command, of which the first 4096 bytes are kept; null for another kind
    shell: str | None
    # Whether only the beginning of `argv` or `shell` is kept
    truncated: bool
    # Canonical name of the language of the code; null for another kind
    language: str | None
    # The directory in which it started
    cwd: str
    # Whether processes that its main program leaves remain
    background: bool
    # Whether it has a terminal
    terminal: bool
    # `error` if and only if the verdict is IE
    status: Literal["running", "completed", "error"]
    timestamps: ExecutionTimestamps
    # Processes that go on after the end of the main program; 0 unless the execution was started in the background
    processes_left: int | None
    result: Result
    output: Output
    # Usage of the execution, including child processes
    metrics: Metrics
    # Null until the execution has ended
    evidence: Evidence | None
    # What it reached over the network; null until it has ended, and if its sandbox has no network
    egress: Egress | None


class ExecutionEventsQuery(TypedDict):
    # The output of stdout begins at this byte
    stdout: NotRequired[int]
    # The output of stderr begins at this byte
    stderr: NotRequired[int]


class ExecutionInputQuery(TypedDict):
    # With `true`, the input ends after these bytes. The input of a terminal has no end
    end: NotRequired[Literal["true", "false"]]


class ExecutionOutput(TypedDict):
    # The position of the first byte of the text in the whole output, in bytes
    at: int
    # Output, in which bytes that are not UTF-8 are replaced
    text: str


class ExecutionRequest(TypedDict):
    # A program, by its path or by its name in PATH, and its arguments: up to 128 with 131072 bytes, each with up to 65536. A request has either `argv`, `shell` or `code`
    argv: NotRequired[list[str]]
    # A command for bash, up to 65536 bytes
    shell: NotRequired[str]
    # Name or alias of the language of `code`
    language: NotRequired[str]
    # A program, up to 1048576 bytes
    code: NotRequired[str]
    # A program in base64, instead of `code`
    code_base64: NotRequired[str]
    # Standard input, up to 1048576 bytes
    stdin: NotRequired[str]
    # Standard input in base64, instead of `stdin`
    stdin_base64: NotRequired[str]
    # Whether the standard input stays open after `stdin`, for requests that send more
    open_input: NotRequired[bool]
    # The directory in which it starts, by default /home/user
    cwd: NotRequired[str]
    # Environment variables of the execution, in addition to those of the sandbox: up to 20 with 32768 bytes, each with up to 16000. They can be secrets: they are never shown, and not stored
    env: NotRequired[dict[str, str]]
    limits: NotRequired[RunLimits]
    # Whether processes that the program leaves go on. The response does not wait for its end
    background: NotRequired[bool]
    # The size of a terminal, which the program gets instead of pipes. The response does not wait for its end
    terminal: NotRequired[TerminalSize]


class ExecutionSignal(TypedDict):
    signal: Literal["SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGTERM"]


class ExecutionState(TypedDict):
    sandbox_id: str
    number: int
    status: Literal["running", "completed", "error"]


class ExecutionSummary(TypedDict):
    number: int
    kind: Literal["argv", "shell", "code"]
    argv: list[str] | None
    shell: str | None
    language: str | None
    background: bool
    terminal: bool
    status: Literal["running", "completed", "error"]
    verdict: Verdict | None
    started_at: str
    completed_at: str | None
    processes_left: int | None


class ExecutionTimestamps(TypedDict):
    # ISO 8601, UTC, milliseconds
    started_at: str
    # When it ended
    completed_at: str | None


class Executions(TypedDict):
    executions: list[ExecutionSummary]
    # The value of `before` for the next page; null if there are no older entries
    next: str | None


class ExecutionsQuery(TypedDict):
    # The value of `next` from the previous page; without it, the list starts at the newest
    before: NotRequired[str]
    # The most entries of a page, from 1 to 100
    limit: NotRequired[int]


class FileChanged(TypedDict):
    path: str


class FileEventsQuery(TypedDict):
    # Path of a directory, by default /home/user
    path: NotRequired[str]
    # With `true`, directories in it are watched as well
    recursive: NotRequired[Literal["true", "false"]]


class FileFailure(TypedDict):
    error: str
    code: str
    path: str | None


class FileInfo(TypedDict):
    path: str
    type: Literal["file", "directory", "link", "other"]
    # Size of the content of a file; 0 for everything else
    bytes: int
    # The permissions as a number: 420 for 0644
    mode: int
    modified_at: str
    # Changes with the content; for `If-Match` and `If-None-Match`, in quotation marks
    etag: str
    # Where a link leads, as it was written
    target: str | None


class FileInfoQuery(TypedDict):
    # Path, absolute or relative to /home/user
    path: NotRequired[str]
    # With `false`, a link itself is described
    follow: NotRequired[Literal["true", "false"]]


class FileMove(TypedDict):
    path: str
    # The new path
    to: str


FileMoved = TypedDict(
    "FileMoved",
    {
        # The new path
        "path": "str",
        # The path before
        "from": "str",
    },
)


class FilePath(TypedDict):
    path: str


class Files(TypedDict):
    entries: list[FileInfo]
    # The value of `after` for the next page; null after the last one
    next: str | None


class FloatsChecker(TypedDict):
    type: Literal["floats"]
    # Whether upper and lower case differ; true by default
    case_sensitive: NotRequired[bool]
    # Whether the tokens must be in the same lines; false by default
    line_breaks: NotRequired[bool]
    # The largest absolute error; by default 10⁻⁶, or 0 if only the other error is given
    absolute: NotRequired[float]
    # The largest relative error; by default 10⁻⁶, or 0 if only the other error is given
    relative: NotRequired[float]


class GraderResult(TypedDict):
    # The id of the record of its run; null until it has ended
    submission_id: str | None
    # Why it gave no result, so that the verdict is IE; null if it gave one
    message: str | None


class GroupResult(TypedDict):
    # Empty for the tests without a group
    name: str
    # How the points follow from the tests and groups in the group. Groups of problem packages also have the rules `least`, `greatest`, `average` and `all`
    rule: Literal["sum", "min", "least", "greatest", "average", "all"]
    # The group that contains this one; null if none does
    parent: str | None
    score: float
    max_score: float
    # Whether all tests passed, unless the package has another rule; null while open tests decide it
    passed: bool | None


class Health(TypedDict):
    status: Literal["ok", "degraded"]
    # `strict` if a recent self-test proved full isolation
    enforcement_mode: Literal["strict", "none"]
    # Number of submissions that can run at the same time
    workers: int
    # Number of pending submissions of all keys
    queue_depth: int


class ImportProblemQuery(TypedDict):
    # Name of the problem. By default, the name of the directory in the archive that contains all files
    name: NotRequired[str]
    # Time limit in seconds of CPU time, which replaces that of the package. It is required if the package has none
    time_limit: NotRequired[float]
    # Whether a package whose structure can be read, but whose programs or their settings have faults, becomes a faulty version. By default, it is refused
    allow_faults: NotRequired[Literal["true", "false"]]


class InputMessage(TypedDict):
    type: Literal["input"]
    # Bytes for the standard input of the program: text, or {"base64": …}
    input: Content


class Isolation(TypedDict):
    # `strict`: every control below was in force before the first instruction of the program. In any other mode the verdict is IE.
    mode: Literal["strict", "incomplete"]
    # The controls that confined the program. Each was read back from the kernel before the program started, not copied from the request. The program cannot undo them.
    controls_applied: list[str]
    # Controls that could not be confirmed: a single one makes the verdict IE, because the other evidence then proves nothing.
    controls_missing: list[str]
    # `hardened`: in `/proc` the program saw its own processes and nothing else of the machine.
    proc_policy: Literal["hardened", "none"]
    # The system call filter. `builtin-deny`: the kernel refuses calls that no submission needs.
    sys_policy: Literal["builtin-deny", "custom", "disabled"]
    # `native`: the launcher referred to processes by pidfds, which the kernel never reuses for another process, so it never killed or waited for a wrong one.
    pidfd_mode: Literal["native", "fallback"]
    # A summary of the isolation, with the cgroup version that the kernel uses for accounting.
    reason: str


class JudgeRequest(TypedDict):
    # Name or alias of a language; GET /api/languages lists the names, except for plaintext, executable and multifile
    language: str
    # Source, up to 262144 bytes of UTF-8 unless the operator sets another bound. It is required unless there is `code_base64` or `entry`
    code: NotRequired[str]
    # Set of limits. The key must allow the profile. Without this field, the default profile of the key holds
    profile: NotRequired[Profile]
    # Source of the program in base64, instead of `code`
    code_base64: NotRequired[str]
    # Further files in /box, by their paths. Each is text, or {"base64": …}. There may be up to 48 files with 1048576 bytes in all. For C, C++, Go and Java, other source files, such as `util.cpp`, are compiled together with the program. A path has up to 8 names, each of at most 255 bytes, and 1024 bytes in all. A name has letters, digits, punctuation and symbols of any script except `\ : * ? " < > |`, and spaces inside of it. It does not begin with `.`, `-` or `@`. Paths are normalized to Unicode's form NFC
    files: NotRequired[dict[str, Content]]
    # Path of the file in `files` that is compiled and run instead of `code`
    entry: NotRequired[str]
    # Arguments of the program. There may be up to 32 arguments and 32 variables in `env`, together 16384 bytes
    args: NotRequired[list[str]]
    # Environment variables of the program
    env: NotRequired[dict[str, str]]
    limits: NotRequired[RunLimits]
    compile_limits: NotRequired[RunLimits]
    # Options that are added to those of the compiler. Only options for optimisation, standard, warnings, strictness and macros are allowed
    compiler_options: NotRequired[list[str]]
    # Whether stderr is merged into stdout, in the order of the writes
    stderr_to_stdout: NotRequired[bool]
    cases: list[Case]
    # How the output is compared with `expected`. By default `lines`, which ignores white space at the ends of lines
    checker: NotRequired[Literal["exact", "lines", "tokens", "floats", "unordered_lines", "regex"]]


class Judged(TypedDict):
    results: list[CaseResult]
    all_passed: bool


class Judgement(TypedDict):
    # Id of the judgement
    id: str
    schema_version: Literal["judgement-1.0"]
    language: str
    profile: Profile
    # The problem and its version; null if the request had the tests
    problem: JudgementProblem | None
    # `error` if and only if the verdict is IE
    status: Status
    timestamps: JudgementTimestamps
    verdict: JudgementVerdict | None
    # Null until the judgement has ended
    score: float | None
    tests: JudgementTests
    max_score: float
    stop: Literal["first_failure", "never", "group"]
    checker: Literal["exact", "lines", "tokens", "floats", "unordered_lines", "regex", "program"]
    # The grader of the package, which runs after the tests. Only judgements of a problem with a grader have it
    grader: NotRequired[GraderResult]
    groups: list[GroupResult]
    # The runs, in the order of the tests
    runs: list[Run]


class JudgementAccepted(TypedDict):
    # Id of the judgement
    id: str
    status: Literal["pending"]


class JudgementGroup(TypedDict):
    name: str
    # `sum` adds the points of the tests; `min` multiplies the points of the group by the smallest share that a test earned. By default `sum`
    rule: NotRequired[Literal["sum", "min"]]
    # Earlier groups whose tests must all pass; otherwise this group is skipped
    depends: NotRequired[list[str]]


class JudgementProblem(TypedDict):
    id: str
    version: int


class JudgementRequest(TypedDict):
    # Name or alias of a language; GET /api/languages lists the names, except for plaintext, executable and multifile
    language: str
    # Source, up to 262144 bytes of UTF-8 unless the operator sets another bound. It is required unless there is `code_base64` or `entry`
    code: NotRequired[str]
    # Set of limits. The key must allow the profile. Without this field, the default profile of the key holds
    profile: NotRequired[Profile]
    # Source of the program in base64, instead of `code`
    code_base64: NotRequired[str]
    # Further files in /box, by their paths. Each is text, or {"base64": …}. There may be up to 48 files with 1048576 bytes in all. For C, C++, Go and Java, other source files, such as `util.cpp`, are compiled together with the program. A path has up to 8 names, each of at most 255 bytes, and 1024 bytes in all. A name has letters, digits, punctuation and symbols of any script except `\ : * ? " < > |`, and spaces inside of it. It does not begin with `.`, `-` or `@`. Paths are normalized to Unicode's form NFC
    files: NotRequired[dict[str, Content]]
    # Path of the file in `files` that is compiled and run instead of `code`
    entry: NotRequired[str]
    # Arguments of the program. There may be up to 32 arguments and 32 variables in `env`, together 16384 bytes
    args: NotRequired[list[str]]
    # Environment variables of the program
    env: NotRequired[dict[str, str]]
    limits: NotRequired[RunLimits]
    compile_limits: NotRequired[RunLimits]
    # Options that are added to those of the compiler. Only options for optimisation, standard, warnings, strictness and macros are allowed
    compiler_options: NotRequired[list[str]]
    # Whether stderr is merged into stdout, in the order of the writes
    stderr_to_stdout: NotRequired[bool]
    # The tests. They are required unless the request has `problem`
    tests: NotRequired[list[JudgementTest]]
    # Id of a problem, which is used instead of `tests`, `checker` and `groups`. Its tests can have limits
    problem: NotRequired[str]
    # Version of the problem; by default the current one
    problem_version: NotRequired[int]
    # How outputs are checked. By default `lines`, which ignores white space at the ends of lines
    checker: NotRequired[Literal["exact", "lines", "tokens", "floats", "unordered_lines", "regex"] | BuiltInChecker | ProgramChecker]
    groups: NotRequired[list[JudgementGroup]]
    # Which tests are skipped: those after the `first_failure` (the default), those after a failure in the same `group`, or none (`never`)
    stop: NotRequired[Literal["first_failure", "never", "group"]]


class JudgementSummary(TypedDict):
    # Id of the judgement
    id: str
    schema_version: Literal["judgement-1.0"]
    language: str
    profile: Profile
    # The problem and its version; null if the request had the tests
    problem: JudgementSummaryProblem | None
    # `error` if and only if the verdict is IE
    status: Status
    timestamps: JudgementSummaryTimestamps
    verdict: JudgementVerdict | None
    # Null until the judgement has ended
    score: float | None
    tests: JudgementSummaryTests


class JudgementSummaryProblem(TypedDict):
    id: str
    version: int


class JudgementSummaryTests(TypedDict):
    total: int
    passed: int
    ended: int


class JudgementSummaryTimestamps(TypedDict):
    created_at: str
    completed_at: str | None


class JudgementTest(TypedDict):
    # Name of the test; by default its number
    name: NotRequired[str]
    # Standard input of the program: text, or {"base64": …}
    stdin: NotRequired[Content]
    # The expected output, or several. A built-in checker needs at least one, and accepts an output that matches any of them
    expected: NotRequired[Content | list[Content]]
    # Points of the test; 1 by default
    points: NotRequired[float]
    group: NotRequired[str]
    limits: NotRequired[RunLimits]


class JudgementTests(TypedDict):
    total: int
    passed: int
    ended: int


class JudgementTimestamps(TypedDict):
    created_at: str
    completed_at: str | None


class Judgements(TypedDict):
    judgements: list[JudgementSummary]
    # The value of `before` for the next page; null if there are no older entries
    next: str | None


class JudgementsQuery(TypedDict):
    # Lists only entries with this status
    status: NotRequired[Literal["pending", "running", "completed", "error"]]
    # Lists only entries in this language, given by its canonical name
    language: NotRequired[str]
    # The value of `next` from the previous page; without it, the list starts at the newest
    before: NotRequired[str]
    # The most entries of a page, from 1 to 100
    limit: NotRequired[int]
    # Lists only entries with this verdict
    verdict: NotRequired[Literal["AC", "WA", "TLE", "MLE", "PLE", "FSE", "SIG", "RE", "CE", "IE"]]
    # Lists only judgements on the problem with this id, even if it has been deleted
    problem: NotRequired[str]


class Language(TypedDict):
    name: str
    # Name of the language with its version and standard
    label: str
    aliases: list[str]
    # Name of the source file in /box
    source: str
    compile: Command | None
    execute: Command
    limits: dict[Profile, LanguageLimits]


class LanguageLimits(TypedDict):
    compile: Limits | None
    execute: Limits


class Limits(TypedDict):
    wall_time_secs: float
    cpu_time_secs: float
    memory_bytes: float
    processes: float
    file_bytes: float
    open_files: float
    stack_bytes: float
    stdout_bytes: float
    stderr_bytes: float


class ListFilesQuery(TypedDict):
    # Path of a directory, by default /home/user
    path: NotRequired[str]
    # The value of `next` from the previous page
    after: NotRequired[str]
    # The most entries of a page, from 1 to 1000
    limit: NotRequired[int]


class LiveInput(TypedDict):
    # Bytes for the standard input of the program: text, or {"base64": …}
    input: Content


class LiveInputAccepted(TypedDict):
    # Id of the submission
    id: str
    status: Status


class LiveSignal(TypedDict):
    signal: Signal


class Metrics(TypedDict):
    # CPU time of all processes of the program
    cpu_time_secs: float | None
    # Time from the start to the end of the program
    wall_time_secs: float | None
    # The most memory that all processes of the program used at the same time
    memory_peak_bytes: int | None
    # CPU time divided by wall time
    cpu_wall_ratio: float | None
    # What explains the ratio
    divergence: Literal["cpu_bound", "sleep_or_block_bound", "host_interference_suspected"] | None


class NetworkOffer(TypedDict):
    # Whether sandboxes of this service can have a network
    available: bool
    # What a sandbox of this key may reach at most: the network bound of its project and account; "none" if its operator has opened nothing
    policy: NetworkPolicy
    today: NetworkOfferToday


class NetworkOfferToday(TypedDict):
    """What sandboxes have reserved and not used yet counts as used."""

    # The present day, in UTC
    date: str
    # What all sandboxes together may still send today; null if the operator has set no such bound
    bytes_up_left: int | None
    # What they may still receive today
    bytes_down_left: int | None


class NetworkPolicyItem(TypedDict):
    allow: list[NetworkPolicyItemAllow]
    # Bytes that programs may send to the network, all connections together, over the whole life of the sandbox, from 0 to 17592186044416; by default 1048576
    bytes_up: NotRequired[int]
    # Bytes that programs may receive, in the same way, from 0 to 17592186044416; by default 1073741824
    bytes_down: NotRequired[int]
    # Connections that may be open at the same time, from 1 to 64; by default 64
    connections: NotRequired[int]
    # Connections that may begin within a minute, with those that are refused, from 1 to 600; by default 600
    connections_per_minute: NotRequired[int]


class NetworkPolicyItemAllow(TypedDict):
    # A name such as `api.example.com`, or `*.example.org` for all names below example.org
    host: NotRequired[str]
    # Instead of `host`, a network, such as `203.0.113.0/24` with a prefix of at least 8 bits, or 16 (IPv6). It is only for connections to addresses: a name is allowed by its own rule
    cidr: NotRequired[str]
    # TCP ports, at most 16 different ones in a policy; not 53
    ports: list[int]


class NewSandboxLimits(TypedDict):
    # Memory of all programs, and of files in memory, together, from 67108864 to 4294967296; by default 536870912
    memory_bytes: NotRequired[int]
    # Processes and threads of all executions together, from 8 to 512; by default 256
    processes: NotRequired[int]
    # Where the files are. `memory`: they count as memory, too. `disk`: the sandbox has a disk of its own, if the service permits that; by default `memory`
    storage: NotRequired[Literal["memory", "disk"]]
    # Bytes of all files that differ from the image. In memory: from 4194304 to 4294967296, by default 268435456. On a disk: one of 1073741824, 2147483648, 4294967296, 8589934592, 17179869184, by default 4294967296
    disk_bytes: NotRequired[int]
    # Files and directories that differ from the image. In memory: from 256 to 65536, by default 32768. On a disk: one for each 16384 bytes, so it need not be given
    inodes: NotRequired[int]
    # CPUs to which each execution is bound; a service can permit fewer, from 1 to 64; by default 1
    cpus: NotRequired[int]


class NotFinished(TypedDict):
    error: str
    # Id of the submission
    id: str
    status: Status


class NotReady(TypedDict):
    error: str
    status: Literal["not_ready"]
    checks: list[Check]


class Output(TypedDict):
    # Invalid UTF-8 becomes U+FFFD; without U+FFFD, the text is exactly the program's output
    stdout: str | None
    # Invalid UTF-8 becomes U+FFFD; without U+FFFD, the text is exactly the program's output
    stderr: str | None
    # Whether all output was captured, regardless of encoding
    integrity: Literal["complete", "truncated_by_judge_limit", "crash_mid_write", "write_error"] | None


class OutputMessage(TypedDict):
    type: Literal["stdout", "stderr"]
    # Position of the text in the stream, in bytes
    at: int
    text: str
    # The value of `after` for a client that has all messages so far, or null
    id: str | None


class PlainChecker(TypedDict):
    type: Literal["exact", "lines", "unordered_lines", "regex"]


class Problem(TypedDict):
    # Id of the problem
    id: str
    # Name of the problem, unique in the account
    name: str
    title: str
    version: int
    tests: int
    # Size of all inputs and answers
    bytes: int
    limits: ProblemLimits
    # What the package has to mend, if the version is faulty; otherwise empty. Each judgement on a faulty version ends with IE
    faults: list[str]
    created_at: str
    updated_at: str
    # All versions that are stored, newest first
    versions: list[ProblemVersions]


class ProblemLimits(TypedDict):
    """Limits of each test. If a limit is null, that of the profile holds."""

    cpu_time_secs: float | None
    memory_bytes: int | None


class ProblemVersions(TypedDict):
    version: int
    tests: int
    # Size of all inputs and answers
    bytes: int
    limits: ProblemVersionsLimits
    # What the package has to mend, if the version is faulty; otherwise empty. Each judgement on a faulty version ends with IE
    faults: list[str]
    created_at: str


class ProblemVersionsLimits(TypedDict):
    """Limits of each test. If a limit is null, that of the profile holds."""

    cpu_time_secs: float | None
    memory_bytes: int | None


class Problems(TypedDict):
    problems: list[ProblemsProblems]
    # The value of `before` for the next page; null if there are no older entries
    next: str | None


class ProblemsProblems(TypedDict):
    # Id of the problem
    id: str
    # Name of the problem, unique in the account
    name: str
    title: str
    version: int
    tests: int
    # Size of all inputs and answers
    bytes: int
    limits: ProblemsProblemsLimits
    # What the package has to mend, if the version is faulty; otherwise empty. Each judgement on a faulty version ends with IE
    faults: list[str]
    created_at: str
    updated_at: str


class ProblemsProblemsLimits(TypedDict):
    """Limits of each test. If a limit is null, that of the profile holds."""

    cpu_time_secs: float | None
    memory_bytes: int | None


class ProblemsQuery(TypedDict):
    # The value of `next` from the previous page; without it, the list starts at the newest
    before: NotRequired[str]
    # The most entries of a page, from 1 to 100
    limit: NotRequired[int]


class ProgramChecker(TypedDict):
    type: Literal["program"]
    # How the checker is called and how it reports its result
    interface: Literal["kattis", "testlib"]
    # Name or alias of a language; GET /api/languages lists the names, except for plaintext, executable and multifile
    language: str
    # Source of the program in base64, instead of `code`
    code_base64: NotRequired[str]
    # Further files in /box, by their paths. Each is text, or {"base64": …}. There may be up to 48 files with 1048576 bytes in all. For C, C++, Go and Java, other source files, such as `util.cpp`, are compiled together with the program. A path has up to 8 names, each of at most 255 bytes, and 1024 bytes in all. A name has letters, digits, punctuation and symbols of any script except `\ : * ? " < > |`, and spaces inside of it. It does not begin with `.`, `-` or `@`. Paths are normalized to Unicode's form NFC
    files: NotRequired[dict[str, Content]]
    # Path of the file in `files` that is compiled and run instead of `code`
    entry: NotRequired[str]
    # Source, up to 262144 bytes of UTF-8 unless the operator sets another bound. It is required unless there is `code_base64` or `entry`
    code: NotRequired[str]
    # Arguments that follow those of the interface
    args: NotRequired[list[str]]
    # Whether the checker runs together with the program, so that each reads the output of the other
    interactive: NotRequired[bool]
    # The most runs of the program for one test. This field is only for the interface `kattis`
    passes: NotRequired[int]


class ReadArchiveQuery(TypedDict):
    # Path of a directory, by default /home/user
    path: NotRequired[str]


class ReadFileQuery(TypedDict):
    # Path, absolute or relative to /home/user
    path: NotRequired[str]


class Ready(TypedDict):
    status: Literal["ready"]
    # `strict` if a recent self-test proved full isolation
    enforcement_mode: Literal["strict", "none"]
    cgroup_backend: Literal["cgroup_v2", "cgroup_v1", "cgroup_hybrid"] | None
    checks: list[Check]


class RemoveFileQuery(TypedDict):
    # Path, absolute or relative to /home/user
    path: NotRequired[str]
    # With `true`, a directory may have content
    recursive: NotRequired[Literal["true", "false"]]


class Result(TypedDict):
    # How the run ended
    verdict: Verdict | None
    # Why the run ended
    cause: Cause | None
    # The party that ended the run
    actor: Literal["runtime", "kernel", "judge"] | None
    # Null unless the program exited
    exit_code: int | None
    # The signal that ended the program
    signal: int | None
    # A sentence for display; null on success
    error_message: str | None


class Rlimit(TypedDict):
    soft: int
    hard: int


class Run(TypedDict):
    name: str
    group: str
    # `skipped` if the test was not needed
    status: Literal["waiting", "queued", "completed", "skipped"]
    verdict: JudgementVerdict | None
    points: float
    max_points: float
    # The message of the checker, or the error message of the record
    message: str | None
    # The id of the record; null until the run has ended
    submission_id: str | None
    cpu_time_secs: float | None
    wall_time_secs: float | None
    memory_peak_bytes: int | None


class RunLimits(TypedDict):
    """Limits that replace those of the profile and are at most as high. `limits` holds for the run, `compile_limits` for the compiler."""

    wall_time_secs: NotRequired[float]
    cpu_time_secs: NotRequired[float]
    memory_bytes: NotRequired[int]
    processes: NotRequired[int]
    file_bytes: NotRequired[int]
    open_files: NotRequired[int]
    stack_bytes: NotRequired[int]
    stdout_bytes: NotRequired[int]
    stderr_bytes: NotRequired[int]


class RunUsage(TypedDict):
    # `compile` if only the compiler ran
    step: Literal["compile", "execute"]
    wall_time_secs: float
    cpu_time_secs: float
    memory_peak_bytes: int
    memory_limit_bytes: int
    samples: list[UsageSample]


class Runs(TypedDict):
    # Id of the submission
    id: str
    # How often the program ran. Null for several runs that an earlier release of the service did not count
    runs: int | None
    # The mean of the runs; null if the program was not executed
    cpu_time_secs: float | None
    # The mean of the runs; null if the program was not executed
    memory_peak_bytes: int | None


class Sandbox(TypedDict):
    """A sandbox. Values that are not known yet are null."""

    # Id of the sandbox
    id: str
    # `creating`: its box is being made; `paused`: its programs are frozen; `ended`: nothing of it is left but its records
    state: Literal["creating", "running", "paused", "ended"]
    # Why it ended; null until then
    end_reason: Literal["client", "lifetime", "idle", "memory", "suspended", "worker_lost", "shutdown", "failed"] | None
    timestamps: SandboxTimestamps
    # How long it lives at most, from its start
    lifetime_secs: int
    # How long it lives without any request or reader while its programs use less than 1 % of a CPU. While it is paused, this clock stands still.
    idle_secs: int
    # `snapshot`: when its lifetime or idle time is over, a snapshot of its files is taken before it ends
    on_timeout: Literal["end", "snapshot"]
    # Id of the snapshot whose files it began with; null for a fresh one
    from_snapshot: str | None
    last_snapshot: SandboxLastSnapshot
    limits: SandboxLimits
    network: SandboxNetwork
    # What the client chose
    metadata: dict[str, str]
    evidence: SandboxEvidence


class SandboxChange(TypedDict):
    # How long the sandbox lives at most, from its start; by default 3600 s
    lifetime_secs: NotRequired[int]
    # How long the sandbox lives without any request or reader while its programs use less than 1 % of a CPU; by default 600 s
    idle_secs: NotRequired[int]
    # Names and values by which the client finds its sandboxes: up to 32, with names of up to 64 and values of up to 512 characters, together up to 4096 bytes
    metadata: NotRequired[dict[str, str]]


class SandboxEgress(TypedDict):
    # The version of the policy at the time of the record
    policy_version: int
    # Bytes that the programs sent, and names under wildcards for which a name server was asked
    bytes_up: int
    # Bytes that the programs received
    bytes_down: int
    budget_left: SandboxEgressBudgetLeft
    # Connections that were denied
    denied: int
    dns: SandboxEgressDns
    # Whether everything is listed and counted here. False if the part of Assay that forwards connections has failed meanwhile: all connections have ended then, and what was known of them is lost
    complete: bool
    # All connections of the sandbox, by name or address and decision
    hosts: list[EgressHost]
    # What belongs to no execution, such as what processes do that an execution has left behind, after its end
    unattributed: Egress


class SandboxEgressBudgetLeft(TypedDict):
    """What the sandbox may still send and receive."""

    up: int
    down: int


class SandboxEgressDns(TypedDict):
    """Queries for names that the policy allows, and for others."""

    answered: int
    refused: int


class SandboxEgressReport(TypedDict):
    sandbox_id: str
    # What all of its executions together have reached, or tried to; null if it has no network, and after the end if its machine was lost
    egress: SandboxEgress | None


class SandboxEnded(TypedDict):
    error: str
    end_reason: Literal["client", "lifetime", "idle", "memory", "suspended", "worker_lost", "shutdown", "failed"]


class SandboxEvidence(TypedDict):
    # The controls that confine the sandbox, each read back from the kernel before the first execution. `socket_limit` is one of them where programs can use sockets on the loopback interface, and `lock_limit` where locks of files have an effect
    controls_applied: list[str] | None
    # Controls that could not be confirmed. A sandbox with a missing control does not start.
    controls_missing: list[str] | None
    teardown: SandboxEvidenceTeardown


class SandboxEvidenceTeardown(TypedDict):
    # Whether the kernel confirmed that no process, mount or cgroup of the sandbox is left; null until it has ended, and if its box was lost
    cleanup_verified: bool | None
    # Processes that could not be ended
    processes_left: int | None
    # Processes that ended and were not reaped
    zombies: int | None
    # Mounts that could not be removed
    residual_mounts: list[str] | None
    # Cgroups that could not be removed
    groups_left: list[str] | None


class SandboxLastSnapshot(TypedDict):
    # Id of the snapshot that `on_timeout` has taken; null if there is none
    id: str | None
    # Why `on_timeout` could not take a snapshot; null if it could, or was not to
    error: str | None


class SandboxLimits(TypedDict):
    # Memory of all programs, and of files in memory, together
    memory_bytes: int
    # Processes and threads of all executions together
    processes: int
    # Where the files are: in `memory`, where they count as well, or on a `disk` of the sandbox
    storage: Literal["memory", "disk"]
    # Bytes of all files that differ from the image
    disk_bytes: int
    # Files and directories that differ from the image
    inodes: int
    # CPUs to which each execution is bound
    cpus: int


class SandboxMetrics(TypedDict):
    # Memory of all programs and files now; 0 after the end
    memory_bytes: int
    # The highest use of memory since the start; after the end, that of the samples, or null if there are none
    memory_peak_bytes: int | None
    # CPU time of all programs since the start; after the end, that of the last sample, or null if there is none
    cpu_time_secs: float | None
    # Processes and threads now; 0 after the end
    processes: int
    # Processes that the kernel killed because the sandbox reached its memory limit; null after the end
    oom_kills: int | None
    # Bytes of all files that differ from the image; 0 after the end
    disk_bytes: int
    # Files and directories that differ from the image; 0 after the end
    inodes: int
    # What it used over its life, oldest first, at most 240. Only with `samples=true`
    samples: NotRequired[list[SandboxSample]]


class SandboxMetricsQuery(TypedDict):
    # With `true`, the response has what the sandbox used over its life
    samples: NotRequired[Literal["true", "false"]]


class SandboxNetwork(TypedDict):
    # Version of the policy: 1 at first, and one higher after each replacement
    version: int
    # What its programs may reach over the network. With "none" and version 1, it has no network for good
    policy: NetworkPolicy


SandboxRequest = TypedDict(
    "SandboxRequest",
    {
        # How long the sandbox lives at most, from its start; by default 3600 s
        "lifetime_secs": "NotRequired[int]",
        # How long the sandbox lives without any request or reader while its programs use less than 1 % of a CPU; by default 600 s
        "idle_secs": "NotRequired[int]",
        "limits": "NotRequired[NewSandboxLimits]",
        # Environment variables of all executions: up to 20 with 32768 bytes, each with up to 16000. They can be secrets: they are never shown, and stored only encrypted, until the end of the sandbox
        "env": "NotRequired[dict[str, str]]",
        # Names and values by which the client finds its sandboxes: up to 32, with names of up to 64 and values of up to 512 characters, together up to 4096 bytes
        "metadata": "NotRequired[dict[str, str]]",
        # Id of a snapshot of the account, whose files the sandbox begins with. They must fit into its limits
        "from": "NotRequired[str]",
        # `snapshot`: when its lifetime or its idle time is over, a snapshot of its files is taken before it ends, and `last_snapshot` of its record names it; by default `end`
        "on_timeout": "NotRequired[Literal['end', 'snapshot']]",
        # What its programs may reach over the network, by default "none". A sandbox that is created with "none" has no network for good
        "network": "NotRequired[NetworkPolicy]",
    },
)


class SandboxSample(TypedDict):
    # When it was measured
    at: str
    # CPU time of all programs from the start to this time
    cpu_time_secs: float
    # The highest use of memory that was measured since the sample before
    memory_bytes: int
    # Processes and threads, in the same way
    processes: int
    # Bytes of files, in the same way
    disk_bytes: int


class SandboxTimestamps(TypedDict):
    # ISO 8601, UTC, milliseconds
    created_at: str
    # When its box was ready
    started_at: str | None
    # When its lifetime is over, if it does not end before
    expires_at: str | None
    # When it was removed
    ended_at: str | None


class Sandboxes(TypedDict):
    sandboxes: list[Sandbox]
    # The value of `before` for the next page; null if there are no older entries
    next: str | None


class SandboxesQuery(TypedDict):
    # Lists only sandboxes in this state
    state: NotRequired[Literal["creating", "running", "paused", "ended"]]
    # Lists only sandboxes with these metadata, written like a query and then percent-encoded: `task%3D42%26user%3D7`
    metadata: NotRequired[str]
    # The value of `next` from the previous page; without it, the list starts at the newest
    before: NotRequired[str]
    # The most entries of a page, from 1 to 100
    limit: NotRequired[int]


class SignalMessage(TypedDict):
    type: Literal["signal"]
    signal: Signal


class Snapshot(TypedDict):
    """The files of a sandbox at one moment."""

    # Id of the snapshot
    id: str
    # Id of the sandbox whose files it has
    sandbox_id: str
    # The name that the client chose
    name: str | None
    # Length of the archive, which counts for the quota of the account
    bytes: int
    # Files, directories, links and FIFOs
    files: int
    # SHA-256 of the archive: the same files have the same hash
    sha256: str
    # ISO 8601, UTC, milliseconds
    created_at: str


class SnapshotRequest(TypedDict):
    # A name for people, with 1 to 128 characters
    name: NotRequired[str]


class Snapshots(TypedDict):
    snapshots: list[Snapshot]
    # The value of `before` for the next page; null if there are no older entries
    next: str | None


class SnapshotsQuery(TypedDict):
    # The value of `next` from the previous page; without it, the list starts at the newest
    before: NotRequired[str]
    # The most entries of a page, from 1 to 100
    limit: NotRequired[int]


class StatusMessage(TypedDict):
    type: Literal["status"]
    status: Status


class SubmissionEgress(TypedDict):
    # Id of the submission
    id: str
    # What the program may reach over the network; "none" if it has none
    network: NetworkPolicy
    # What it has reached, or tried to; null if it has no network, until its run has ended, and if its machine was lost
    egress: Egress | None


class SubmissionRecord(TypedDict):
    """The current state of a submission. Values that are not known yet are null."""

    # Id of the submission
    id: str
    # Version of this schema
    schema_version: Literal["2.0"]
    # Canonical name of the language
    language: str
    # Set of limits
    profile: Profile
    # `error` if and only if the verdict is IE
    status: Status
    timestamps: SubmissionRecordTimestamps
    result: Result
    output: Output
    # Usage of the execute step, including child processes
    metrics: Metrics
    # Null until a run has been reported
    evidence: Evidence | None


class SubmissionRecordTimestamps(TypedDict):
    # ISO 8601, UTC, milliseconds
    created_at: str
    # When its run started
    started_at: str | None
    # When it ended
    completed_at: str | None


class SubmissionSummary(TypedDict):
    # Id of the submission
    id: str
    status: Status
    verdict: Verdict | None
    language: str
    profile: Profile
    created_at: str
    started_at: str | None
    completed_at: str | None


class Submissions(TypedDict):
    submissions: list[SubmissionSummary]
    # The value of `before` for the next page; null if there are no older entries
    next: str | None


class SubmissionsQuery(TypedDict):
    # Lists only entries with this status
    status: NotRequired[Literal["pending", "running", "completed", "error"]]
    # Lists only entries in this language, given by its canonical name
    language: NotRequired[str]
    # The value of `next` from the previous page; without it, the list starts at the newest
    before: NotRequired[str]
    # The most entries of a page, from 1 to 100
    limit: NotRequired[int]
    # Lists only entries with this verdict
    verdict: NotRequired[Literal["AC", "RE", "TLE", "MLE", "PLE", "FSE", "SIG", "IE"]]


class SubmitRequest(TypedDict):
    # Name or alias of a language; GET /api/languages lists the names, except for plaintext, executable and multifile
    language: str
    # Source of the program, 1 to 65536 bytes of UTF-8. It is required unless the request has `code_base64` or `entry`
    code: NotRequired[str]
    # Standard input, up to 262144 bytes of UTF-8
    stdin: NotRequired[str]
    # Set of limits. The key must allow the profile. Without this field, the default profile of the key holds
    profile: NotRequired[Profile]
    # Source of the program in base64, instead of `code`
    code_base64: NotRequired[str]
    # Standard input in base64, instead of `stdin`
    stdin_base64: NotRequired[str]
    # Whether GET /api/result/{id}/events sends the output while the program runs
    stream: NotRequired[bool]
    # Whether clients can send input and signals to the program while it runs. It includes `stream`. `stdin` is the beginning of the input
    live_input: NotRequired[bool]
    # How often the program runs, up to 20: one run after the other, until one has a verdict other than AC. The record shows the last run, and GET /api/result/{id}/runs the means. Each run counts as a request. Not together with `stream`
    runs: NotRequired[int]
    # Further files in /box, by their paths. Each is text, or {"base64": …}. There may be up to 48 files with 1048576 bytes in all. For C, C++, Go and Java, other source files, such as `util.cpp`, are compiled together with the program. A path has up to 8 names, each of at most 255 bytes, and 1024 bytes in all. A name has letters, digits, punctuation and symbols of any script except `\ : * ? " < > |`, and spaces inside of it. It does not begin with `.`, `-` or `@`. Paths are normalized to Unicode's form NFC
    files: NotRequired[dict[str, Content]]
    # Path of the file in `files` that is compiled and run instead of `code`
    entry: NotRequired[str]
    # Arguments of the program. There may be up to 32 arguments and 32 variables in `env`, together 16384 bytes
    args: NotRequired[list[str]]
    # Environment variables of the program
    env: NotRequired[dict[str, str]]
    limits: NotRequired[RunLimits]
    compile_limits: NotRequired[RunLimits]
    # Options that are added to those of the compiler. Only options for optimisation, standard, warnings, strictness and macros are allowed
    compiler_options: NotRequired[list[str]]
    # Whether stderr is merged into stdout, in the order of the writes
    stderr_to_stdout: NotRequired[bool]
    # What the program may reach over the network, by default "none". It must be within what `GET /api/network` returns. Only with the profile `agent`, and not together with `files`, `entry`, `stderr_to_stdout`, `live_input` or several `runs`. GET /api/result/{id}/egress returns what the program has reached
    network: NotRequired[NetworkPolicy]


class Teardown(TypedDict):
    # `clean`: the first process of the box ended and was reaped; its end makes the kernel kill all others.
    reap_status: Literal["clean", "incomplete"]
    # `ok`: after the box was removed, no process was left in its cgroups. Nothing continued in the background.
    descendant_containment: Literal["ok", "leaked"]
    # Processes that had ended but had not been reaped.
    zombie_count: int
    # `true`: the removal of the box's processes, cgroups and mounts is proven, so the next run inherits nothing from this one.
    cleanup_verified: bool
    # Mounts of the box that remained after teardown. Empty: none.
    residual_mounts: list[str]
    # Evidence that could not be read, and cgroups that could not be removed. An unreadable counter does not count as zero, so it makes the verdict IE. A cgroup that was not removed does not change the verdict.
    collection_errors: list[str]
    # Actions of the launcher on the program with their reasons, recorded before each action; absent if the launcher did not intervene.
    judge_actions: NotRequired[list[TeardownJudgeActions]]


class TeardownJudgeActions(TypedDict):
    action_type: Literal["forced_kill", "descendant_kill"]
    details: str


class TerminalSize(TypedDict):
    rows: int
    cols: int


class TokensChecker(TypedDict):
    type: Literal["tokens"]
    # Whether upper and lower case differ; true by default
    case_sensitive: NotRequired[bool]
    # Whether the tokens must be in the same lines; false by default
    line_breaks: NotRequired[bool]


class Unpacked(TypedDict):
    files: int
    bytes: int


class Usage(TypedDict):
    # Id of the submission
    id: str
    # Null until the run has ended, for a run of less than 30 ms, and if the platform failed
    usage: RunUsage | None


class UsageSample(TypedDict):
    # Time since the start of the program
    at_secs: float
    # CPU time used until then
    cpu_time_secs: float
    # The highest reading since the previous sample
    memory_bytes: int


class WriteArchiveQuery(TypedDict):
    # Path of a directory, by default /home/user
    path: NotRequired[str]


class WriteFileQuery(TypedDict):
    # Path, absolute or relative to /home/user
    path: NotRequired[str]
    # Permissions as an octal number, such as 755. By default, those of the replaced file, or 644
    mode: NotRequired[str]
    # With `true`, missing directories are made
    parents: NotRequired[Literal["true", "false"]]
