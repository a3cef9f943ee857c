import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { arch } from "node:process";
import { before, describe, test } from "node:test";
import { environment } from "./launcher.ts";

/** What `readelf`, which comes with the compiler, says of the launcher. */
function readelf(...options: string[]): string {
  const program = environment("ASSAY_TEST_LAUNCHER");
  return execFileSync("readelf", ["--wide", ...options, program], { encoding: "utf8", maxBuffer: 64 << 20 });
}

describe("the launcher's binary", () => {
  let headers: string;
  let symbols: string;
  before(() => {
    headers = readelf("--file-header", "--program-headers", "--dynamic", "--notes");
    symbols = readelf("--symbols");
  });

  test("is loaded at an address that nobody can guess (position independent)", () => {
    assert.match(headers, /Type: +DYN /);
    assert.match(headers, /FLAGS_1.*\bPIE\b/);
  });

  test("loads no library and no loader that somebody could replace (static)", () => {
    assert.doesNotMatch(headers, /\bINTERP\b/);
    assert.doesNotMatch(headers, /\(NEEDED\)|\((?:RPATH|RUNPATH)\)/);
  });

  test("has its tables of addresses read-only before main runs (full RELRO)", () => {
    assert.match(headers, /^ +GNU_RELRO /m);
    assert.match(headers, /FLAGS.*\bBIND_NOW\b|FLAGS_1.*\bNOW\b/);
  });

  test("has no stack that can be executed, and no segment that can be written and executed", () => {
    const segments = [...headers.matchAll(/^ +(\w+)(?: +0x[0-9a-f]+){5} (R?)( ?W?)( ?E?)/gm)];
    assert.ok(segments.length > 4, "segments are listed");
    assert.match(headers, /^ +GNU_STACK .* RW +0x/m);
    for (const [line] of segments) assert.doesNotMatch(line, / RWE|W E/);
  });

  test("has no relocations in its code", () => {
    assert.doesNotMatch(headers, /TEXTREL/);
  });

  test("checks its stack frames (stack protector)", () => {
    assert.match(symbols, /__stack_chk_fail/);
  });

  test("checks the sizes of its buffers (fortified C library calls)", () => {
    assert.match(symbols, /__(?:v?snprintf|memcpy|strcpy|fprintf|printf)_chk/);
  });

  // A read into the rest of a buffer is checked at level 3 alone: its size is known only when it runs.
  test("checks them also where a size is known only when it runs (fortification 3)", () => {
    assert.match(symbols, /\b__read_chk\b/);
  });

  test("knows no faults: they are in the build for tests alone", () => {
    const has = (name: string) => readFileSync(environment(name)).includes("ASSAY_FAULT");
    assert.deepEqual([has("ASSAY_TEST_LAUNCHER_FAULTS"), has("ASSAY_TEST_LAUNCHER")], [true, false]);
    assert.doesNotMatch(symbols, /__wrap_/);
  });

  // The note in the file that tells the kernel so is dropped by the linker, because Debian's own
  // C library lacks it: what can be proven is that our code has the landing places.
  test("marks where it may be jumped to (branch protection)", () => {
    const program = environment("ASSAY_TEST_LAUNCHER");
    const code = execFileSync("objdump", ["--disassemble=request_parse", program], { encoding: "utf8" });
    const first = code.split("\n").find((line) => /^ +[0-9a-f]+:\t/.test(line));
    assert.match(first ?? "", arch === "x64" ? /endbr64/ : /paciasp|bti/);
  });
});

/** Who else than root could change what root, or every box, runs. */
function changeable(path: string): string[] {
  const { mode, uid, gid } = lstatSync(path);
  const link = (mode & 0o170000) === 0o120000;
  const found = uid !== 0 || gid !== 0 || (!link && mode & 0o6022) ? [`${path} ${uid}:${gid} ${mode.toString(8)}`] : [];
  if ((mode & 0o170000) !== 0o040000) return found;
  return [...found, ...readdirSync(path).flatMap((name) => changeable(join(path, name)))];
}

describe("what root runs, and what every box sees", () => {
  const launchers = ["ASSAY_TEST_LAUNCHER", "ASSAY_TEST_LAUNCHER_ASAN", "ASSAY_TEST_LAUNCHER_FAULTS"];
  for (const name of launchers) {
    test(`${name}: it, what starts it and where it lies are root's, and nobody else may write there`, () => {
      const directory = dirname(environment(name));
      assert.deepEqual(changeable(directory), []);
      for (let above = dirname(directory); above !== "/"; above = dirname(above)) {
        const { mode, uid } = lstatSync(above);
        assert.equal(uid, 0, above);
        assert.ok((mode & 0o022) === 0 || mode & 0o1000, `${above}: ${mode.toString(8)}`);
      }
    });
  }

  test("the image: all of it is root's, nobody else may write anywhere, no set-uid, no device", () => {
    const rootfs = join(environment("ASSAY_TEST_IMAGE"), "rootfs");
    assert.deepEqual(changeable(rootfs), []);
    const special = execFileSync("find", [
      rootfs,
      "-type",
      "b",
      "-o",
      "-type",
      "c",
      "-o",
      "-type",
      "p",
      "-o",
      "-type",
      "s",
    ]);
    assert.equal(special.toString(), "");
  });
});
