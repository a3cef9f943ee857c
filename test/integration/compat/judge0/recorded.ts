import type { Outcome } from "../../../../src/domain/outcome.ts";
import { cancelled, internalError } from "../../../../src/domain/outcome.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import { report } from "../../../support/verdict/reports.ts";

/** A request with its answer, as the public documentation of Judge0 CE 1.13 shows them. */
export interface Exchange {
  readonly title: string;
  readonly method?: "GET" | "POST" | "DELETE";
  /** `{token}` and `{token2}`: those of the last two created submissions. */
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  /** `{token}` as above; the string "*" is any value. Members that it leaves out are not compared if it is `part`. */
  readonly json: unknown;
  readonly part?: true;
  /** How the submission then ends. */
  readonly ends?: Outcome;
}

const ran = (stdout: string | Buffer, more: Parameters<typeof report>[0] = {}) =>
  buildOutcome({ execute: report({ stdout: Buffer.from(stdout), ...more }) });
const DEFAULT = { compile_output: null, memory: "*", message: null, stderr: null, time: "*", token: "{token}" };
const C = '#include <stdio.h>\n\nint main(void) {\n  puts("hello");\n  return 0;\n}';
const base64 = (text: string) => Buffer.from(text).toString("base64");
const status = (id: number, description: string) => ({ id, description });
const NOT_UTF8 =
  "some attributes for this submission cannot be converted to UTF-8, use base64_encoded=true query parameter";
const MANY_NOT_UTF8 =
  "some attributes for one or more submissions cannot be converted to UTF-8, use base64_encoded=true query parameter";

const ACCEPTED: Exchange = {
  title: "create",
  method: "POST",
  path: "/submissions",
  body: { source_code: C, language_id: 50, stdin: "world" },
  status: 201,
  json: { token: "*" },
};

/** Judge0's statuses. For each, a submission is created, ends in this way, and is read. */
const STATUSES: readonly (readonly [id: number, description: string, end: Outcome, expected?: string])[] = [
  [3, "Accepted", ran("hello\n")],
  [3, "Accepted", ran("hello  \n\n\n"), "hello"],
  [3, "Accepted", ran("a \t\nb\r\n"), "a\nb\n"],
  [4, "Wrong Answer", ran("hello\n"), " hello"],
  [4, "Wrong Answer", ran("hello\n\nx"), "hello\nx"],
  [4, "Wrong Answer", ran("hello", { stdoutSeen: 6, stdoutKept: 5 }), "hello"],
  [5, "Time Limit Exceeded", ran("", { killReason: "wall", exitCode: null, signal: 9 })],
  [
    6,
    "Compilation Error",
    buildOutcome({ compile: report({ exitCode: 1, stderr: Buffer.from("main.c:1: error\n") }) }),
  ],
  [7, "Runtime Error (SIGSEGV)", ran("", { exitCode: null, signal: 11 })],
  [8, "Runtime Error (SIGXFSZ)", ran("", { exitCode: null, signal: 25, fsizeSignals: 1 })],
  [9, "Runtime Error (SIGFPE)", ran("", { exitCode: null, signal: 8 })],
  [10, "Runtime Error (SIGABRT)", ran("", { exitCode: null, signal: 6 })],
  [11, "Runtime Error (NZEC)", ran("", { exitCode: 7 }), ""],
  [12, "Runtime Error (Other)", ran("", { exitCode: null, signal: 4 })],
  [12, "Runtime Error (Other)", ran("", { exitCode: null, signal: 9, oomKills: 1 })],
  [12, "Runtime Error (Other)", ran("", { exitCode: 1, forksRefused: 1 })],
  [13, "Internal Error", internalError("the slot was lost")],
  [13, "Internal Error", cancelled("cancelled by a request of the client")],
];

const UNCOMPILED: readonly (readonly [end: Outcome, reason: string])[] = [
  [
    buildOutcome({ compile: report({ killReason: "wall", exitCode: null, signal: 9, wallNs: 15_000_000_000 }) }),
    "compile step: wall time limit exceeded: killed after 15.000 s",
  ],
  [
    buildOutcome({
      compile: report(),
      execute: report({ exitCode: 127, failure: { step: "exec", object: "./main", errno: 8 } }),
    }),
    "what the compiler made cannot be executed",
  ],
];

export const RECORDED: readonly Exchange[] = [
  ACCEPTED,
  {
    title: "a submission in the queue",
    path: "/submissions/{token}",
    status: 200,
    json: { ...DEFAULT, time: null, memory: null, stdout: null, status: status(1, "In Queue") },
    ends: ran("hello, world\n"),
  },
  {
    title: "the default fields",
    path: "/submissions/{token}",
    status: 200,
    json: { ...DEFAULT, stdout: "hello, world\n", status: status(3, "Accepted") },
  },
  {
    title: "some fields, in base64",
    path: "/submissions/{token}?base64_encoded=true&fields=stdout,stdin,status_id,language_id,language,assay_id",
    status: 200,
    json: {
      stdout: `${base64("hello, world\n")}\n`,
      stdin: `${base64("world")}\n`,
      status_id: 3,
      language_id: 50,
      language: { id: 50, name: "C (GCC 14, C17)" },
      assay_id: "{token}",
    },
  },
  {
    title: "all fields",
    path: "/submissions/{token}?fields=*",
    status: 200,
    json: {
      source_code: C,
      language_id: 50,
      stdin: "world",
      expected_output: null,
      stdout: "hello, world\n",
      status_id: 3,
      created_at: "*",
      finished_at: "*",
      time: "*",
      memory: "*",
      stderr: null,
      token: "{token}",
      number_of_runs: 1,
      cpu_time_limit: "4.0",
      cpu_extra_time: "0.0",
      wall_time_limit: "10.0",
      memory_limit: 262_144,
      stack_limit: 131_072,
      max_processes_and_or_threads: 10,
      enable_per_process_and_thread_time_limit: false,
      enable_per_process_and_thread_memory_limit: false,
      max_file_size: 16_384,
      compile_output: null,
      exit_code: 0,
      exit_signal: null,
      message: null,
      wall_time: "*",
      compiler_options: null,
      command_line_arguments: null,
      redirect_stderr_to_stdout: false,
      callback_url: null,
      additional_files: null,
      enable_network: false,
      status: status(3, "Accepted"),
      language: { id: 50, name: "C (GCC 14, C17)" },
    },
  },
  {
    title: "unknown fields",
    path: "/submissions/{token}?fields=stdout,nothing,more",
    status: 400,
    json: { error: "invalid fields: [nothing, more]" },
  },
  {
    title: "an unknown token",
    path: "/submissions/d85cd024-1548-4165-96c7-7bc88673f194",
    status: 404,
    json: { error: "*" },
  },
  {
    title: "no language",
    method: "POST",
    path: "/submissions",
    body: { source_code: C },
    status: 422,
    json: { language_id: ["can't be blank"] },
  },
  {
    title: "an unknown language",
    method: "POST",
    path: "/submissions",
    body: { source_code: C, language_id: 150_000 },
    status: 422,
    json: { language_id: ["language with id 150000 doesn't exist"] },
  },
  {
    title: "no source",
    method: "POST",
    path: "/submissions",
    body: { source_code: "", language_id: 50 },
    status: 422,
    json: { source_code: ["can't be blank"] },
  },
  {
    title: "settings beyond the largest",
    method: "POST",
    path: "/submissions",
    body: { source_code: C, language_id: 50, number_of_runs: 21, enable_network: true },
    status: 422,
    json: {
      number_of_runs: ["must be less than or equal to 20"],
      enable_network: ["enabling network is not allowed"],
    },
  },
  {
    title: "a language as text, base64, limits",
    method: "POST",
    path: "/submissions?base64_encoded=true",
    body: {
      source_code: `${base64(C).slice(0, 60)}\n${base64(C).slice(60)}\n`,
      language_id: "50",
      cpu_time_limit: "1.5",
      memory_limit: 100_000,
      enable_per_process_and_thread_time_limit: false,
    },
    status: 201,
    json: { token: "*" },
    ends: ran(Buffer.from([0x66, 0xfe])),
  },
  { title: "output that is not UTF-8", path: "/submissions/{token}", status: 400, json: { error: NOT_UTF8 } },
  {
    title: "the same in a batch",
    path: "/submissions/batch?tokens={token}",
    status: 400,
    json: { error: MANY_NOT_UTF8 },
  },
  {
    title: "the same in base64, with lower limits",
    path: "/submissions/{token}?base64_encoded=true&fields=stdout,cpu_time_limit,memory_limit,source_code",
    status: 200,
    json: { stdout: "Zv4=\n", cpu_time_limit: "1.5", memory_limit: 100_000, source_code: "*" },
  },
  {
    title: "a batch",
    method: "POST",
    path: "/submissions/batch",
    body: {
      submissions: [
        { language_id: 71, source_code: "print(1)" },
        { language_id: 123_456_789, source_code: "print(1)" },
        { language_id: 71, source_code: "" },
        { language_id: 50, source_code: C },
      ],
    },
    status: 201,
    json: [
      { token: "*" },
      { language_id: ["language with id 123456789 doesn't exist"] },
      { source_code: ["can't be blank"] },
      { token: "*" },
    ],
    ends: ran("hello\n"),
  },
  {
    title: "a batch that is read, with an unknown token",
    path: "/submissions/batch?tokens={token2},nothing,{token}&fields=token,stdout,status_id",
    status: 200,
    json: {
      submissions: [
        { token: "{token2}", stdout: "hello\n", status_id: 3 },
        null,
        { token: "{token}", stdout: "hello\n", status_id: 3 },
      ],
    },
  },
  {
    title: "a batch without valid submissions",
    method: "POST",
    path: "/submissions/batch",
    body: { submissions: [{ language_id: 71 }] },
    status: 422,
    json: [{ source_code: ["can't be blank"] }],
  },
  {
    title: "an empty batch",
    method: "POST",
    path: "/submissions/batch",
    body: { submissions: [] },
    status: 400,
    json: { error: "there should be at least one submission in a batch" },
  },
  {
    title: "no tokens",
    path: "/submissions/batch",
    status: 400,
    json: { error: "there should be at least one submission in a batch" },
  },
  {
    title: "more than a batch",
    method: "POST",
    path: "/submissions/batch",
    body: { submissions: Array.from({ length: 21 }, () => ({ language_id: 71, source_code: "1" })) },
    status: 400,
    json: { error: "number of submissions in a batch should be less than or equal to 20" },
  },
  {
    title: "a list",
    path: "/submissions?page=2&per_page=1&fields=token,stdout&base64_encoded=true",
    status: 200,
    json: {
      submissions: [{ token: "{token2}", stdout: `${base64("hello\n")}\n` }],
      meta: { current_page: 2, next_page: 3, prev_page: 1, total_pages: 4, total_count: 4 },
    },
  },
  { title: "page 0", path: "/submissions?page=-4", status: 400, json: { error: "invalid page: -4" } },
  { title: "no rows", path: "/submissions?per_page=-2", status: 400, json: { error: "invalid per_page: -2" } },
  {
    title: "a deletion",
    method: "DELETE",
    path: "/submissions/{token}",
    status: 400,
    json: { error: "delete not allowed" },
  },
  {
    title: "languages",
    path: "/languages",
    status: 200,
    json: [
      ...[48, 49, 50].map((id) => ({ id, name: "C (GCC 14, C17)" })),
      ...[71, 92, 100].map((id) => ({ id, name: "Python 3.13" })),
      { id: 103, name: "C (GCC 14, C17)" },
      ...[109, 113].map((id) => ({ id, name: "Python 3.13" })),
    ],
  },
  {
    title: "a language",
    path: "/languages/71",
    status: 200,
    json: {
      id: 71,
      name: "Python 3.13",
      is_archived: false,
      source_file: "main.py",
      compile_cmd: null,
      run_cmd: "/usr/bin/python3 main.py",
    },
  },
  {
    title: "a language that does not work now",
    path: "/languages/73",
    status: 404,
    json: { error: "not found, or you have no access to it" },
  },
  {
    title: "statuses",
    path: "/statuses",
    status: 200,
    json: [
      "In Queue",
      "Processing",
      "Accepted",
      "Wrong Answer",
      "Time Limit Exceeded",
      "Compilation Error",
      "Runtime Error (SIGSEGV)",
      "Runtime Error (SIGXFSZ)",
      "Runtime Error (SIGFPE)",
      "Runtime Error (SIGABRT)",
      "Runtime Error (NZEC)",
      "Runtime Error (Other)",
      "Internal Error",
      "Exec Format Error",
    ].map((description, at) => ({ id: at + 1, description })),
  },
  {
    title: "the configuration",
    path: "/config_info",
    status: 200,
    part: true,
    json: {
      enable_wait_result: true,
      allowed_languages_for_compile_options: ["C"],
      enable_submission_delete: false,
      max_queue_size: 1000,
      cpu_time_limit: 4,
      max_cpu_time_limit: 4,
      max_wall_time_limit: 10,
      max_memory_limit: 262_144,
      max_number_of_runs: 20,
      max_submission_batch_size: 20,
      allow_enable_network: false,
    },
  },
  { title: "about", path: "/about", status: 200, part: true, json: { version: "1.13.1" } },
  {
    title: "workers",
    path: "/workers",
    status: 200,
    json: [{ queue: "default", size: 0, available: 3, idle: 3, working: 0, paused: 0, failed: 0 }],
  },
  {
    title: "statistics",
    path: "/statistics",
    status: 200,
    part: true,
    json: {
      languages: [
        { language: { id: 50, name: "C (GCC 14, C17)" }, count: 3 },
        { language: { id: 71, name: "Python 3.13" }, count: 1 },
      ],
      statuses: [{ status: { id: 3, name: "Accepted" }, count: 4 }],
    },
  },
  { title: "system", path: "/system_info", status: 200, part: true, json: { "Byte Order": "Little Endian" } },
  ...STATUSES.flatMap(([id, description, ends, expected]): Exchange[] => [
    {
      ...ACCEPTED,
      title: `for ${description}`,
      body: { source_code: C, language_id: 50, expected_output: expected ?? null },
      ends,
    },
    {
      title: `${id}, ${description}${expected === undefined ? "" : `, expecting ${JSON.stringify(expected)}`}`,
      path: "/submissions/{token}?fields=status,finished_at",
      status: 200,
      json: { status: status(id, description), finished_at: "*" },
    },
  ]),
  {
    ...ACCEPTED,
    title: "for a compilation",
    ends: buildOutcome({ compile: report({ exitCode: 1, stderr: Buffer.from("main.c:1: error\n") }) }),
  },
  {
    title: "the output of the compiler",
    path: "/submissions/{token}?fields=compile_output,message,stdout,stderr,time,memory,exit_code,status_id",
    status: 200,
    json: {
      compile_output: "main.c:1: error\n",
      message: null,
      stdout: null,
      stderr: null,
      time: null,
      memory: null,
      exit_code: null,
      status_id: 6,
    },
  },
  // If the compiler wrote no message, the reason is also in the field in which clients show its messages.
  ...UNCOMPILED.flatMap(([ends, reason]): Exchange[] => [
    { ...ACCEPTED, title: `for: ${reason}`, path: "/submissions/?base64_encoded=false", ends },
    {
      title: reason,
      path: "/submissions/{token}/?fields=compile_output,message,stderr,status_id",
      status: 200,
      json: { compile_output: reason, message: reason, stderr: null, status_id: 6 },
    },
  ]),
];
