import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { after, before, describe, test } from "node:test";
import type { Entries } from "../../../src/sandbox/wire.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { connected, run, step } from "../launcher/raw.ts";

const MIB = 1_048_576;

/**
 * Leaves its name everywhere a program can leave something, reports that, and looks for the names of others while both
 * programs run. It prints everything that it could see.
 */
const NEIGHBOUR = `
import ctypes, glob, json, mmap, os, signal, socket, time
libc = ctypes.CDLL(None, use_errno=True)
began = time.monotonic()
name = str(os.getuid())
for place in ("/box", "/tmp", "/dev/shm"):
    open(place + "/file-" + name, "w").write(name)
sockets = []
for address in ("\\0name-" + name, "/tmp/socket-" + name, "\\0the-same-name"):
    s = socket.socket(socket.AF_UNIX); s.bind(address); s.listen(); sockets.append(s)
child = os.fork()
if child == 0:
    time.sleep(30)
seen = {"files": set(), "processes": set(), "sockets": set(), "owners": set(), "signalled": set()}
while time.monotonic() < began + 2.5:
    for path in glob.glob("/box/*") + glob.glob("/tmp/*") + glob.glob("/dev/shm/*") + glob.glob("/proc/*"):
        try:
            seen["owners"].add(os.stat(path).st_uid)
        except OSError:
            pass
        if path.startswith("/proc/"):
            seen["processes"].add(path) if path[6:].isdigit() else None
        else:
            seen["files"].add(path)
    seen["sockets"] |= {line.split()[-1] for line in open("/proc/self/net/unix").readlines()[1:]}
    for pid in list(range(2, 400)):
        if pid not in (os.getpid(), child):
            try:
                os.kill(pid, 0); seen["signalled"].add(pid)
            except OSError:
                pass
    time.sleep(0.05)
os.kill(child, signal.SIGKILL)
tool = os.open("/usr/bin/gcc", os.O_RDONLY)
def outcome(what):
    try:
        return str(what())
    except OSError as e:
        return os.strerror(e.errno)
size = os.fstat(tool).st_size // 4096 * 4096
mapped = mmap.mmap(tool, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
pages = (ctypes.c_ubyte * (size // 4096))()
address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
print(json.dumps({
    "name": name, "began": began, "ended": time.monotonic(),
    "own processes": len(seen["processes"]), "signalled": sorted(seen["signalled"]),
    "files": sorted(seen["files"]), "sockets": sorted(seen["sockets"]), "owners": sorted(seen["owners"]),
    "group": open("/proc/self/cgroup").read().split("\\n")[-2],
    "counters of the machine": [f for f in ("loadavg", "stat", "pressure", "meminfo", "interrupts", "vmstat", "diskstats", "timer_list", "sched_debug", "schedstat", "uptime", "buddyinfo", "slabinfo", "zoneinfo", "softirqs", "keys", "key-users", "locks", "net", "sysrq-trigger", "kcore", "sys", "bus", "irq") if os.path.lexists("/proc/" + f)],
    "only if it is in memory": outcome(lambda: os.preadv(tool, [bytearray(1)], 0, os.RWF_NOWAIT)),
    "pages in memory": libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), pages),
}))
`;

describe("submissions of two accounts, side by side", () => {
  const product = useProduct({ parked: true });
  interface Seen {
    readonly name: string;
    readonly began: number;
    readonly ended: number;
    readonly [what: string]: unknown;
  }
  let both: [Seen, Seen];
  before(async () => {
    const accounts = await Promise.all(["one", "other"].map((account) => product().runAs(account)));
    const records = await Promise.all(accounts.map((submit) => submit("python", NEIGHBOUR, { profile: "agent" })));
    const seen = records.map((record) => {
      const { result, output } = checked(record);
      assert.equal(result.verdict, "AC", output.stderr);
      return JSON.parse(output.stdout) as Seen;
    });
    both = seen as [Seen, Seen];
  });

  test("run at the same time as different users", () => {
    const [one, other] = both;
    const together = Math.min(one.ended, other.ended) - Math.max(one.began, other.began);
    assert.ok(together > 0.5, `${together} s together`);
    assert.notEqual(one.name, other.name);
  });

  const expected: Readonly<Record<string, [string, (name: string) => unknown]>> = {
    files: [
      "files and sockets in /box, /tmp and /dev/shm",
      (n) => [`/box/file-${n}`, "/box/main.py", `/dev/shm/file-${n}`, `/tmp/file-${n}`, `/tmp/socket-${n}`],
    ],
    owners: ["owners of files and processes", (name) => [0, Number(name)]],
    sockets: ["sockets by name", (n) => [`/tmp/socket-${n}`, `@name-${n}`, "@the-same-name"]],
    "own processes": ["processes in /proc", () => 2],
    signalled: ["processes that can be signalled", () => []],
    group: ["the control group", () => "0::/"],
    "counters of the machine": ["counters of the machine in /proc", () => []],
    "only if it is in memory": [
      "whether a compiler's file is in memory, by RWF_NOWAIT",
      () => "Operation not supported",
    ],
    "pages in memory": ["whether a compiler's file is in memory, by mincore", () => -1],
  };
  for (const [key, [what, is]] of Object.entries(expected))
    test(`each sees only its own: ${what}`, () => {
      for (const seen of both) assert.deepEqual(seen[key], is(seen.name));
    });
});

/** Works for 1.5 s and prints its share of a CPU. */
const VICTIM = `
import time
began = time.monotonic()
while time.monotonic() < began + 1.5:
    sum(range(1000))
print(time.process_time() / (time.monotonic() - began))
`;

/** 60 processes, each in its own session. A kernel with autogroups schedules each session as one desktop. */
const crowd = (each: string) => `
import mmap, os, signal, socket, time
for _ in range(60):
    if os.fork() == 0:
        os.setsid()
        ${each}
        os._exit(0)
time.sleep(600)`;

const HOGS: Readonly<Record<string, string>> = {
  "60 busy processes": crowd("while True: pass"),
  "system calls": crowd("while True: os.getppid()"),
  "endless forks": "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
  "endless memory": "hold = []\nwhile True: hold.append(bytearray(1 << 20))",
  "endless output": crowd("while True: os.write(1, b'x' * 65536)"),
  "endless pipes": crowd("r, w = os.pipe()\n        while True: os.write(w, b'x' * 4096); os.read(r, 4096)"),
  "endless files":
    "import os\nwhile True:\n    for n in range(200):\n        f = os.open(f'/tmp/{n}', os.O_CREAT | os.O_RDWR); os.write(f, b'x' * 4096); os.fsync(f); os.close(f)\n    for n in range(200):\n        os.unlink(f'/tmp/{n}')",
};

describe("a program beside one that uses as many resources as it can", () => {
  let launcher: Launcher;
  before(async () => {
    launcher = await startLauncher();
  });
  after(() => launcher.stop());

  for (const [hog, code] of Object.entries(HOGS))
    test(`${hog}: keeps its share of the CPU and its verdict`, async () => {
      // Other programs may load one core more than another for a while, but not in every try.
      for (let tries = 1; ; tries++) {
        const { share, hogShare, explained, waited } = await beside(code);
        if (share > hogShare / 2 && explained) return;
        assert.ok(tries < 3, `${share} of a CPU beside ${hogShare} of each, and waited ${waited} us`);
      }
    });

  async function beside(code: string) {
    const [quiet, loud] = await Promise.all([connected(launcher.socket), connected(launcher.socket)]);
    let over = false;
    let [taken, began] = [0, performance.now()];
    const limits = { MEMORY_BYTES: 256 * MIB, PROCESSES: 64, WALL_MS: 2_500, CPU_MS: 60_000, CPU_RLIMIT_SECS: 60 };
    const hogging = (async () => {
      while (!over) {
        const { ended } = await run(loud, step(["/usr/bin/python3", "-c", code], limits));
        assert.equal(ended.optionalInt("FAIL_ERRNO"), null, `${ended.text("FAIL_STEP")} ${ended.text("FAIL_OBJECT")}`);
        taken += ended.int("CPU_USEC");
      }
      return taken / 1_000 / (performance.now() - began);
    })();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { ended, torn, stdout, stderr } = await run(
      quiet,
      step(["/usr/bin/python3", "-c", VICTIM], { WALL_MS: 10_000 * PATIENCE }),
    );
    over = true;
    const share = Number(stdout);
    const hogShare = (await hogging) / availableParallelism();
    for (const raw of [quiet, loud]) raw.close();

    assert.deepEqual(verdictOf(ended), UNTOUCHED, stderr);
    assert.deepEqual([torn.int("REAPED"), torn.int("PIDS_LEFT")], [1, 0]);
    // Only its wall time grows. The kernel's pressure counter explains that, except for time in interrupts and the
    // like.
    const waited = ended.optionalInt("PRESSURE_FULL_USEC");
    const explained = waited === null || share >= 0.75 || waited > (1 - share) * 0.5 * 1.5e6;
    return { share, hogShare, explained, waited };
  }
});

/** All facts that determine a verdict. */
const UNTOUCHED = {
  exit: 0,
  killed: "none",
  counts: {
    MEMORY_HITS: 0,
    OOM_EVENTS: 0,
    OOM_KILLS: 0,
    PIDS_REFUSED: 0,
    FSIZE_SIGNALS: 0,
    SURVIVORS: 0,
    STDERR_SEEN: 0,
  },
};

function verdictOf(ended: Entries): unknown {
  const names = Object.keys(UNTOUCHED.counts) as (keyof typeof UNTOUCHED.counts)[];
  return {
    exit: ended.optionalInt("EXIT_CODE"),
    killed: ended.text("KILL_REASON"),
    counts: Object.fromEntries(names.map((name) => [name, ended.int(name)])),
  };
}
