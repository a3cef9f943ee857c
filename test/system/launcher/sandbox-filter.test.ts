import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { answer, DONE, filterOf } from "./filter.ts";

const directory = mkdtempSync(join(tmpdir(), "assay-sandbox-filter-"));
after(() => rmSync(directory, { recursive: true }));

const toolchain = { compiler: "gcc", run: [] };
const submission = filterOf(toolchain, directory);
const sandbox = filterOf(toolchain, directory, "sandbox");
const full = filterOf(toolchain, directory, "full");
const holder = filterOf(toolchain, directory, "holder");
const numbers = new Map([...submission.allowed, ...submission.refused].map(([name, number]) => [name, number]));
const [EINVAL, ENOTTY, EOPNOTSUPP, ENOPROTOOPT, EPROTONOSUPPORT, ESOCKTNOSUPPORT, EAFNOSUPPORT, EPERM] = [
  22, 25, 95, 92, 93, 94, 97, 1,
];

const ask = (filter: typeof sandbox, name: string, ...args: number[]) =>
  answer(filter, { arch: filter.arch, number: numbers.get(name) as number, args });

test("the filter of sandboxes permits only these calls in addition", () => {
  const names = new Map([...numbers].map(([name, number]) => [number, name]));
  const differ: (string | number)[] = [];
  for (let number = 0; number < 1024; number++) {
    const answers = [submission, sandbox].map((filter) => answer(filter, { arch: filter.arch, number }));
    if (answers[0] !== answers[1]) differ.push(names.get(number) ?? number);
  }
  /* These two have no row for submissions, so they have no name here. */
  const [ADD_WATCH, REMOVE_WATCH] = sandbox.arch === 0xc000_003e ? [254, 255] : [27, 28];
  const getsockopt = "getsockopt"; // level 0 and option 0 are refused in sandboxes
  const expected = [getsockopt, "inotify_init", "inotify_init1", ADD_WATCH, REMOVE_WATCH];
  assert.deepEqual(
    differ.map(String).sort(),
    expected
      .filter((name) => typeof name === "number" || (numbers.get(name) ?? -1) >= 0)
      .map(String)
      .sort(),
  );
});

test("the filter of a holder with a network differs from that of its programs in one call, which needs the key", () => {
  for (const { name, number, key } of full.refused.map(([name, number, , key]) => ({ name, number, key }))) {
    const [own, theirs] = [holder, full].map((filter) => {
      const at = filter.refused.find(([, other]) => other === number)?.[3] ?? -1;
      const args: bigint[] = Array(6).fill(0n);
      const without = answer(filter, { arch: filter.arch, number, args });
      if (at >= 0) args[at] = BigInt(filter.key);
      return { at, without, withKey: answer(filter, { arch: filter.arch, number, args }) };
    });
    if (name !== "seccomp") assert.deepEqual(own, theirs, name);
    else
      assert.deepEqual(
        [own, theirs],
        [
          { at: 3, without: EPERM, withKey: 0 },
          { at: key, without: EPERM, withKey: EPERM },
        ],
      );
  }
  const seccomp = numbers.get("seccomp") as number;
  for (const filter of [submission, sandbox, full])
    for (let at = 0; at < 6; at++) {
      const args: bigint[] = Array(6).fill(0n);
      args[at] = BigInt(filter.key);
      assert.equal(answer(filter, { arch: filter.arch, number: seccomp, args }), EPERM);
    }
  for (let number = 0; number < 1024; number++)
    assert.equal(answer(holder, { arch: holder.arch, number }), answer(full, { arch: full.arch, number }), `${number}`);
});

test("terminals get the requests that they need, and none that acts on others or on the machine", () => {
  const [TCSETS, TIOCSCTTY, TIOCSPGRP, TIOCSWINSZ, TIOCSPTLCK] = [0x5402, 0x540e, 0x5410, 0x5414, 0x4004_5431];
  for (const request of [TCSETS, TIOCSCTTY, TIOCSPGRP, TIOCSWINSZ, TIOCSPTLCK])
    assert.deepEqual(
      [submission, sandbox].map((filter) => ask(filter, "ioctl", 0, request)),
      [ENOTTY, 0],
      request.toString(16),
    );
  const [TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, TIOCVHANGUP, SIOCGIFBR] = [
    0x5412, 0x541c, 0x541d, 0x5423, 0x5437, 0x8940,
  ];
  for (const request of [TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, TIOCVHANGUP, SIOCGIFBR])
    assert.equal(ask(sandbox, "ioctl", 0, request), ENOTTY, request.toString(16));
});

test("only known options of sockets can be read", () => {
  const [SOL_SOCKET, SO_ERROR, SO_GET_FILTER, SO_MEMINFO, SO_PEERPIDFD, SOL_TCP] = [1, 4, 26, 55, 77, 6];
  assert.equal(ask(sandbox, "getsockopt", 0, SOL_SOCKET, SO_ERROR), 0);
  for (const option of [SO_GET_FILTER, SO_MEMINFO, SO_PEERPIDFD])
    assert.equal(ask(sandbox, "getsockopt", 0, SOL_SOCKET, option), ENOPROTOOPT, `${option}`);
  assert.equal(ask(sandbox, "getsockopt", 0, SOL_TCP, SO_ERROR), EOPNOTSUPP);
});

test("only where their number is limited, there are sockets of TCP and UDP, and no others", () => {
  const [STREAM, DATAGRAM, RAW, PACKET, FLAGS] = [1, 2, 3, 5, 0x80800];
  const [UNIX, INET, INET6, NETLINK] = [1, 2, 10, 16];
  const socket = (filter: typeof full, family: number, type: number, protocol: number) =>
    ask(filter, "socket", family, type, protocol);
  for (const family of [INET, INET6]) {
    assert.equal(socket(sandbox, family, STREAM, 0), EAFNOSUPPORT);
    for (const [type, protocol] of [
      [STREAM, 0],
      [STREAM, 6],
      [DATAGRAM, 0],
      [DATAGRAM, 17],
      [STREAM | FLAGS, 6],
    ] as const)
      assert.equal(socket(full, family, type, protocol), 0, `${type} ${protocol}`);
    for (const [type, protocol] of [
      [STREAM, 1],
      [STREAM, 17],
      [STREAM | FLAGS, 17],
      [DATAGRAM, 6],
      [DATAGRAM, 1],
      [STREAM, 132],
      [STREAM, 262],
    ] as const)
      assert.equal(socket(full, family, type, protocol), EPROTONOSUPPORT, `${type} ${protocol}`);
    for (const type of [RAW, PACKET, PACKET | FLAGS]) assert.equal(socket(full, family, type, 0), ESOCKTNOSUPPORT);
  }
  for (const type of [STREAM, DATAGRAM, PACKET]) assert.equal(socket(full, UNIX, type, 0), 0);
  assert.equal(socket(full, UNIX, STREAM, 1), 0);
  assert.equal(socket(full, NETLINK, DATAGRAM, 0), EAFNOSUPPORT);
});

test("sizes of buffers cannot be set where they bound what sockets hold", () => {
  const [SOL_SOCKET, IP, TCP, UDP, IPV6] = [1, 0, 6, 17, 41];
  const [SNDBUF, RCVBUF, PRIORITY, SNDBUFFORCE, REUSEADDR] = [7, 8, 12, 32, 2];
  for (const option of [SNDBUF, RCVBUF]) {
    assert.equal(ask(full, "setsockopt", 0, SOL_SOCKET, option), DONE);
    for (const level of [IP, TCP, UDP, IPV6]) assert.equal(ask(full, "setsockopt", 0, level, option), ENOPROTOOPT);
    assert.equal(ask(sandbox, "setsockopt", 0, SOL_SOCKET, option), 0);
  }
  assert.equal(ask(full, "setsockopt", 0, SOL_SOCKET, REUSEADDR), 0);
  const [RECVERR, V6_RECVERR] = [11, 25];
  assert.equal(ask(full, "setsockopt", 0, IP, RECVERR), DONE);
  assert.equal(ask(full, "setsockopt", 0, IPV6, V6_RECVERR), DONE);
  for (const level of [TCP, UDP, IPV6]) assert.equal(ask(full, "setsockopt", 0, level, RECVERR), ENOPROTOOPT);
  for (const option of [PRIORITY, SNDBUFFORCE]) assert.equal(ask(full, "setsockopt", 0, SOL_SOCKET, option), EPERM);
  const [TOS, NODELAY, V6ONLY] = [1, 1, 26];
  assert.equal(ask(full, "setsockopt", 0, IP, TOS), ENOPROTOOPT);
  assert.equal(ask(full, "setsockopt", 0, TCP, NODELAY), 0);
  assert.equal(ask(full, "setsockopt", 0, IPV6, V6ONLY), 0);
});

test("locks succeed without effect unless their number is limited", () => {
  const [SETFL, SETLK, SETLKW, OFD_SETLK, SETLEASE, NOTIFY, O_ASYNC] = [4, 6, 7, 37, 1024, 1026, 0x2000];
  for (const command of [SETLK, SETLKW]) {
    assert.equal(ask(sandbox, "fcntl", 0, command), DONE);
    assert.equal(ask(full, "fcntl", 0, command), 0);
  }
  assert.deepEqual(
    [sandbox, full].map((filter) => ask(filter, "fcntl", 0, OFD_SETLK)),
    [EINVAL, 0],
  );
  assert.deepEqual(
    [sandbox, full].map((filter) => ask(filter, "flock", 0, 2)),
    [DONE, 0],
  );
  for (const command of [SETLEASE, NOTIFY]) assert.equal(ask(full, "fcntl", 0, command), EINVAL);
  assert.equal(ask(full, "fcntl", 0, SETFL, O_ASYNC), EINVAL);
});

test("everything else is refused as for submissions", () => {
  for (const name of [
    "ptrace",
    "unshare",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "bpf",
    "perf_event_open",
    "io_uring_setup",
    "userfaultfd",
    "keyctl",
  ])
    for (const filter of [sandbox, full]) assert.equal(ask(filter, name), ask(submission, name), name);
  for (const family of [2, 10, 16, 17, 38, 40])
    assert.notEqual(ask(sandbox, "socket", family, 1), 0, `family ${family}`);
});
