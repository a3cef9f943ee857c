import assert from "node:assert/strict";
import { test } from "node:test";
import type { Language } from "../../../src/domain/language.ts";
import { PROFILE_NAMES } from "../../../src/domain/limits.ts";
import { withAdditions } from "../../../src/domain/program-options.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import { isOwnStep, plan, planOfJudge } from "../../../src/worker/plan.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";

const languages = loadLanguages(LANGUAGES);
const named = (name: string) => languages.resolve(name) as Language;
const program = { code: Buffer.from("the code"), stdin: Buffer.from("the input") };

test("a language without a compile step has one step, with source and input in a fresh work directory", () => {
  const python = named("python");
  const limits = languages.limitsFor(python, "judge");
  assert.deepEqual(plan(python, limits, program), {
    execute: {
      command: python.execute,
      files: [{ name: "main.py", data: program.code }],
      stdin: program.stdin,
      limits: limits.execute,
      work: "fresh",
      more: false,
    },
  });
});

test("a compiled language has two steps: the compiler gets the source, the program gets the input", () => {
  const c = named("c");
  const limits = languages.limitsFor(c, "judge");
  assert.deepEqual(plan(c, limits, program), {
    compile: {
      command: c.compile,
      files: [{ name: "main.c", data: program.code }],
      stdin: Buffer.alloc(0),
      limits: limits.compile,
      work: "fresh",
      more: true,
      collect: "work",
    },
    execute: {
      command: c.execute,
      files: [],
      stdin: program.stdin,
      limits: limits.execute,
      work: "keep",
      more: false,
    },
  });
});

test("each language runs with the limits of the profile", () => {
  for (const language of languages.list()) {
    for (const profile of PROFILE_NAMES) {
      const limits = languages.limitsFor(language, profile);
      const { compile, execute } = plan(language, limits, program);
      assert.equal(execute.limits, limits.execute, `${language.name} ${profile}`);
      assert.equal(compile?.limits, limits.compile, `${language.name} ${profile}`);
      assert.equal(compile === undefined, language.compile === null);
    }
  }
});

const added = { files: [], entry: null, args: [], env: {}, limits: {} };
const withProgramOptions = (name: string, options: Partial<typeof added> & object) => {
  const language = named(name);
  const limits = languages.limitsFor(language, "judge");
  return plan(language, limits, { ...program, options: { ...added, ...options } });
};

test("arguments, variables and limits change the execute step only", () => {
  const c = named("c");
  const limits = languages.limitsFor(c, "judge");
  const steps = withProgramOptions("c", {
    args: ["-v", "two words"],
    env: { A: "1" },
    limits: { wall_time_secs: 0.25 },
  } as object);
  assert.deepEqual(steps.compile, plan(c, limits, program).compile);
  assert.deepEqual(steps.execute.command.command, ["./main", "-v", "two words"]);
  assert.deepEqual(steps.execute.command.env, { ...c.execute.env, A: "1" });
  assert.deepEqual(steps.execute.limits, { ...limits.execute, wallMs: 250, cpuMs: 250 });
});

test("limits of the compiler change the compile step only", () => {
  const limits = languages.limitsFor(named("c"), "judge");
  const steps = withProgramOptions("c", { compileLimits: { cpu_time_secs: 3 } } as object);
  assert.deepEqual(steps.compile?.limits, { ...limits.compile, cpuMs: 3000 });
  assert.deepEqual(steps.execute.limits, limits.execute);
  assert.deepEqual(withProgramOptions("python", { compileLimits: {} } as object).compile, undefined);
});

test("files are written next to the source, and those with a suffix of the language are compiled", () => {
  const data = Buffer.from("x");
  const files = ["util.c", "lib/more.c", "util.h"].map((name) => ({ name, data }));
  const { compile, execute } = withProgramOptions("c", { files } as object);
  assert.deepEqual(compile?.files, [{ name: "main.c", data: program.code }, ...files]);
  assert.deepEqual(compile?.command.command.slice(-4), ["main.c", "-lm", "util.c", "lib/more.c"]);
  assert.deepEqual(execute.files, []);
});

test("files in another language are compiled as well, but are no sources", () => {
  const files = [{ name: "util.c", data: Buffer.from("x") }];
  assert.deepEqual(withProgramOptions("cpp", { files } as object).compile?.command.command.slice(-2), [
    "main.cpp",
    "util.c",
  ]);
  const cpp = named("cpp");
  const judged = planOfJudge(cpp, languages.limitsFor(cpp, "judge"), {
    ...program,
    options: { ...added, files } as never,
  });
  assert.ok(
    !judged.compile?.command.command.includes("-fwhole-program"),
    "the compiler does not see all of the program",
  );
});

test("a byte order mark is left out of sources only", () => {
  const data = Buffer.from("\uFEFFx");
  const written = (name: string, added: object) => {
    const { compile, execute } = plan(named(name), languages.limitsFor(named(name), "judge"), {
      ...program,
      code: data,
      options: added,
    } as never);
    return (compile ?? execute).files.map((file) => [file.name, file.data.toString()]);
  };
  const rest = { args: [], env: {}, limits: {} };
  const files = ["a.cc", "a.txt"].map((name) => ({ name, data }));
  assert.deepEqual(written("cpp", { files, entry: null, ...rest }), [
    ["main.cpp", "x"],
    ["a.cc", "x"],
    ["a.txt", "\uFEFFx"],
  ]);
  assert.deepEqual(written("python", { files, entry: "a.txt", ...rest }), [
    ["a.cc", "\uFEFFx"],
    ["a.txt", "x"],
  ]);
  assert.deepEqual(written("plaintext", { files: [], entry: null, ...rest }), [[named("plaintext").source, "\uFEFFx"]]);
});

test("an entry takes the place of the source in the commands", () => {
  const data = Buffer.from("x");
  for (const [name, entry, words] of [
    ["python", "app/run.py", ["app/run.py"]],
    ["javascript", "src/start.js", ["src/start.js"]],
    ["typescript", "src/start.ts", ["src/start.ts", "src/start.js"]],
    ["java", "org/site/App.java", ["org/site/App.java", "Main"]],
    ["c", "src/app.c", ["src/app.c", "./main"]],
  ] as const) {
    const { compile, execute } = withProgramOptions(name, { entry, files: [{ name: entry, data }] } as object);
    const all = [...(compile?.command.command ?? []), ...execute.command.command];
    for (const word of words) assert.ok(all.includes(word), `${name}: ${word} in ${all.join(" ")}`);
    assert.ok(!all.includes(named(name).source));
    assert.deepEqual((compile ?? execute).files, [{ name: entry, data }]);
  }
});

test("options of a compiler follow its own, and stderr is redirected by the program that becomes the program", () => {
  const c = named("c");
  const limits = languages.limitsFor(c, "judge");
  const options = { files: [], entry: null, args: ["a b"], env: {}, limits: {} };
  const more = { ...options, compilerOptions: ["-O3", "-Wall"], stderrToStdout: true };
  const { compile, execute } = plan(c, limits, { ...program, options: more });
  assert.deepEqual(compile?.command.command, [...(c.compile?.command ?? []), "-O3", "-Wall"]);
  assert.deepEqual(execute.command.command, ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", "./main", "a b"]);
  assert.ok(isOwnStep(more) && isOwnStep({ ...more, compilerOptions: [], args: [] }));
  assert.ok(isOwnStep({ ...options, args: [], compilerOptions: ["-O3"] }) && !isOwnStep({ ...options, args: [] }));
});

test("the compiler gets further options for a program of the judge: those of its language, for its files, and for a single source", () => {
  const cpp = named("cpp");
  const limits = languages.limitsFor(cpp, "judge");
  /** The words that follow those for the same program as a submission. */
  const added = (files: readonly string[], entry: string | null) => {
    const options = {
      files: files.map((name) => ({ name, data: Buffer.alloc(0) })),
      entry,
      args: [],
      env: {},
      limits: {},
    };
    const [usual, ofJudge] = [plan, planOfJudge].map(
      (make) => make(cpp, limits, { ...program, options }).compile?.command.command ?? [],
    );
    assert.deepEqual(ofJudge?.slice(0, usual?.length), usual);
    return ofJudge?.slice(usual?.length);
  };
  const [always, ofTestlib] = [
    ["-idirafter", "/opt/assay/testlib"],
    ["-include", "cstdint"],
  ];
  assert.deepEqual(added([], null), [...always, "-fwhole-program"]);
  assert.deepEqual(added(["check.cpp", "near.h"], "check.cpp"), [...always, "-fwhole-program"]);
  assert.deepEqual(added(["testlib.h"], null), [...always, ...ofTestlib, "-fwhole-program"]);
  assert.deepEqual(added(["testlib.h", "check.cpp"], "check.cpp"), [...always, ...ofTestlib, "-fwhole-program"]);
  assert.deepEqual(added(["other.cpp"], null), always);
  for (const name of ["c", "java", "python", "rust"])
    assert.deepEqual(
      planOfJudge(named(name), languages.limitsFor(named(name), "judge"), program),
      plan(named(name), languages.limitsFor(named(name), "judge"), program),
    );
});

test("a test can have files in place of the standard streams", () => {
  const options = withAdditions(undefined, {
    streamFiles: { "a.in": "stdin", "a.out": "stdout" },
    streamFilesOnly: true,
  });
  assert.equal(isOwnStep(options), true);
  const python = named("python");
  const limits = languages.limitsFor(python, "judge");
  const { command } = plan(python, limits, { ...program, ...(options && { options }) }).execute.command;
  assert.equal(command[0], "/bin/bash");
  assert.deepEqual(command.slice(-2 - python.execute.command.length), ["a.in", "a.out", ...python.execute.command]);
  assert.equal(withAdditions(undefined, {}), undefined);
});
