import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** A stand-in for another kernel, which runs the given command here. */
const KERNEL = `#!/bin/sh\ncd "$3" && xargs -0 -a "$2/command" env`;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A checkout with the real runner of tests, and only these test files, checks and kernels. */
export class FakeTests implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), "assay-runner-"));
  readonly checkout = join(this.root, "checkout");
  #runs = 0;

  /** @param tests bodies of test files, by their paths below test/ without the ending. */
  constructor(tests: Readonly<Record<string, string>>) {
    const real = resolve(import.meta.dirname, "../../..");
    for (const part of [
      "test/run.ts",
      "test/runner",
      "test/support/leak-guard.ts",
      "test/support/programs/timeouts.ts",
    ])
      cpSync(join(real, part), join(this.checkout, part), { recursive: true });
    this.write("package.json", '{ "type": "module" }');
    this.write("test/check.ts", "");
    this.write("test/support/store/shared.ts", "export const globalSetup = () => {};\n");
    this.write("test/system/kernel/patient-languages.ts", "");
    this.writeKernels(KERNEL);
    for (const long of ["analyse", "fuzz/run"])
      this.write(`launcher/${long}`, "#!/bin/sh\necho long check: $*\n", 0o755);
    for (const [path, body] of Object.entries(tests)) this.writeTest(path, body);
    mkdirSync(join(this.root, "data/log"), { recursive: true });
  }

  write(path: string, text: string, mode = 0o644): void {
    const target = join(this.checkout, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text, { mode });
  }

  writeTest(path: string, body: string): void {
    this.write(`test/${path}.test.ts`, `import { test } from "node:test";\n${body}\n`);
  }

  writeKernels(script: string): void {
    for (const kernel of ["uml", "qemu"]) this.write(`test/system/kernel/${kernel}`, script, 0o755);
  }

  /** Starts `test/run.ts` with these words. */
  start(
    words: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): { child: ChildProcess; ended: Promise<Ended> } {
    const directory = join(this.root, `run-${++this.#runs}`);
    mkdirSync(join(directory, "data"), { recursive: true });
    const child = spawn(process.execPath, ["test/run.ts", ...words], {
      cwd: this.checkout,
      env: {
        PATH: process.env.PATH,
        ASSAY_DATA: join(this.root, "data"),
        ASSAY_TEST_DATA: join(directory, "data"),
        ASSAY_TEST_DIRECTORY: directory,
        ASSAY_TEST_INSTANCE: `test-of-runner-${process.pid}`,
        ASSAY_TEST_TIMES: join(directory, "times"),
        ASSAY_TEST_LAUNCHER: "/launcher",
        ASSAY_TEST_LAUNCHER_ASAN: "/launcher.asan",
        ...environment,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    return { child, ended: once(child, "close").then(([code]) => ({ code, stdout, stderr })) };
  }

  async run(words: readonly string[] = [], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
    return await this.start(words, environment).ended;
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
