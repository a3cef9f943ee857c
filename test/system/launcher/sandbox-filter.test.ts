import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { answer, filterOf } from "./filter.ts";

const directory = mkdtempSync(join(tmpdir(), "assay-sandbox-filter-"));
after(() => rmSync(directory, { recursive: true }));

const toolchain = { compiler: "gcc", run: [] };
const submission = filterOf(toolchain, directory);
const sandbox = filterOf(toolchain, directory, "sandbox");
const numbers = new Map([...submission.allowed, ...submission.refused].map(([name, number]) => [name, number]));
const [ENOTTY, EOPNOTSUPP, ENOPROTOOPT] = [25, 95, 92];

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
    assert.equal(ask(sandbox, name), ask(submission, name), name);
  for (const family of [2, 10, 16, 17, 38, 40])
    assert.notEqual(ask(sandbox, "socket", family, 1), 0, `family ${family}`);
});
