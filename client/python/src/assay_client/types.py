"""The bodies of the API. Generated from /openapi.json: npm run generate."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

Batch: TypeAlias = "list[Accepted | ErrorBody]"

BatchRequest: TypeAlias = "list[SubmitRequest]"

BuiltInChecker: TypeAlias = "PlainChecker | TokensChecker | FloatsChecker"

Cause: TypeAlias = "Literal['normal_exit', 'nonzero_exit', 'fatal_signal', 'compile_error', 'internal_error', 'cancelled', 'oom_kill', 'wall_timeout', 'cpu_timeout', 'pids_limit', 'file_size_limit', 'compile_oom_kill', 'compile_wall_timeout', 'compile_cpu_timeout', 'compile_pids_limit', 'compile_file_size_limit']"

Content: TypeAlias = "str | Base64"

# WA: wrong output; CE: does not compile; others as in the record
JudgementVerdict: TypeAlias = "Literal['AC', 'WA', 'TLE', 'MLE', 'PLE', 'FSE', 'SIG', 'RE', 'CE', 'IE']"

LanguageDetails: TypeAlias = "list[Language]"

# Canonical names
Languages: TypeAlias = "list[str]"

Profile: TypeAlias = "Literal['judge', 'agent']"

Status: TypeAlias = "Literal['pending', 'running', 'completed', 'error']"

Verdict: TypeAlias = "Literal['AC', 'RE', 'TLE', 'MLE', 'PLE', 'FSE', 'SIG', 'IE']"


class Accepted(TypedDict):
    # Id of the submission
    id: str
    status: Literal["pending"]
    # Pending submissions of all keys, this one included
    queue_depth: int


class AppliedLimits(TypedDict):
    rlimits: AppliedLimitsRlimits
    cgroup_backend: Literal["cgroup_v2", "cgroup_v1", "cgroup_hybrid"]
    cgroup: AppliedLimitsCgroup


class AppliedLimitsCgroup(TypedDict):
    memory_limit_bytes: int
    memory_peak_bytes: int
    oom_events: int
    oom_kill_events: int
    cpu_usage_usec: int
    process_count: int
    process_limit: int


class AppliedLimitsRlimits(TypedDict):
    # A backstop above the CPU limit; the wall and CPU limits follow from profile and language
    cpu_secs: NotRequired[Rlimit]
    as_bytes: NotRequired[Rlimit]
    nofile: NotRequired[Rlimit]
    nproc: NotRequired[Rlimit]


class Base64(TypedDict):
    base64: str


class Case(TypedDict):
    stdin: NotRequired[str]
    # The answer
    expected: str


class CaseResult(TypedDict):
    submission_id: str | None
    verdict: JudgementVerdict
    passed: bool
    # The first difference, or the error message of the record
    message: str | None
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


class ErrorBody(TypedDict):
    error: str
    message: NotRequired[str]


class Evidence(TypedDict):
    isolation: Isolation
    limits: AppliedLimits
    teardown: Teardown


class FloatsChecker(TypedDict):
    type: Literal["floats"]
    # True by default
    case_sensitive: NotRequired[bool]
    # Lines must have the same tokens; false by default
    line_breaks: NotRequired[bool]
    # The largest absolute error; 10⁻⁶ if neither error is given, 0 if only the other one is
    absolute: NotRequired[float]
    # The largest relative error; 10⁻⁶ if neither error is given, 0 if only the other one is
    relative: NotRequired[float]


class GroupResult(TypedDict):
    # Empty for tests without a group
    name: str
    rule: Literal["sum", "min"]
    score: float
    max_score: float
    # Null while it can still be
    passed: bool | None


class Health(TypedDict):
    status: Literal["ok", "degraded"]
    # `strict`: a recent self-test proved full isolation
    enforcement_mode: Literal["strict", "none"]
    # Submissions that can run at once
    workers: int
    # Pending submissions of all keys
    queue_depth: int


class ImportProblemQuery(TypedDict):
    # By default the directory in the archive that has all files
    name: NotRequired[str]
    # In seconds of CPU time, in place of that of the package. Required if it has none
    time_limit: NotRequired[float]


class Isolation(TypedDict):
    mode: Literal["strict", "incomplete"]
    # Read back from the kernel
    controls_applied: list[str]
    # Not empty: the verdict is IE
    controls_missing: list[str]
    proc_policy: Literal["hardened", "none"]
    sys_policy: Literal["builtin-deny", "custom", "disabled"]
    pidfd_mode: Literal["native", "fallback"]
    reason: str


class JudgeRequest(TypedDict):
    # Name or alias of a language; GET /api/languages has the names
    language: str
    # Source, 1 to 65536 bytes of UTF-8. Required without `code_base64` and `entry`
    code: NotRequired[str]
    # A profile that the key allows. Defaults to the default profile of the key
    profile: NotRequired[Profile]
    # The same as `code`, in base64
    code_base64: NotRequired[str]
    # Further files of /box: path → text, or {"base64": …}; up to 48 files with 1048576 bytes. The compilers of C, C++ and Go also compile those with their suffix
    files: NotRequired[dict[str, Content]]
    # Path of the file that is run, or compiled, in place of `code`
    entry: NotRequired[str]
    # Arguments of the program; with `env` up to 32 of each and 16384 bytes
    args: NotRequired[list[str]]
    # Environment variables of the program
    env: NotRequired[dict[str, str]]
    limits: NotRequired[RunLimits]
    compile_limits: NotRequired[RunLimits]
    # Options of the compiler, after its own: those for optimisation, standard, warnings and macros
    compiler_options: NotRequired[list[str]]
    # Whether output to stderr becomes part of stdout, in its order
    stderr_to_stdout: NotRequired[bool]
    cases: list[Case]
    # How output is compared with `expected`; `lines` by default, without white space at ends
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
    # The problem and its version; null for tests of a request
    problem: JudgementProblem | None
    # `error` if and only if the verdict is IE
    status: Status
    timestamps: JudgementTimestamps
    verdict: JudgementVerdict | None
    # Null until it has ended
    score: float | None
    tests: JudgementTests
    max_score: float
    stop: Literal["first_failure", "never", "group"]
    checker: Literal["exact", "lines", "tokens", "floats", "unordered_lines", "regex", "program"]
    groups: list[GroupResult]
    # In the order of the tests
    runs: list[Run]


class JudgementAccepted(TypedDict):
    # Id of the judgement
    id: str
    status: Literal["pending"]


class JudgementGroup(TypedDict):
    name: str
    # `sum` of the points, or all points times the `min`imum share of a test; `sum` by default
    rule: NotRequired[Literal["sum", "min"]]
    # Earlier groups of which all tests must pass
    depends: NotRequired[list[str]]


class JudgementProblem(TypedDict):
    id: str
    version: int


class JudgementRequest(TypedDict):
    # Name or alias of a language; GET /api/languages has the names
    language: str
    # Source, 1 to 65536 bytes of UTF-8. Required without `code_base64` and `entry`
    code: NotRequired[str]
    # A profile that the key allows. Defaults to the default profile of the key
    profile: NotRequired[Profile]
    # The same as `code`, in base64
    code_base64: NotRequired[str]
    # Further files of /box: path → text, or {"base64": …}; up to 48 files with 1048576 bytes. The compilers of C, C++ and Go also compile those with their suffix
    files: NotRequired[dict[str, Content]]
    # Path of the file that is run, or compiled, in place of `code`
    entry: NotRequired[str]
    # Arguments of the program; with `env` up to 32 of each and 16384 bytes
    args: NotRequired[list[str]]
    # Environment variables of the program
    env: NotRequired[dict[str, str]]
    limits: NotRequired[RunLimits]
    compile_limits: NotRequired[RunLimits]
    # Options of the compiler, after its own: those for optimisation, standard, warnings and macros
    compiler_options: NotRequired[list[str]]
    # Whether output to stderr becomes part of stdout, in its order
    stderr_to_stdout: NotRequired[bool]
    # Required without `problem`
    tests: NotRequired[list[JudgementTest]]
    # Id of a problem: its tests, checker, groups and limits, in place of those fields
    problem: NotRequired[str]
    # By default the current one
    problem_version: NotRequired[int]
    # `lines` by default: without white space at the ends of lines
    checker: NotRequired[Literal["exact", "lines", "tokens", "floats", "unordered_lines", "regex"] | BuiltInChecker | ProgramChecker]
    groups: NotRequired[list[JudgementGroup]]
    # When tests are left out: after the `first_failure`, `never`, or after the first failure of a `group`
    stop: NotRequired[Literal["first_failure", "never", "group"]]


class JudgementSummary(TypedDict):
    # Id of the judgement
    id: str
    schema_version: Literal["judgement-1.0"]
    language: str
    profile: Profile
    # The problem and its version; null for tests of a request
    problem: JudgementSummaryProblem | None
    # `error` if and only if the verdict is IE
    status: Status
    timestamps: JudgementSummaryTimestamps
    verdict: JudgementVerdict | None
    # Null until it has ended
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
    # Its number by default
    name: NotRequired[str]
    # The input: text, or {"base64": …}
    stdin: NotRequired[Content]
    # The answer, or several of which any is right. Required by the built-in checkers
    expected: NotRequired[Content | list[Content]]
    # 1 by default
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
    # For `before`; null: no older ones
    next: str | None


class JudgementsQuery(TypedDict):
    # Only with this status
    status: NotRequired[Literal["pending", "running", "completed", "error"]]
    # Only in this language, by its canonical name
    language: NotRequired[str]
    # `next` of the page before
    before: NotRequired[str]
    # At most this many, 1 to 100
    limit: NotRequired[int]
    # Only with this verdict
    verdict: NotRequired[Literal["AC", "WA", "TLE", "MLE", "PLE", "FSE", "SIG", "RE", "CE", "IE"]]
    # Only on this problem, by its id, also after its deletion
    problem: NotRequired[str]


class Language(TypedDict):
    name: str
    # Name with version and standard
    label: str
    aliases: list[str]
    # Name of the source in /box
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


class Metrics(TypedDict):
    """Of the execute step only, children included."""

    cpu_time_secs: float | None
    wall_time_secs: float | None
    memory_peak_bytes: int | None
    cpu_wall_ratio: float | None
    divergence: Literal["cpu_bound", "sleep_or_block_bound", "host_interference_suspected"] | None


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


class PlainChecker(TypedDict):
    type: Literal["exact", "lines", "unordered_lines", "regex"]


class Problem(TypedDict):
    # Id of the problem
    id: str
    # Unique in the account
    name: str
    title: str
    version: int
    tests: int
    # Of all inputs and answers
    bytes: int
    limits: ProblemLimits
    created_at: str
    updated_at: str
    # Newest first
    versions: list[ProblemVersions]


class ProblemLimits(TypedDict):
    """Of each test; null: that of the profile."""

    cpu_time_secs: float | None
    memory_bytes: int | None


class ProblemVersions(TypedDict):
    version: int
    tests: int
    # Of all inputs and answers
    bytes: int
    limits: ProblemVersionsLimits
    created_at: str


class ProblemVersionsLimits(TypedDict):
    """Of each test; null: that of the profile."""

    cpu_time_secs: float | None
    memory_bytes: int | None


class Problems(TypedDict):
    problems: list[ProblemsProblems]
    # For `before`; null: no older ones
    next: str | None


class ProblemsProblems(TypedDict):
    # Id of the problem
    id: str
    # Unique in the account
    name: str
    title: str
    version: int
    tests: int
    # Of all inputs and answers
    bytes: int
    limits: ProblemsProblemsLimits
    created_at: str
    updated_at: str


class ProblemsProblemsLimits(TypedDict):
    """Of each test; null: that of the profile."""

    cpu_time_secs: float | None
    memory_bytes: int | None


class ProblemsQuery(TypedDict):
    # `next` of the page before
    before: NotRequired[str]
    # At most this many, 1 to 100
    limit: NotRequired[int]


class ProgramChecker(TypedDict):
    type: Literal["program"]
    # How it is called and answers
    interface: Literal["kattis", "testlib"]
    # Name or alias of a language; GET /api/languages has the names
    language: str
    # Source, 1 to 65536 bytes of UTF-8. Required without `code_base64` and `entry`
    code: NotRequired[str]
    # The same as `code`, in base64
    code_base64: NotRequired[str]
    # Further files of /box: path → text, or {"base64": …}; up to 48 files with 1048576 bytes. The compilers of C, C++ and Go also compile those with their suffix
    files: NotRequired[dict[str, Content]]
    # Path of the file that is run, or compiled, in place of `code`
    entry: NotRequired[str]
    # After the arguments of the interface
    args: NotRequired[list[str]]
    # It runs together with the program, and each reads the output of the other
    interactive: NotRequired[bool]
    # The most runs of the program for a test; only for the interface `kattis`
    passes: NotRequired[int]


class Ready(TypedDict):
    status: Literal["ready"]
    # `strict`: a recent self-test proved full isolation
    enforcement_mode: Literal["strict", "none"]
    cgroup_backend: Literal["cgroup_v2", "cgroup_v1", "cgroup_hybrid"] | None
    checks: list[Check]


class Result(TypedDict):
    verdict: Verdict | None
    # Why the run ended
    cause: Cause | None
    # The actor that ended the run
    actor: Literal["runtime", "kernel", "judge"] | None
    # Null when a signal ended the program
    exit_code: int | None
    signal: int | None
    # For display; null on success
    error_message: str | None


class Rlimit(TypedDict):
    soft: int
    hard: int


class Run(TypedDict):
    name: str
    group: str
    # `skipped`: not needed
    status: Literal["waiting", "queued", "completed", "skipped"]
    verdict: JudgementVerdict | None
    points: float
    max_points: float
    # Of the checker, or the error message of the record
    message: str | None
    # Once it has ended: the id of its record
    submission_id: str | None
    cpu_time_secs: float | None
    wall_time_secs: float | None
    memory_peak_bytes: int | None


class RunLimits(TypedDict):
    """Lower limits of the run, or, as `compile_limits`, of the compiler: each at most that of the profile."""

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
    # `compile` if the program did not run
    step: Literal["compile", "execute"]
    wall_time_secs: float
    cpu_time_secs: float
    memory_peak_bytes: int
    memory_limit_bytes: int
    samples: list[UsageSample]


class SubmissionRecord(TypedDict):
    """The current state of a submission; unknown values are null."""

    id: str
    schema_version: Literal["2.0"]
    # Canonical name
    language: str
    profile: Profile
    status: Status
    timestamps: SubmissionRecordTimestamps
    result: Result
    output: Output
    metrics: Metrics
    # Null until a run has been reported
    evidence: Evidence | None


class SubmissionRecordTimestamps(TypedDict):
    # ISO 8601, UTC, milliseconds
    created_at: str
    started_at: str | None
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
    # For `before`; null: no older ones
    next: str | None


class SubmissionsQuery(TypedDict):
    # Only with this status
    status: NotRequired[Literal["pending", "running", "completed", "error"]]
    # Only in this language, by its canonical name
    language: NotRequired[str]
    # `next` of the page before
    before: NotRequired[str]
    # At most this many, 1 to 100
    limit: NotRequired[int]
    # Only with this verdict
    verdict: NotRequired[Literal["AC", "RE", "TLE", "MLE", "PLE", "FSE", "SIG", "IE"]]


class SubmitRequest(TypedDict):
    # Name or alias of a language; GET /api/languages has the names
    language: str
    # Source, 1 to 65536 bytes of UTF-8. Required without `code_base64` and `entry`
    code: NotRequired[str]
    # Standard input, up to 262144 bytes of UTF-8
    stdin: NotRequired[str]
    # A profile that the key allows. Defaults to the default profile of the key
    profile: NotRequired[Profile]
    # The same as `code`, in base64
    code_base64: NotRequired[str]
    # The same as `stdin`, in base64
    stdin_base64: NotRequired[str]
    # Whether GET /api/result/{id}/events has the output while the program runs
    stream: NotRequired[bool]
    # Further files of /box: path → text, or {"base64": …}; up to 48 files with 1048576 bytes. The compilers of C, C++ and Go also compile those with their suffix
    files: NotRequired[dict[str, Content]]
    # Path of the file that is run, or compiled, in place of `code`
    entry: NotRequired[str]
    # Arguments of the program; with `env` up to 32 of each and 16384 bytes
    args: NotRequired[list[str]]
    # Environment variables of the program
    env: NotRequired[dict[str, str]]
    limits: NotRequired[RunLimits]
    compile_limits: NotRequired[RunLimits]
    # Options of the compiler, after its own: those for optimisation, standard, warnings and macros
    compiler_options: NotRequired[list[str]]
    # Whether output to stderr becomes part of stdout, in its order
    stderr_to_stdout: NotRequired[bool]


class Teardown(TypedDict):
    reap_status: Literal["clean", "incomplete"]
    descendant_containment: Literal["ok", "leaked"]
    zombie_count: int
    cleanup_verified: bool
    residual_mounts: list[str]
    collection_errors: list[str]
    # Only when the supervisor intervened
    judge_actions: NotRequired[list[TeardownJudgeActions]]


class TeardownJudgeActions(TypedDict):
    action_type: Literal["forced_kill", "descendant_kill"]
    details: str


class TokensChecker(TypedDict):
    type: Literal["tokens"]
    # True by default
    case_sensitive: NotRequired[bool]
    # Lines must have the same tokens; false by default
    line_breaks: NotRequired[bool]


class Usage(TypedDict):
    # Id of the submission
    id: str
    # Null before the end, for a run of less than 30 ms, and if the platform failed
    usage: RunUsage | None


class UsageSample(TypedDict):
    # Since the start of the program
    at_secs: float
    # Until then
    cpu_time_secs: float
    # The highest reading since the sample before
    memory_bytes: int
