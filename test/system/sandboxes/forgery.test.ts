import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Execution, ExecutionRequest } from "../../../src/domain/sandboxes/execution.ts";
import type { SandboxHandle } from "../../../src/domain/sandboxes/host.ts";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import type { SandboxKeeper } from "../../../src/worker/sandboxes/keeper.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { newKeeper, untilOutput } from "../../support/sandboxes/keeper.ts";
import { addKey, type Temporary, temporaryStore } from "../../support/store/temporary.ts";

/*
 * The programs of a sandbox have one user: they can signal each other and change each other's files, and docs/sandboxes.md says so. But what the record
 * of an execution says is what its own processes have done and what has happened to them, and nothing that a neighbour claims. On SQLite only: the database
 * stores the records, and has no part in what they say.
 */

const MIB = 1_048_576;

let launcher: Launcher;
let temporary: Temporary;
let keeper: SandboxKeeper;
let key: Awaited<ReturnType<typeof addKey>>;

before(async () => {
  launcher = await startLauncher({ sandboxes: 2, sandboxMemory: 1024 * MIB });
  temporary = await temporaryStore();
  key = await addKey(temporary.store, "one");
  keeper = newKeeper({
    store: temporary.store,
    engine: sandboxesOf(launcher.socket),
    capacity: { sandboxes: 2, memoryBytes: 1024 * MIB, cpus: 1, diskBytes: 0, network: false },
  });
});

after(async () => {
  await keeper.stop();
  await temporary.dispose();
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

async function inSandbox(work: (living: SandboxHandle) => Promise<void>): Promise<void> {
  const sandbox = await keeper.create(sandboxRequest(), callerOf(key), null);
  const living = await keeper.find(sandbox.id, key.accountId);
  try {
    await work(living);
  } finally {
    const { evidence } = await living.end();
    assert.deepEqual([evidence?.teardown?.reaped, evidence?.teardown?.pidsLeft], [true, 0]);
  }
}

const python = (source: string, changes: Partial<ExecutionRequest> = {}): ExecutionRequest => ({
  ...shellRequest("", changes),
  kind: "argv",
  argv: ["python3", "-c", source],
});

/** Waits in the victim until its neighbour has done what it can, and then does this. */
const victim = (then: string, changes: Partial<ExecutionRequest> = {}) =>
  python(
    `victim = "a victim"\nimport os, signal, sys, time\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nprint("ready", flush=True)\nwhile not os.path.exists("/tmp/done"): time.sleep(0.01)\n${then}`,
    changes,
  );

/** Finds the victim as any program can, and does this with its number, `pid`. Each line that it prints is a way that was open. */
const hostile = (act: string) =>
  python(`
import ctypes, os, resource, signal
def find():
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try: words = open(f"/proc/{name}/cmdline").read()
            except OSError: continue
            if "victim = " in words: return int(name)
pid = find()
def way(name, attempt):
    try: attempt()
    except (OSError, ValueError, PermissionError) as error: return
    print(name)
libc = ctypes.CDLL(None, use_errno=True)
numbers = {"ptrace": 101, "process_vm_writev": 311} if os.uname().machine == "x86_64" else {"ptrace": 117, "process_vm_writev": 271}
def call(name, *arguments):
    if libc.syscall(numbers.get(name, 438), *arguments) < 0: raise OSError(ctypes.get_errno(), "refused")
${act}
open("/tmp/done", "w").close()`);

/** Runs both at the same time. @returns their ends, the victim's first. */
async function beside(
  living: SandboxHandle,
  one: ExecutionRequest,
  other: ExecutionRequest,
): Promise<[Execution, Execution]> {
  const first = await living.execute(one);
  await untilOutput(first, "ready\n");
  const second = await living.execute(other);
  const ends: [Execution, Execution] = [await first.ended, await second.ended];
  await (await living.execute(shellRequest("rm -f /tmp/done"))).ended;
  return ends;
}

const summary = ({ outcome }: Execution) => {
  const { verdict, cause, actor, signal, exitCode } = outcome?.result ?? {};
  return { verdict, cause, actor, signal, exitCode };
};
const stdout = ({ outcome }: Execution) => outcome?.output?.stdout.toString();

test("the signal of a neighbour is a signal, and never the limit that the kernel reports by it", async () => {
  await inSandbox(async (living) => {
    for (const [name, number] of [
      ["SIGXFSZ", 25],
      ["SIGXCPU", 24],
      ["SIGKILL", 9],
      ["SIGSEGV", 11],
    ] as const) {
      const waits = victim(`sys.exit(0)`);
      const source = hostile(`os.kill(pid, signal.${name})`);
      const [end, other] = await beside(living, waits, source);
      const { verdict, signal, actor } = summary(end);
      assert.deepEqual([verdict, signal], ["SIG", number], `${name}: ${JSON.stringify(end.outcome?.result)}`);
      assert.notEqual(actor, "judge", name);
      assert.equal(summary(other).verdict, "AC", JSON.stringify(other.outcome?.result));
    }
  });
});

test("a failing execution stays one, whatever a neighbour does with its process", async () => {
  await inSandbox(async (living) => {
    const ways = `
way("memory", lambda: open(f"/proc/{pid}/mem", "r+b", 0))
way("ptrace", lambda: call("ptrace", 16, pid, 0, 0))
way("process_vm_writev", lambda: call("process_vm_writev", pid, 0, 0, 0, 0, 0))
way("pidfd_getfd", lambda: call("pidfd_getfd", os.pidfd_open(pid), 1, 0))
way("file size", lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, 1)))
way("cpu time", lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)))
way("oom score", lambda: open(f"/proc/{pid}/oom_score_adj", "w").write("-1000"))
way("group", lambda: open("/sys/fs/cgroup/cgroup.procs", "w").write(str(pid)))`;
    const [end, other] = await beside(living, victim("sys.exit(7)"), hostile(ways));
    assert.deepEqual(summary(end), {
      verdict: "RE",
      cause: "nonzero_exit",
      actor: "runtime",
      signal: null,
      exitCode: 7,
    });
    assert.equal(stdout(other), "", "a way into the other process is open");
    assert.equal(end.outcome?.evidence?.isolation.mode, "strict");
  });
});

test("each execution reaches its own limits, and a neighbour's use of memory, processes and output is not its own", async () => {
  await inSandbox(async (living) => {
    const limits = { memory_bytes: 96 * MIB, processes: 16 };
    const greedy = {
      memory: ["x = bytearray(400 << 20)", "MLE"],
      processes: ["import time\nfor n in range(40):\n    if os.fork() == 0: time.sleep(60); os._exit(0)", "PLE"],
      output: ["for n in range(3000): os.write(1, b'x' * 1024)", "AC"],
    } as const;
    for (const [what, [act, expected]] of Object.entries(greedy)) {
      const attack = { ...hostile("pass"), limits };
      const source = (attack.argv?.[2] ?? "").replace(
        'open("/tmp/done", "w").close()',
        `open("/tmp/done", "w").close()\n${act}`,
      );
      const [end, other] = await beside(living, victim("time.sleep(0.5)\nprint('mine')", { limits }), {
        ...attack,
        argv: ["python3", "-c", source],
      });
      assert.deepEqual(
        [summary(end).verdict, stdout(end)],
        ["AC", "ready\nmine\n"],
        `${what}: ${JSON.stringify(end.outcome?.result)}`,
      );
      assert.equal(summary(other).verdict, expected, `${what}: ${JSON.stringify(other.outcome?.result)}`);
      assert.equal(end.outcome?.output?.integrity, "complete", what);
    }
    // And the other way round: what the honest execution uses is not hidden by what its neighbour frees.
    const own = victim("x = bytearray(60 << 20)\nprint('mine')", { limits });
    const [end] = await beside(living, own, hostile("x = bytearray(60 << 20); del x"));
    assert.ok((end.outcome?.metrics?.memoryPeakBytes ?? 0) > 60 * MIB, JSON.stringify(end.outcome?.metrics));
  });
});

test("a neighbour that ends the sandbox's programs, or dies itself, takes no verdict with it", async () => {
  await inSandbox(async (living) => {
    // SIGKILL to every process that it can reach, its own included: each execution ends by that signal, and the sandbox goes on.
    const [end, other] = await beside(living, victim("sys.exit(0)"), hostile("os.kill(-1, signal.SIGKILL)"));
    assert.deepEqual([summary(end).verdict, summary(end).signal], ["SIG", 9]);
    assert.ok(["AC", "SIG"].includes(summary(other).verdict ?? ""), JSON.stringify(other.outcome?.result));
    assert.equal(stdout(await (await living.execute(shellRequest("echo alive"))).ended), "alive\n");
  });
});
