import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { arch, constants, tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { environment } from "../../support/launcher/launcher.ts";
import { answer, answerOfRules, callsInHeaders, DONE, type Filter, filterOf, type Toolchain } from "./filter.ts";

/**
 * The filters of both architectures, run by an interpreter. test/system/programs/seccomp.test.ts tests the native filter in the
 * kernel as well.
 */
const { EACCES, EPERM, EINVAL, ENOMEM, ENOSYS, ENOTTY, EAFNOSUPPORT, EOPNOTSUPP } = constants.errno;
const arm64 = environment("ASSAY_TEST_ARM64");
const ARM64: Toolchain = { compiler: join(arm64, "gcc"), run: [join(arm64, "run")] };
const NATIVE: Toolchain = { compiler: "gcc", run: [] };

/** AUDIT_ARCH_* of linux/audit.h. */
const ARCH = { x86_64: 0xc000003e, i386: 0x40000003, aarch64: 0xc00000b7, arm: 0x40000028 };

/** Listed only for 32-bit x86, whose entry is refused. */
const OF_I386 = new Set(["vm86", "vm86old"]);
/** Calls that are missing in current headers but exist in kernels in use. */
const GONE: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  aarch64: { nfsservctl: 42, lookup_dcookie: 18 },
  x86_64: { nfsservctl: 180, lookup_dcookie: 212 },
};
/** Numbers beyond every table, including the x32 entry. */
const BEYOND = [1024, 0x4000_0000, 0x4000_0027, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

const directory = mkdtempSync(join(tmpdir(), "assay-filter-"));
after(() => rmSync(directory, { recursive: true }));

const own = arch() === "arm64" ? "aarch64" : "x86_64";
for (const [name, toolchain] of Object.entries({ [own]: NATIVE, aarch64: ARM64 })) {
  describe(`on ${name}`, () => {
    const filter = filterOf(toolchain, directory);
    const headers = callsInHeaders(toolchain);
    const allowed = new Map(filter.allowed);
    const call = (name: string, ...args: (number | bigint)[]) =>
      answer(filter, { arch: filter.arch, number: allowed.get(name) ?? -1, args });

    test("each listed call has its number, or does not exist on this architecture", () => {
      assert.ok(headers.size > 250, "the kernel headers were not read");
      const youngest = Math.max(...headers.values());
      const rows = [...filter.refused.map(([call, number]) => [call, number] as const), ...filter.allowed];
      for (const [row, number] of rows) {
        const known = headers.get(row) ?? GONE[name]?.[row];
        if (number === -1) assert.ok(known === undefined && (name !== "x86_64" || OF_I386.has(row)), row);
        else if (known !== undefined) assert.equal(number, known, row);
        else assert.ok(number > youngest, `${row} is ${number}, the headers end at ${youngest}`);
      }
      const numbers = rows.map(([, number]) => number).filter((number) => number >= 0);
      assert.equal(new Set(numbers).size, numbers.length, "a call is listed twice");
      for (const { name, number } of filter.rules) assert.equal(number, allowed.get(name), `a rule for ${name}`);
    });

    test("every number gets the answer of its row, or ENOSYS without a row", () => {
      const expected = new Map(filter.refused.map(([, number, errno]) => [number, errno || DONE]));
      for (const [, number] of filter.allowed) expected.set(number, answerOfRules(filter, { number }));
      for (const number of [...Array(1024).keys(), ...BEYOND])
        assert.equal(answer(filter, { arch: filter.arch, number }), expected.get(number) ?? ENOSYS, `number ${number}`);
    });

    test("each rule is exact around each of its values, regardless of the upper half of the argument", () => {
      const sides = new Map<number, Set<boolean>>();
      const ours = filter.rules.filter(({ number }) => number >= 0);
      for (const [at, { number, when, whenValue, argument, values }] of ours.entries()) {
        const bits = Array.from({ length: 32 }, (_, bit) => 2 ** bit);
        const near = values.flatMap((value) => [value - 1, value, value + 1, ...bits.map((bit) => value ^ bit)]);
        for (const value of [0, 0xffff_ffff, ...bits, ...near])
          for (const upper of [0n, 0xdead_0000_0000n]) {
            const args: bigint[] = Array(6).fill(0n);
            for (const other of ours)
              if (other.number === number && other.kind === "ONE_OF")
                args[other.argument] = BigInt(other.values[0] ?? 0);
            args[argument] = BigInt.asUintN(32, BigInt(value)) | upper;
            if (when >= 0 && when !== argument) args[when] = BigInt(whenValue) | upper;
            const got = answer(filter, { arch: filter.arch, number, args });
            assert.equal(got, answerOfRules(filter, { number, args }), `${number} with ${args}`);
            sides.set(at, (sides.get(at) ?? new Set()).add(got === 0 || got === DONE));
          }
      }
      for (const [at, rule] of ours.entries())
        if (rule.errno !== 0) assert.equal(sides.get(at)?.size, 2, `${rule.name} is not both allowed and refused`);
    });

    test("a call of the slot is allowed with exactly the key, after its arguments", () => {
      const keyed = filter.refused.filter(([, , , key]) => key >= 0);
      assert.equal(keyed.length, 15);
      for (const [name, number, errno, at] of keyed) {
        const passed = (key: bigint, to = at) => {
          const args: bigint[] = Array(6).fill(0n);
          args[to] = key;
          return answer(filter, { arch: filter.arch, number, args });
        };
        const key = BigInt(filter.key);
        assert.equal(passed(key), 0, name);
        for (let bit = 0n; bit < 64n; bit++) assert.equal(passed(key ^ (1n << bit)), errno, `${name}, bit ${bit}`);
        for (const to of [0, 1, 2, 3, 4, 5].filter((other) => other !== at)) assert.equal(passed(key, to), errno, name);
      }
    });

    test("refuses every call through another entry", () => {
      assert.equal(filter.arch, ARCH[name as keyof typeof ARCH]);
      for (const other of Object.values(ARCH).filter((arch) => arch !== filter.arch))
        for (const number of [...Array(1024).keys(), ...BEYOND])
          assert.equal(answer(filter, { arch: other, number }), ENOSYS, `number ${number} of ${other.toString(16)}`);
    });

    test("calls that are allowed depending on their arguments", () => assertJudged(filter, call));
  });
}

/** The most important rules, written independently of the list. */
function assertJudged(filter: Filter, call: (name: string, ...args: (number | bigint)[]) => number): void {
  for (const socket of ["socket", "socketpair"]) {
    assert.equal(call(socket, 1, 1), 0, "AF_UNIX");
    for (const family of [0, 2, 10, 16, 17, 38, 40, 44]) assert.equal(call(socket, family, 1), EAFNOSUPPORT);
  }
  for (const flag of [0x80, 0x8000, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
    assert.equal(call("clone", flag | 17), EPERM, `clone ${flag.toString(16)}`);
  assert.equal(call("clone", 0x3d0f00), 0, "a thread");
  for (const [name, args] of Object.entries({ mmap: [0, 4096, 3, 0x40022], memfd_create: [0, 4] })) {
    assert.equal(call(name, ...args), EPERM, `${name} with huge pages`);
    assert.equal(call(name, 0, 0, 0, 0), 0, `${name} without`);
  }
  const [MAP_PRIVATE, MAP_ANONYMOUS, MAP_DROPPABLE] = [0x02, 0x20, 0x08];
  assert.equal(call("mmap", 0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS), 0);
  assert.equal(call("mmap", 0, 4096, 3, MAP_DROPPABLE | MAP_ANONYMOUS), EPERM, "memory that the kernel may drop");
  const SIOCGIFBR = 0x8940;
  const SIOCGIFVLAN = 0x8982;
  const PIDFD_GET_INFO = 0xc050ff0b;
  for (const request of [0x5412, 0x541c, SIOCGIFBR, SIOCGIFVLAN, PIDFD_GET_INFO])
    assert.equal(call("ioctl", 0, request), ENOTTY, request.toString(16));
  assert.equal(call("ioctl", 0, 0x5401), 0, "TCGETS");
  const locks = { F_SETLK: 6, F_SETLKW: 7, F_OFD_SETLK: 37, F_OFD_SETLKW: 38 };
  assert.deepEqual(
    Object.values(locks).map((command) => call("fcntl", 0, command)),
    [DONE, DONE, EINVAL, EINVAL],
  );
  assert.equal(call("fcntl", 0, 1024), EINVAL, "F_SETLEASE");
  const O_DIRECT = filter.arch === ARCH.aarch64 ? 0x10000 : 0x4000;
  assert.deepEqual([call("openat", 0, 0, O_DIRECT), call("fcntl", 0, 4, O_DIRECT)], [EINVAL, EINVAL], "O_DIRECT");
  assert.deepEqual([call("pipe2", 0, 0x80), call("pipe2", 0, 0x80800)], [EINVAL, 0], "O_EXCL; close-on-exec");
  for (const [name, argument] of Object.entries({ sendto: 3, sendmsg: 2, recvfrom: 3, recvmsg: 2 }))
    assert.equal(call(name, ...Array(argument).fill(0), 1), EOPNOTSUPP, `${name} out of band`);
  const [MADV_WILLNEED, MADV_DONTNEED, MADV_NOHUGEPAGE] = [3, 4, 15];
  assert.equal(call("madvise", 0, 0, MADV_WILLNEED), DONE);
  for (const advice of [MADV_DONTNEED, MADV_NOHUGEPAGE]) assert.equal(call("madvise", 0, 0, advice), 0);
  for (const [advice, number] of Object.entries({
    FREE: 8,
    REMOVE: 9,
    MERGEABLE: 12,
    HUGEPAGE: 14,
    COLD: 20,
    PAGEOUT: 21,
    COLLAPSE: 25,
    HWPOISON: 100,
  }))
    assert.equal(call("madvise", 0, 0, number), EINVAL, `MADV_${advice}`);
  const raised = -1 >>> 0;
  assert.deepEqual(
    [0, 19, raised].map((priority) => call("setpriority", 0, 0, priority)),
    [DONE, DONE, EACCES],
  );
  const [MAYMOVE, FIXED, DONTUNMAP] = [1, 2, 4];
  assert.deepEqual(
    [0, MAYMOVE, MAYMOVE | FIXED, MAYMOVE | DONTUNMAP].map((flags) => call("mremap", 0, 0, 0, flags)),
    [0, 0, 0, EINVAL],
  );
  const lengths = [2 ** 24 - 1, 2 ** 24, 2 ** 32];
  for (const [flags, answers] of [
    [MAYMOVE, [0, 0, 0]],
    [MAYMOVE | FIXED, [0, ENOMEM, ENOMEM]],
  ] as const)
    assert.deepEqual(
      lengths.map((length) => call("mremap", 0, length, length, flags)),
      answers,
      "moves to an address",
    );
  for (const read of ["read", "pread64"])
    assert.deepEqual(
      [0, 65_536, 2 ** 27 - 1, 2 ** 27, 2 ** 31, 2 ** 32, -1].map((bytes) => call(read, 0, 0, bytes)),
      [0, 0, 0, EINVAL, EINVAL, EINVAL, EINVAL],
    );
  const [KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE] = [1, 2, 16];
  assert.deepEqual(
    [0, KEEP_SIZE, KEEP_SIZE | PUNCH_HOLE, ZERO_RANGE].map((mode) => call("fallocate", 0, mode)),
    [0, 0, EOPNOTSUPP, EOPNOTSUPP],
  );
  assert.deepEqual(
    [62, 22, 0x53564d41, 15].map((option) => call("prctl", option)),
    [EPERM, EPERM, EINVAL, 0],
    "core scheduling, filters, names of mappings, the name of a thread",
  );
  assert.deepEqual([call("prctl", 1, 25), call("prctl", 1, 9)], [EPERM, 0], "a parent's death");
  const [SOL_SOCKET, SO_SNDBUF, SO_ATTACH_FILTER, SO_ATTACH_BPF] = [1, 7, 26, 50];
  assert.deepEqual(
    [SO_SNDBUF, SO_ATTACH_FILTER, SO_ATTACH_BPF].map((option) => call("setsockopt", 0, SOL_SOCKET, option)),
    [0, EPERM, EPERM],
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
    assert.equal(call("prlimit64", 0, limit, 1, 0, BigInt(filter.key)), 0, "set by the parked program");
    assert.equal(call("prlimit64", 0, limit, 1, 0, BigInt(filter.key) ^ 1n), EPERM);
    assert.equal(call("prlimit64", 0, limit, 1, 0, BigInt(filter.key) ^ (1n << 63n)), EPERM);
  }
  assert.equal(call("prlimit64", 0, stack, 1), 0);
}
