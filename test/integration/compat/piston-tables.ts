import type { Outcome } from "../../../src/domain/outcome.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { report, signalled } from "../../support/verdict/reports.ts";

const bytes = (text: string) => Buffer.from(text);

export const CODE = { language: "python", version: "*", files: [{ content: "print(1)" }] };
export const C = { language: "c", version: "*", files: [{ content: "int main;" }] };
const PROGRAM = { code: bytes("print(1)"), stdin: bytes("\n") };
const ADDITIONS = { files: [], entry: null, args: [], env: {}, limits: {} };

/** Requests, and the program that the worker gets, besides what does not differ. */
export const PROGRAMS: readonly [name: string, body: object, program: object][] = [
  ["a file without a name", CODE, PROGRAM],
  ["what typed clients send", { ...CODE, stdin: null, args: null, run_timeout: null, other: 1 }, PROGRAM],
  ["the name of the source", { ...CODE, files: [{ name: "main.py", content: "print(1)" }] }, PROGRAM],
  [
    "the limits of the service",
    { ...CODE, run_memory_limit: -1, compile_memory_limit: -1, run_timeout: 0, compile_timeout: 10_000 },
    PROGRAM,
  ],
  ["an input that ends its line", { ...CODE, stdin: "a\0\n" }, { ...PROGRAM, stdin: bytes("a\0\n") }],
  ["an input that does not", { ...CODE, stdin: "a" }, { ...PROGRAM, stdin: bytes("a\n") }],
  [
    "a program with a name, and further files",
    {
      language: "py3",
      version: "3",
      files: [
        { content: "ff00", encoding: "hex" },
        { name: "app.py", content: "print(1)", encoding: "utf8" },
        { name: "data/b.bin", content: "/wA=", encoding: "base64" },
      ],
      args: ["-n", "two words"],
    },
    {
      ...PROGRAM,
      code: bytes(""),
      options: {
        ...ADDITIONS,
        files: [
          { name: "app.py", data: bytes("print(1)") },
          { name: "data/b.bin", data: Buffer.from([0xff, 0]) },
          { name: "file0.code", data: Buffer.from([0xff, 0]) },
        ],
        entry: "app.py",
        args: ["-n", "two words"],
      },
    },
  ],
  [
    "a name that the compiler does not know",
    { ...C, files: [{ name: "program", content: "int main;" }] },
    { ...PROGRAM, code: bytes("int main;") },
  ],
  [
    "an empty program",
    { ...CODE, files: [{ content: "" }] },
    {
      ...PROGRAM,
      code: bytes(""),
      options: { ...ADDITIONS, files: [{ name: "main.py", data: bytes("") }], entry: "main.py" },
    },
  ],
  [
    "lower limits",
    {
      ...C,
      run_timeout: 3000,
      run_cpu_time: 1500.5,
      run_memory_limit: 33_554_432.7,
      compile_timeout: 10_000,
      compile_cpu_time: 9_000,
      compile_memory_limit: 268_435_456,
    },
    {
      ...PROGRAM,
      code: bytes("int main;"),
      options: {
        ...ADDITIONS,
        limits: { wall_time_secs: 3, cpu_time_secs: 1.5005, memory_bytes: 33_554_432 },
        compileLimits: { wall_time_secs: 10, cpu_time_secs: 9, memory_bytes: 268_435_456 },
      },
    },
  ],
];

/** Ends of a program in C, and the stages in the response. */
export const OK = {
  stdout: "",
  stderr: "",
  output: "",
  code: 0,
  signal: null,
  message: null,
  status: null,
  cpu_time: 10,
  wall_time: 20,
  memory: 9_000_000,
};
const COMPILED = { ...OK, cpu_time: null, wall_time: null, memory: null };
const KILLED = { code: null, signal: "SIGKILL" };
const ran = (changes: Parameters<typeof report>[0], end = report) =>
  buildOutcome({ compile: report(), execute: end(changes) });
const failed = { ...OK, output: "no", stderr: "no", code: 1, status: "RE", wall_time: null };
/** Clients that read `run` only find the compile stage there. */
const twice = (stage: object) => ({ compile: stage, run: stage });
export const ENDS: readonly [
  name: string,
  outcome: Outcome,
  stages: { readonly compile?: object; readonly run: object },
][] = [
  [
    "both streams",
    ran({ stdout: bytes("a\n"), stderr: bytes("b\n") }),
    { compile: COMPILED, run: { ...OK, stdout: "a\n", stderr: "b\n", output: "a\nb\n" } },
  ],
  [
    "an exit code",
    ran({ exitCode: 3 }),
    { compile: COMPILED, run: { ...OK, code: 3, status: "RE", message: "exited with code 3" } },
  ],
  [
    "a signal with two names",
    buildOutcome({ compile: report(), execute: signalled(6) }),
    {
      compile: COMPILED,
      run: { ...OK, code: null, signal: "SIGABRT", status: "SG", message: "killed by signal 6 (SIGABRT)" },
    },
  ],
  [
    "a compiler that exceeds its time while it exits",
    buildOutcome({ compile: report({ cpuUsec: 12_000_000 }) }),
    twice({
      ...OK,
      ...KILLED,
      status: "TO",
      cpu_time: 12_000,
      wall_time: null,
      message: "compile step: CPU time limit exceeded: 12.000 s of CPU time at its end",
    }),
  ],
  [
    "a file that cannot be executed",
    buildOutcome({
      compile: report(),
      execute: report({ exitCode: 127, failure: { step: "exec", object: "./main", errno: 8 } }),
    }),
    {
      compile: { ...OK, wall_time: null },
      run: { ...COMPILED, code: null, status: "RE", message: "what the compiler made cannot be executed" },
    },
  ],
  [
    "a signal",
    buildOutcome({ compile: report(), execute: signalled(11) }),
    {
      compile: COMPILED,
      run: { ...OK, code: null, signal: "SIGSEGV", status: "SG", message: "killed by signal 11 (SIGSEGV)" },
    },
  ],
  [
    "too long",
    buildOutcome({ compile: report(), execute: signalled(9, { killReason: "wall", wallNs: 3_000_000_000 }) }),
    {
      compile: COMPILED,
      run: {
        ...OK,
        ...KILLED,
        status: "TO",
        wall_time: 3000,
        message: "wall time limit exceeded: killed after 3.000 s",
      },
    },
  ],
  [
    "too much memory, noticed by a parent",
    ran({ exitCode: 0, oomKills: 1 }),
    {
      compile: COMPILED,
      run: {
        ...OK,
        ...KILLED,
        status: "SG",
        message: "memory limit of 256 MiB exceeded: killed by the kernel's OOM killer",
      },
    },
  ],
  [
    "too many processes",
    ran({ exitCode: 1, forksRefused: 3 }),
    {
      compile: COMPILED,
      run: {
        ...OK,
        code: 1,
        status: "RE",
        message: "process limit of 10 reached: the kernel refused to start another process or thread",
      },
    },
  ],
  [
    "does not compile",
    buildOutcome({ compile: report({ exitCode: 1, stderr: bytes("no") }) }),
    twice({ ...failed, message: "the program does not compile (the compiler exited with code 1); see stderr" }),
  ],
  [
    "the compiler takes too long",
    buildOutcome({ compile: signalled(9, { killReason: "cpu", cpuUsec: 12_000_000 }) }),
    twice({
      ...OK,
      ...KILLED,
      status: "TO",
      cpu_time: 12_000,
      wall_time: null,
      message: "compile step: CPU time limit exceeded: killed after 12.000 s of CPU time",
    }),
  ],
  [
    "the platform fails",
    buildOutcome({ execute: report({ controlsMissing: ["seccomp"] }) }),
    { run: { ...COMPILED, code: null, status: "XX", cpu_time: 10, memory: 9_000_000 } },
  ],
];

/** Requests that are refused, with the status and the beginning of the message. */
export const HOSTILE: readonly [name: string, body: unknown, status: number, message: RegExp][] = [
  ["no object", "[]", 400, /^request body must be a JSON object$/],
  ["no JSON", "{", 400, /^request body is not valid JSON$/],
  ["no language", { ...CODE, language: undefined }, 400, /^language is required/],
  ["a language of another type", { ...CODE, language: ["python"] }, 400, /^language is required/],
  ["a language that does not exist", { ...CODE, language: "brainfuck" }, 400, /^"brainfuck-\*" runtime is unknown/],
  ["a language that does not work", { ...CODE, language: "rust" }, 400, /runtime is unknown/],
  ["a name from JavaScript", { ...CODE, language: "__proto__" }, 400, /runtime is unknown/],
  ["half of a surrogate pair as language", { ...CODE, language: "\ud800" }, 400, /runtime is unknown/],
  ["no version", { ...CODE, version: 3 }, 400, /^version is required/],
  ["another version", { ...CODE, version: "2.x" }, 400, /runtime is unknown; python has the version 3\.13\.0$/],
  ["no version at all", { ...CODE, version: "x y z !" }, 400, /runtime is unknown/],
  ["a long version", { ...CODE, version: `>=${"1".repeat(200_000)}` }, 400, /^version must have at most 100 char/],
  ["a slow version", { ...CODE, version: `1${" ".repeat(98)}x` }, 400, /runtime is unknown/],
  ["many alternatives", { ...CODE, version: `${"2||".repeat(33)}2` }, 400, /runtime is unknown/],
  ["no files", { ...CODE, files: { content: "x" } }, 400, /^files is required/],
  ["an empty list of files", { ...CODE, files: [] }, 400, /^files must have at least one file in utf8$/],
  [
    "10,000 files",
    { ...CODE, files: Array(10_000).fill({ content: "x" }) },
    400,
    /^request body has more than 512 val/,
  ],
  ["49 further files", { ...CODE, files: Array(50).fill({ content: "x" }) }, 400, /^files: more than 48 files/],
  ["no file", { ...CODE, files: [null] }, 400, /^files\[0\]\.content is required/],
  ["no content", { ...CODE, files: [{ name: "a" }] }, 400, /^files\[0\]\.content is required/],
  ["only bytes", { ...CODE, files: [{ content: "", encoding: "base64" }] }, 400, /at least one file in utf8$/],
  ["another encoding", { ...CODE, files: [{ content: "", encoding: "latin1" }] }, 400, /^files\[0\]\.encoding must be/],
  ["an encoding of another type", { ...CODE, files: [{ content: "", encoding: {} }] }, 400, /^files\[0\]\.encoding/],
  ["bad base64", { ...CODE, files: [...CODE.files, { content: "a", encoding: "base64" }] }, 400, /is not base64$/],
  ["odd hex", { ...CODE, files: [...CODE.files, { content: "abc", encoding: "hex" }] }, 400, /^files\[1\].*not hex$/],
  ["bad hex", { ...CODE, files: [...CODE.files, { content: "zz", encoding: "hex" }] }, 400, /^files\[1\].*not hex$/],
  ["half of a surrogate pair", { ...CODE, files: [{ content: "\udfff" }] }, 400, /must be valid Unicode/],
  ["a name of another type", { ...CODE, files: [{ name: 1, content: "" }] }, 400, /^files\[0\]\.name must be a string/],
  ...[
    "../a.py",
    "/etc/passwd",
    "a/../b.py",
    ".bashrc",
    "a//b",
    "a\0.py",
    "-o.py",
    "a/",
    "a\\b.py",
    " a.py",
    "x".repeat(300),
  ].map((name): [string, unknown, number, RegExp] => [
    `the name ${JSON.stringify(name).slice(0, 20)}`,
    { ...CODE, files: [{ name, content: "x" }] },
    400,
    /^files\[0\]\.name is not possible: /,
  ]),
  [
    "__proto__",
    { ...CODE, files: [...CODE.files, { name: "__proto__", content: "x" }] },
    400,
    /^files: "__proto__" is no name$/,
  ],
  [
    "two files of one name",
    { ...CODE, files: [...CODE.files, { name: "main.py", content: "x" }] },
    400,
    /^files\[1\]\.name: another file is "main.py"$/,
  ],
  [
    "a file in place of a directory",
    {
      ...CODE,
      files: [
        { name: "a/b.py", content: "x" },
        { name: "a", content: "x" },
      ],
    },
    400,
    /^files: "a" has the place of "a\/b\.py"$/,
  ],
  [
    "much content",
    { ...CODE, files: [...CODE.files, { name: "a", content: "x".repeat(1_048_577) }] },
    400,
    /^files: more than 1048576 bytes$/,
  ],
  ["a long input", { ...CODE, stdin: "x".repeat(4_194_304) }, 400, /^stdin must be at most 4194304 bytes/],
  ["an input of another type", { ...CODE, stdin: 5 }, 400, /^stdin must be a string$/],
  ["half of a surrogate pair as input", { ...CODE, stdin: "\ud800" }, 400, /^stdin must be valid Unicode/],
  ["arguments of another type", { ...CODE, args: "-n" }, 400, /^args must be an array of strings$/],
  ["an argument of another type", { ...CODE, args: ["a", 1] }, 400, /^args must be an array of strings$/],
  ["33 arguments", { ...CODE, args: Array(33).fill("a") }, 400, /^args: more than 32 arguments$/],
  ["U+0000 in an argument", { ...CODE, args: ["\0"] }, 400, /^args: contains U\+0000$/],
  ["half of a surrogate pair as argument", { ...CODE, args: ["\ud800"] }, 400, /^args must be valid Unicode/],
  ["a time that is text", { ...CODE, run_timeout: "3000" }, 400, /^run_timeout must be a number$/],
  ["a time that is true", { ...CODE, run_cpu_time: true }, 400, /^run_cpu_time must be a number$/],
  ["a negative time", { ...CODE, run_timeout: -1 }, 400, /^run_timeout must be at least 10$/],
  ["a short time", { ...CODE, run_timeout: 0.5 }, 400, /^run_timeout must be at least 10$/],
  ["a long time", { ...CODE, run_timeout: 10_000.5 }, 400, /^run_timeout must be at most 10000 for python$/],
  ["an endless time", JSON.stringify({ ...CODE, run_timeout: 1 }).replace(":1}", ":1e308}"), 400, /at most 10000/],
  ["more than a number", JSON.stringify({ ...CODE, run_timeout: 1 }).replace(":1}", ":1e999}"), 400, /at most 10000/],
  ["much CPU time", { ...CODE, run_cpu_time: 4_001 }, 400, /^run_cpu_time must be at most 4000/],
  ["much memory", { ...CODE, run_memory_limit: 2 ** 40 }, 400, /^run_memory_limit must be at most 268435456/],
  ["little memory", { ...CODE, run_memory_limit: 1 }, 400, /^run_memory_limit must be at least 16777216$/],
  ["negative memory", { ...CODE, run_memory_limit: -2 }, 400, /^run_memory_limit must be at least/],
  ["a long compilation", { ...C, compile_timeout: 15_001 }, 400, /^compile_timeout must be at most 15000 for c$/],
  ["a negative one without a compiler", { ...CODE, compile_timeout: -5 }, 400, /^compile_timeout must be at least 10$/],
];
