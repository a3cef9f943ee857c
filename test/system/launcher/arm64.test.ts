import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { arch, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { FileClient } from "../../../src/files/client.ts";
import { compileFileProgram, startLocally, temporaryHome } from "../../support/files/local-program.ts";
import { environment, startLauncher } from "../../support/launcher/launcher.ts";
import { tracesLeft } from "../../support/launcher/machine.ts";
import { CORPUS_DIRECTORY } from "./corpus.ts";

/**
 * The arm64 launcher and the file program of sandboxes, built by Debian's cross compiler and run by user-mode emulation, which passes
 * system calls to the host kernel and lacks clone3, seccomp and bpf. So neither a box nor a sandbox is built there.
 */
const LIMIT = { timeout: 120_000 };
const launcherDirectory = join(import.meta.dirname, "../../../launcher");
const arm64 = environment("ASSAY_TEST_ARM64");
const compiler = join(arm64, "gcc");
const directory = mkdtempSync(join(tmpdir(), "assay-arm64-"));
after(() => rmSync(directory, { recursive: true }));

const build = (script: string, CC: string, ...options: string[]) =>
  spawnSync("sh", [join(launcherDirectory, script), ...options, directory], {
    encoding: "utf8",
    // Some releases of the emulator cannot provide the memory that the address sanitizer needs.
    env: { PATH: process.env.PATH, CC, SANITIZERS: "undefined" },
  });
const run = (program: string, args: readonly string[], env: Record<string, string> = {}) =>
  spawnSync(join(arm64, "run"), [join(directory, program), ...args], {
    cwd: directory,
    encoding: "utf8",
    env: { PATH: process.env.PATH, ...env },
  });

before(() => {
  const { status, stderr } = build("build", compiler);
  assert.deepEqual([status, stderr], [0, ""]);
});

test("builds with every warning as an error, including the build with faults", LIMIT, () => {
  assert.deepEqual(
    [build("build", compiler, "--faults").status, existsSync(join(directory, "assay-launcher.faults"))],
    [0, true],
  );
  const headers = execFileSync(
    "readelf",
    ["--wide", "--file-header", "--program-headers", "--dynamic", join(directory, "assay-launcher")],
    {
      encoding: "utf8",
    },
  );
  for (const expected of [
    /Machine: +AArch64/,
    /Type: +DYN /,
    /GNU_RELRO/,
    /GNU_STACK .* RW +0x/,
    /BIND_NOW|FLAGS_1.*NOW/,
  ])
    assert.match(headers, expected);
  assert.doesNotMatch(headers, /\bINTERP\b|\(NEEDED\)/);
});

test("describes the same protocol and build as the native launcher", LIMIT, () => {
  const ours = execFileSync(environment("ASSAY_TEST_LAUNCHER"), ["--describe"], { encoding: "utf8" });
  assert.equal(run("assay-launcher", ["--describe"]).stdout, ours);
});

test("its protocol reader passes the fuzzer with the committed corpus", LIMIT, () => {
  const { status, stderr } = build("fuzz/build", compiler);
  assert.deepEqual([status, stderr], [0, ""]);
  const committed = new URL("wire/", CORPUS_DIRECTORY);
  const fuzzed = run("fuzz-wire", ["3", committed.pathname]);
  assert.equal(fuzzed.status, 0, fuzzed.stderr);
  const { corpus, executions, edges } = JSON.parse(fuzzed.stdout);
  assert.equal(corpus, readdirSync(committed).length);
  assert.ok(executions >= 100 && edges > 100, fuzzed.stdout);
});

test(
  "the file program of sandboxes writes, reads, lists, archives and unpacks files, and reports changes",
  LIMIT,
  async (t) => {
    const program = compileFileProgram(directory, ["-static", "-Werror"], compiler);
    const emulated = join(directory, "emulated-files");
    writeFileSync(emulated, `#!/bin/sh\nexec ${join(arm64, "run")} ${program}\n`, { mode: 0o755 });
    chmodSync(directory, 0o755); // the program runs without privileges
    const open = () => {
      const home = temporaryHome((remove) => t.after(remove));
      const files = new FileClient(() => startLocally(emulated), { home });
      t.after(() => files.close());
      return { home, files };
    };
    const { home, files } = open();
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, at) => at % 251));
    async function* body(content: Buffer) {
      for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536);
    }
    const all = async (content: AsyncIterable<Buffer>) => {
      const parts: Buffer[] = [];
      for await (const part of content) parts.push(part);
      return Buffer.concat(parts);
    };
    const written = await files.write("d/a", body(bytes), { createParents: true, mode: 0o640 });
    assert.deepEqual(
      [written.path, written.bytes, written.mode, written.etag],
      [`${home}/d/a`, bytes.length, 0o640, (await files.stat("d/a")).etag],
    );
    assert.deepEqual(
      await all((await files.read("d/a", { from: 65_530, to: 65_545 })).body),
      bytes.subarray(65_530, 65_545),
    );
    await assert.rejects(files.write("d/a", body(bytes), { ifNoneMatch: "*" }), { code: "changed" });
    const archive = await all(await files.archive("d"));
    const copy = open();
    assert.equal((await copy.files.unpack("d", body(archive))).files, 1);
    assert.deepEqual(await all((await copy.files.read("d/a", null)).body), bytes);
    assert.deepEqual(
      (await copy.files.list("d", null, 10)).entries.map(({ path }) => path),
      [`${copy.home}/d/a`],
    );
    const over = new AbortController();
    const changes = (await files.watch("d", false, over.signal))[Symbol.asyncIterator]();
    const first = changes.next();
    await files.remove("d/a", false);
    assert.deepEqual((await first).value, { type: "removed", path: `${home}/d/a` });
    over.abort();
    await changes.return?.();
  },
);

test("reports what the kernel lacks, builds no box, and leaves nothing behind", {
  ...LIMIT,
  skip: arch() === "arm64" && "the native kernel has all features",
}, async () => {
  const place = await startLauncher();
  assert.equal(await place.stop(), 0);
  const where = ["--instance", place.instance, "--uid-base", String(place.uidBase)];
  const image = ["--image", join(environment("ASSAY_TEST_IMAGE"), "rootfs")];
  const { status, stdout } = run("assay-launcher", ["--check", ...image, ...where]);
  const failed = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ works }) => !works);
  const ofKernel = failed.filter(({ check }) => ["kernel", "seccomp", "box"].includes(check));
  assert.deepEqual([status, ofKernel.map(({ check }) => check)], [1, ["kernel", "seccomp", "box"]], stdout);
  assert.match(ofKernel[0].detail, / aarch64: clone3: Function not implemented$/);
  assert.deepEqual(await tracesLeft(place), []);
});

for (const [what, cc, reason] of [
  [
    "an architecture without a system call table",
    arch() === "arm64" ? null : "gcc -m32",
    "no syscall table for this architecture",
  ],
  ["big-endian byte order", `${compiler} -mbig-endian`, "the filter reads the lower half of an argument first"],
] as const) {
  test(`refuses to build for ${what}, with the reason`, {
    ...LIMIT,
    skip: cc === null && "the compiler has no such target",
  }, () => {
    const { status, stderr } = build("build", cc ?? "");
    assert.notEqual(status, 0);
    assert.ok(stderr.includes(`error: #error "${reason}"`), stderr);
  });
}
