import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Launcher } from "../../support/launcher/launcher.ts";
import { chargedBytesOf, hostMounts, kernelBytes, programsOf, tracesOf } from "../../support/launcher/machine.ts";
import { useProduct } from "../../support/programs/product.ts";
import { type CompletedRecord, checked } from "../../support/programs/record.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { PROCESS_BYTES, TOO_FEW_PAGES } from "../programs/process-bytes.ts";

/** Programs that use as many resources as they can. Each is bounded, and leaves the host unchanged, so no runtime waits. */
const product = useProduct({ workers: 1 });
const MIB = 1_048_576;
const PATIENCE_MS = 15_000 * PATIENCE;

/** Variation caused by other programs on this machine. */
const KERNEL_NOISE = 128 * MIB;
const FILES_NOISE = 4_000;
/** Variation caused by slots that rebuild their box. */
const CHARGED_NOISE = 64 * MIB;

interface Host {
  /** Processes and control groups of this launcher, and running programs. */
  readonly traces: number;
  readonly programs: number;
  readonly mounts: string[];
  readonly segments: number;
  readonly openFiles: number;
  /** Memory of programs and tmpfs that is charged to this launcher's boxes, including removed ones. */
  readonly chargedBytes: number;
  /** Memory of the kernel and of tmpfs, without memory of processes. */
  readonly kernelBytes: number;
}

function lookAtHost(launcher: Launcher): Host {
  const read = (path: string) => readFileSync(path, "utf8");
  const ipc = ["shm", "sem", "msg"].map((kind) => read(`/proc/sysvipc/${kind}`).trimEnd().split("\n").length - 1);
  return {
    traces: tracesOf(launcher).length,
    programs: programsOf(launcher).length,
    mounts: hostMounts(),
    segments: ipc.reduce((sum, count) => sum + count, 0),
    openFiles: Number(read("/proc/sys/fs/file-nr").split("\t")[0]),
    chargedBytes: chargedBytesOf(launcher),
    kernelBytes: kernelBytes(),
  };
}

function more(what: string, earlier: number, now: number, noise: number): string[] {
  return now > earlier + noise ? [`${now - earlier} more ${what}`] : [];
}

function differences(earlier: Host, now: Host): string[] {
  return [
    ...(now.traces > earlier.traces ? [`${now.traces - earlier.traces} processes or groups more`] : []),
    ...(now.programs > 0 ? [`${now.programs} programs still run`] : []),
    ...(now.segments > earlier.segments ? ["IPC objects of the host more"] : []),
    ...now.mounts.filter((mount) => !earlier.mounts.includes(mount)).map((mount) => `mounted: ${mount}`),
    ...more("files open", earlier.openFiles, now.openFiles, FILES_NOISE),
    ...more("bytes of boxes", earlier.chargedBytes, now.chargedBytes, CHARGED_NOISE),
    ...more("bytes of the kernel", earlier.kernelBytes, now.kernelBytes, KERNEL_NOISE),
  ];
}

/** Waits, because the next box is rebuilt in the background and other tests use memory for a short time. */
async function assertAsBefore(launcher: Launcher, earlier: Host): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  let left = differences(earlier, lookAtHost(launcher));
  while (left.length > 0 && performance.now() < deadline) {
    await sleep(50);
    left = differences(earlier, lookAtHost(launcher));
  }
  assert.deepEqual(left, []);
}

interface Case {
  readonly title: string;
  readonly language?: string;
  readonly profile?: string;
  readonly code: string;
  readonly verdict: string | RegExp;
  /** Memory that it uses in separate mappings. */
  readonly bytes?: number;
  readonly prints?: RegExp;
  /** Checks the kernel's counters. */
  readonly counted?: (record: CompletedRecord) => boolean;
}

const C = (body: string, includes: string) =>
  `#define _GNU_SOURCE\n${["stdio", "stdlib", "string", "errno", "unistd", ...includes.split(" ")]
    .filter(Boolean)
    .map((name) => `#include <${name}.h>`)
    .join("\n")}\nint main(void) {\n${body}\n}\n`;

const CTYPES = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.shmat.restype = ctypes.c_void_p\n";
const memory =
  (bytes: number) =>
  ({ evidence }: CompletedRecord) =>
    evidence.limits.cgroup.memory_peak_bytes > bytes;

const files = (place: string) => `
import os
count = 0
try:
    while True:
        open(f"${place}/{count}", "w").close(); count += 1
except OSError as e:
    print(e.strerror, count)
`;
const bytes = (place: string) => `
import os
written, number, block = 0, 0, bytes(1 << 20)
try:
    while True:
        with open(f"${place}/{number}", "wb", buffering=0) as file:
            for _ in range(8):
                written += file.write(block)
        number += 1
except OSError as e:
    print(e.strerror, written >> 20)
`;

const cases: readonly Case[] = [
  // File systems
  {
    title: "files in the work directory are limited in number",
    code: files("/box"),
    verdict: "AC",
    prints: /^No space left on device (39|40)\d\d\n$/,
  },
  {
    title: "files in /tmp are limited in number",
    code: files("/tmp"),
    verdict: "AC",
    prints: /^No space left on device \d{3,4}\n$/,
  },
  {
    title: "files in /dev/shm are limited in number",
    code: files("/dev/shm"),
    verdict: "AC",
    prints: /^No space left on device \d{3,4}\n$/,
  },
  {
    title: "the size of the work directory is limited",
    code: bytes("/box"),
    verdict: "AC",
    prints: /^No space left on device 6[34]\n$/,
    counted: memory(60 * MIB),
  },
  {
    title: "the size of /tmp is limited",
    code: bytes("/tmp"),
    verdict: "AC",
    prints: /^No space left on device 3[12]\n$/,
    counted: memory(30 * MIB),
  },
  {
    title: "the size of /dev/shm, which holds POSIX shared memory, is limited",
    code: bytes("/dev/shm"),
    verdict: "AC",
    prints: /^No space left on device 3[12]\n$/,
    counted: memory(30 * MIB),
  },
  {
    title: "a sparse file cannot exceed the file-size limit",
    code: "import os\nos.truncate(os.open('x', os.O_CREAT | os.O_RDWR), 1 << 40)\n",
    verdict: /^(FSE|RE)$/,
  },
  {
    title: "nested directories are limited in number and removed quickly",
    code: "import os\ntry:\n    while True: os.mkdir('d'); os.chdir('d')\nexcept OSError as e: print(e.strerror)\n",
    verdict: "AC",
    prints: /No space left/,
  },
  {
    title: "symbolic links are limited in number",
    code: "import os\ntry:\n    for i in range(10**6): os.symlink('x' * 4000, f'/tmp/{i}')\nexcept OSError as e: print(e.strerror)\n",
    verdict: /^(AC|MLE)$/,
  },
  {
    title: "endless hard links and renames leave nothing",
    code: "import os\nopen('a', 'w')\nfor i in range(20000): os.link('a', 'b'); os.rename('b', 'c'); os.unlink('c')\nprint(os.listdir())\n",
    verdict: "AC",
    prints: /^\['main\.py', 'a'\]|\['a', 'main\.py'\]\n$/,
  },
  {
    title: "names that do not exist use only the box's memory",
    // If the image is read over a network, it looks up as many as possible in two seconds.
    code: "import os, time\nfor i in range(60000):\n    os.path.exists(f'/usr/lib/{i}')\n    if time.process_time() > 2: break\nprint('done')\n",
    verdict: "AC",
    prints: /done/,
  },
  // Memory in other forms
  {
    title: "memory files (memfd) are charged",
    language: "c",
    code: C(
      'for (;;) { int fd = memfd_create("x", 0); if (fd < 0 || ftruncate(fd, 12 << 20)) return 1; char *p = mmap(0, 12 << 20, 3, MAP_SHARED, fd, 0); if (p == MAP_FAILED) return 2; memset(p, 1, 12 << 20); }',
      "sys/mman",
    ),
    verdict: "MLE",
  },
  {
    title: "pipes are charged",
    language: "c",
    code: C(
      'static char block[1 << 20]; for (int i = 0; i < 14; i++) { int ends[2]; if (pipe2(ends, O_NONBLOCK)) return 1; fcntl(ends[1], F_SETPIPE_SZ, 1 << 20); while (write(ends[1], block, sizeof block) > 0) ; } puts("full");',
      "fcntl",
    ),
    verdict: "AC",
    prints: /full/,
    counted: memory(10 * MIB),
  },
  {
    title: "data queued in sockets is charged",
    language: "c",
    code: C(
      'static char block[65536]; for (int i = 0; i < 6; i++) { int ends[2], size = 1 << 24; if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)) return 1; setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size); while (write(ends[0], block, sizeof block) > 0) ; } puts("full");',
      "sys/socket",
    ),
    verdict: "AC",
    prints: /full/,
    counted: memory(2 * MIB),
  },
  {
    title: "page tables are charged",
    language: "c",
    profile: "agent",
    code: C(
      "long size = 1l << 42; char *p; while ((p = mmap(0, size, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) == MAP_FAILED) if ((size >>= 1) < 1l << 38) return 1; madvise(p, size, MADV_NOHUGEPAGE); for (long i = 0; i < size; i += 2 << 20) p[i] = 1;",
      "sys/mman",
    ),
    bytes: 512 * MIB, // and as much in page tables
    verdict: "MLE",
  },
  {
    title: "mappings are limited in number by the kernel",
    language: "c",
    code: C(
      'int n = 0; while (mmap(0, 4096, n % 2 ? 1 : 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) n++; printf("%s\\n", strerror(errno));',
      "sys/mman",
    ),
    verdict: "AC",
    prints: /Cannot allocate memory/,
  },
  {
    title: "memory cannot be locked",
    code: `${CTYPES}print(libc.mlockall(3), libc.mlock(ctypes.create_string_buffer(4096), 4096))\n`,
    verdict: "AC",
    prints: /^-1 -1\n$/,
  },
  // Descriptors
  {
    title: "descriptors are limited in number",
    code: "import os\nn = 3\ntry:\n    while True: os.dup(0); n += 1\nexcept OSError as e: print(e.strerror, n)\n",
    verdict: "AC",
    prints: /^Too many open files 32\n$/,
  },
  {
    title: "epolls, events and timers count as descriptors",
    code: `${CTYPES}import select\nmade = []\nmakers = [lambda: select.epoll().detach() if False else libc.epoll_create1(0), lambda: libc.eventfd(0, 0), lambda: libc.timerfd_create(1, 0)]\nfor make in makers * 50:\n    made.append(make())\nprint(sum(fd >= 0 for fd in made))\n`,
    verdict: "AC",
    prints: /^2\d\n$/,
  },
  {
    title: "circles of descriptors in flight are removed with the box and do not block it",
    code: "import socket\ntry:\n    for i in range(8):\n        a, b = socket.socketpair()\n        socket.send_fds(a, [b'x'], [1, 2, a.fileno(), b.fileno()])\n        socket.send_fds(b, [b'x'], [1, 2, a.fileno(), b.fileno()])\nexcept OSError as e: print(e.strerror)\nprint('sent')\n",
    verdict: "AC",
    prints: /sent/,
  },
  // Signals and timers
  {
    title: "timers are limited in number",
    code: `${CTYPES}n, t = 0, ctypes.c_void_p()\nwhile libc.timer_create(1, None, ctypes.byref(t)) == 0: n += 1\nprint(n)\n`,
    verdict: "AC",
    prints: /^1024\n$/,
  },
  {
    title: "queued signals are limited in number",
    code: `${CTYPES}import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [40])\nn = 0\nwhile libc.sigqueue(os.getpid(), 40, None) == 0: n += 1\nprint(n <= 1024)\n`,
    verdict: "AC",
    prints: /True/,
  },
  // Processes
  {
    title: "zombies without a waiting parent are removed with the box",
    code: "import os, time\nfor _ in range(8):\n    if os.fork() == 0: os._exit(0)\ntime.sleep(0.1)\n",
    verdict: "AC",
  },
  {
    title: "threads up to the limit that sleep when the program ends",
    language: "c",
    profile: "agent",
    code: C(
      'pthread_t t; int n = 0; while (n < 60 && !pthread_create(&t, 0, (void *(*)(void *))pause, 0)) n++; printf("%d\\n", n); fflush(stdout); _exit(0);',
      "pthread",
    ),
    verdict: "AC",
    prints: /^60\n$/,
  },
  {
    title: "orphans that ignore every signal are killed",
    code: "import os, signal, time\nfor _ in range(6):\n    if os.fork() == 0:\n        for s in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(s, signal.SIG_IGN)\n        os.setsid(); time.sleep(600)\n",
    verdict: "AC",
  },
  {
    title: "stopped orphans are killed",
    code: "import os, signal\nfor _ in range(6):\n    if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)\n",
    verdict: "AC",
  },
  {
    title: "arguments and environment of the maximum size",
    code: "import os\ntry: os.execve('/bin/true', ['x' * 100000] * 60, {})\nexcept OSError as e: print(e.strerror)\n",
    verdict: "AC",
  },
  // Output
  {
    title: "50 MB on standard error are cut off",
    code: "import sys\nfor _ in range(50): sys.stderr.write('x' * 1000000)\n",
    verdict: "AC",
    counted: ({ output }) => output.stderr.length === MIB && output.integrity === "truncated_by_judge_limit",
  },
  {
    title: "shrinking and reading its own output pipe has no effect on the slot",
    code: `${CTYPES}import fcntl, os\nfcntl.fcntl(1, 1031, 4096)\nother = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)\nos.write(1, b"x")\ntry: os.read(other, 1)\nexcept BlockingIOError: pass\nos.write(1, b"end")\n`,
    verdict: "AC",
    prints: /end/,
  },
];

describe("a program that uses as many resources as it can is bounded and leaves the host unchanged", () => {
  let idle: Host;
  before(async () => {
    await product().run("python", "print(1)");
    await product().run("c", "int main(void) { return 0; }");
    await sleep(300);
    idle = lookAtHost(product().launcher);
  });
  for (const { title, language = "python", profile = "judge", code, verdict, prints, counted, bytes = 0 } of cases)
    test(title, { skip: bytes > PROCESS_BYTES && TOO_FEW_PAGES }, async () => {
      const record = checked(await product().run(language, code, { profile }));
      const { result, output, evidence } = record;
      const seen = JSON.stringify({ result, stdout: output.stdout.slice(0, 500), stderr: output.stderr.slice(0, 500) });
      if (typeof verdict === "string") assert.equal(result.verdict, verdict, seen);
      else assert.match(result.verdict, verdict, seen);
      if (prints) assert.match(output.stdout, prints, seen);
      if (counted) assert.ok(counted(record), JSON.stringify(evidence.limits.cgroup));
      await assertAsBefore(product().launcher, idle);
    });
});
