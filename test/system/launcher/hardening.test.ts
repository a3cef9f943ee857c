import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { arch } from "node:process";
import { before, describe, test } from "node:test";
import { environment } from "../../support/launcher/launcher.ts";
import { SUPERVISOR } from "../setup/fake-checkout.ts";

/** The output of `readelf`, which is installed with the compiler. */
function readelf(program: string, ...options: string[]): string {
  return execFileSync("readelf", ["--wide", ...options, program], { encoding: "utf8", maxBuffer: 64 << 20 });
}

/** The programs that run as root, and a function of each that is called from other files. */
const PROGRAMS: readonly (readonly [string, () => string, string])[] = [
  ["launcher", () => environment("ASSAY_TEST_LAUNCHER"), "request_parse"],
  ["supervisor", () => SUPERVISOR, "user_become"],
];

for (const [name, path, called] of PROGRAMS)
  describe(`the binary of the ${name}`, () => {
    let headers: string;
    let symbols: string;
    before(() => {
      headers = readelf(path(), "--file-header", "--program-headers", "--dynamic", "--notes");
      symbols = readelf(path(), "--symbols");
    });

    test("is position independent, so that its address is random", () => {
      assert.match(headers, /Type: +DYN /);
      assert.match(headers, /FLAGS_1.*\bPIE\b/);
    });

    test("is static: it loads no library and no loader", () => {
      assert.doesNotMatch(headers, /\bINTERP\b/);
      assert.doesNotMatch(headers, /\(NEEDED\)|\((?:RPATH|RUNPATH)\)/);
    });

    test("has full RELRO: its address tables are read-only before main runs", () => {
      assert.match(headers, /^ +GNU_RELRO /m);
      assert.match(headers, /FLAGS.*\bBIND_NOW\b|FLAGS_1.*\bNOW\b/);
    });

    test("has no executable stack and no segment that is writable and executable", () => {
      const segments = [...headers.matchAll(/^ +(\w+)(?: +0x[0-9a-f]+){5} (R?)( ?W?)( ?E?)/gm)];
      assert.ok(segments.length > 4, "no segments are listed");
      assert.match(headers, /^ +GNU_STACK .* RW +0x/m);
      for (const [line] of segments) assert.doesNotMatch(line, / RWE|W E/);
    });

    test("has no text relocations", () => {
      assert.doesNotMatch(headers, /TEXTREL/);
    });

    test("has stack protectors", () => {
      assert.match(symbols, /__stack_chk_fail/);
    });

    test("has fortified C library calls, which check buffer sizes", () => {
      assert.match(symbols, /__(?:v?snprintf|memcpy|strcpy|fprintf|printf)_chk/);
    });

    // The linker drops the ELF note that enables this in the kernel, because Debian's C library lacks it. So only the
    // landing pads in our own code can be tested.
    test("has landing pads for branch protection", () => {
      const code = execFileSync("objdump", [`--disassemble=${called}`, path()], { encoding: "utf8" });
      const first = code.split("\n").find((line) => /^ +[0-9a-f]+:\t/.test(line));
      assert.match(first ?? "", arch === "x64" ? /endbr64/ : /paciasp|bti/);
    });
  });

describe("the binary of the launcher alone", () => {
  let symbols: string;
  before(() => {
    symbols = readelf(environment("ASSAY_TEST_LAUNCHER"), "--symbols");
  });

  // Level 3 alone checks a read into the rest of a buffer, because the size is known only at run time.
  test("is fortified at level 3, which checks sizes known only at run time", () => {
    assert.match(symbols, /\b__read_chk\b/);
  });

  test("has no faults, which are only in the build for tests", () => {
    const has = (name: string) => readFileSync(environment(name)).includes("ASSAY_FAULT");
    assert.deepEqual([has("ASSAY_TEST_LAUNCHER_FAULTS"), has("ASSAY_TEST_LAUNCHER")], [true, false]);
    assert.doesNotMatch(symbols, /__wrap_/);
  });
});

/** Files that another user than root could change. */
function changeable(path: string): string[] {
  const { mode, uid, gid } = lstatSync(path);
  const link = (mode & 0o170000) === 0o120000;
  const found = uid !== 0 || gid !== 0 || (!link && mode & 0o6022) ? [`${path} ${uid}:${gid} ${mode.toString(8)}`] : [];
  if ((mode & 0o170000) !== 0o040000) return found;
  return [...found, ...readdirSync(path).flatMap((name) => changeable(join(path, name)))];
}

describe("files that root runs or that every box sees", () => {
  const launchers = ["ASSAY_TEST_LAUNCHER", "ASSAY_TEST_LAUNCHER_ASAN", "ASSAY_TEST_LAUNCHER_FAULTS"];
  for (const name of launchers) {
    test(`${name}: only root can write to the launcher's directory, and no directory above can be replaced`, () => {
      const directory = dirname(environment(name));
      assert.deepEqual(changeable(directory), []);
      for (let above = dirname(directory); above !== "/"; above = dirname(above)) {
        const { mode, uid } = lstatSync(above);
        assert.equal(uid, 0, above);
        assert.ok((mode & 0o022) === 0 || mode & 0o1000, `${above}: ${mode.toString(8)}`);
      }
    });
  }

  test("the image: only root can write, and there are no set-uid files and no devices", () => {
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
