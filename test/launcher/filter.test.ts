import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { arch, constants, tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { answer, callsInHeaders, type Filter, filterOf, type Toolchain } from "./filter.ts";
import { environment } from "./launcher.ts";

/**
 * The filter of both architectures, in a machine of our own: that of this one is tried on the kernel as well
 * (test/engine/seccomp.test.ts).
 */
const { EPERM, ENOSYS, EAFNOSUPPORT } = constants.errno;
const arm64 = environment("ASSAY_TEST_ARM64");
const ARM64: Toolchain = { compiler: join(arm64, "gcc"), run: [join(arm64, "run")] };
const NATIVE: Toolchain = { compiler: "gcc", run: [] };

/** AUDIT_ARCH_* of linux/audit.h. */
const ARCH = { x86_64: 0xc000003e, i386: 0x40000003, aarch64: 0xc00000b7, arm: 0x40000028 };

/** Calls that an architecture never had, and that are in the list for the other one; and those of 32-bit x86 alone. */
const ABSENT: Readonly<Record<string, readonly string[]>> = {
  aarch64: ["iopl", "ioperm", "modify_ldt", "vm86", "vm86old", "ustat", "sysfs", "uselib"],
  x86_64: ["vm86", "vm86old"],
};
/** Calls that headers have forgotten, and kernels that may still run have not. */
const GONE: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  aarch64: { nfsservctl: 42, lookup_dcookie: 18 },
  x86_64: { nfsservctl: 180, lookup_dcookie: 212 },
};
/** Numbers beyond every table, the x32 entry among them. */
const BEYOND = [1024, 0x4000_0000, 0x4000_0027, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

const directory = mkdtempSync(join(tmpdir(), "assay-filter-"));
after(() => rmSync(directory, { recursive: true }));

const own = arch() === "arm64" ? "aarch64" : "x86_64";
for (const [name, toolchain] of Object.entries({ [own]: NATIVE, aarch64: ARM64 })) {
  describe(`on ${name}`, () => {
    const filter = filterOf(toolchain, directory);
    const headers = callsInHeaders(toolchain);
    const call = (name: string, ...args: (number | bigint)[]) =>
      answer(filter, { arch: filter.arch, number: filter.judged[name] ?? -1, args });

    test("each denied call has its number, or is one that this architecture never had", () => {
      assert.ok(headers.size > 250, "the kernel's table was read");
      const youngest = Math.max(...[...headers.values()].filter((number) => number < filter.known));
      for (const [denied, number] of filter.denied) {
        const known = headers.get(denied) ?? GONE[name]?.[denied];
        if (ABSENT[name]?.includes(denied)) assert.deepEqual([number, known], [-1, undefined], denied);
        else if (known !== undefined) assert.equal(number, known, denied);
        else assert.ok(number > youngest && number < filter.known, `${denied} is ${number}, headers go to ${youngest}`);
      }
      for (const [judged, number] of Object.entries(filter.judged)) assert.equal(number, headers.get(judged), judged);
      const numbers = filter.denied.map(([, number]) => number).filter((number) => number >= 0);
      assert.equal(new Set(numbers).size, numbers.length, "none is denied twice");
    });

    test("every number gets the answer of its row, and one without a row is allowed only if it was looked at", () => {
      const expected = new Map(filter.denied.map(([, number, errno]) => [number, errno]));
      for (const socket of ["socket", "socketpair"]) expected.set(filter.judged[socket] ?? -1, EAFNOSUPPORT);
      expected.set(filter.judged.setrlimit ?? -1, EPERM); // of limit 0, CPU time
      for (const number of [...Array(1024).keys(), ...BEYOND])
        assert.equal(
          answer(filter, { arch: filter.arch, number }),
          number < filter.known ? (expected.get(number) ?? 0) : ENOSYS,
          `number ${number}`,
        );
    });

    test("no call of another entry is let through, whatever its number", () => {
      assert.equal(filter.arch, ARCH[name as keyof typeof ARCH]);
      for (const other of Object.values(ARCH).filter((arch) => arch !== filter.arch))
        for (const number of [...Array(1024).keys(), ...BEYOND])
          assert.equal(answer(filter, { arch: other, number }), ENOSYS, `number ${number} of ${other.toString(16)}`);
    });

    test("what is judged by its arguments", () => assertJudged(filter, call));
  });
}

function assertJudged({ key }: Filter, call: (name: string, ...args: (number | bigint)[]) => number): void {
  const HUGE = { mmap: [0, 4096, 3, 0x40022], memfd_create: [0, 4], shmget: [0, 4096, 0o4000] } as const;
  for (const socket of ["socket", "socketpair"]) {
    assert.equal(call(socket, 1, 1), 0, "AF_UNIX");
    for (const family of [0, 2, 10, 16, 17, 38, 40, 44]) assert.equal(call(socket, family, 1), EAFNOSUPPORT);
  }
  for (const flag of [0x80, 0x8000, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
    assert.equal(call("clone", flag | 17), EPERM, `clone ${flag.toString(16)}`);
  assert.equal(call("clone", 0x3d0f00), 0, "a thread");
  for (const [name, args] of Object.entries(HUGE)) {
    assert.equal(call(name, ...args), EPERM, `${name} with huge pages`);
    assert.equal(call(name, 0, 0, 0, 0), 0, `${name} without`);
  }
  assert.deepEqual(
    [0x5412, 0x541c, 0x5401].map((request) => call("ioctl", 0, request)),
    [EPERM, EPERM, 0],
  );
  assert.deepEqual(
    [call("prctl", 62), call("prctl", 1, 25), call("prctl", 1, 9), call("prctl", 15)],
    [EPERM, EPERM, 0, 0],
  );
  const [cpu, fileSize, stack] = [0, 1, 3];
  assert.deepEqual(
    [cpu, fileSize, stack].map((limit) => call("setrlimit", limit, 1)),
    [EPERM, EPERM, 0],
  );
  for (const limit of [cpu, fileSize]) {
    assert.equal(call("prlimit64", 0, limit, 1), EPERM, "set");
    assert.equal(call("prlimit64", 0, limit, 1n << 32n), EPERM, "set, from an address whose lower half is zero");
    assert.equal(call("prlimit64", 0, limit, 0), 0, "read");
    assert.equal(call("prlimit64", 0, limit, 1, 0, BigInt(key)), 0, "set by the parked program");
    assert.equal(call("prlimit64", 0, limit, 1, 0, BigInt(key) ^ 1n), EPERM);
    assert.equal(call("prlimit64", 0, limit, 1, 0, BigInt(key) ^ (1n << 63n)), EPERM);
  }
  assert.equal(call("prlimit64", 0, stack, 1), 0);
}
