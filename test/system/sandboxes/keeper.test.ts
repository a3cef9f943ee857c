import assert from "node:assert/strict";
import { release } from "node:os";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ExecutionRequest } from "../../../src/domain/sandboxes/execution.ts";
import type { FileError } from "../../../src/domain/sandboxes/files.ts";
import type { SandboxHandle } from "../../../src/domain/sandboxes/host.ts";
import { SandboxRefused, type SandboxRequest } from "../../../src/domain/sandboxes/sandbox.ts";
import { sandboxesOf } from "../../../src/sandbox/held-sandbox.ts";
import type { SandboxKeeper } from "../../../src/worker/sandboxes/keeper.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually } from "../../support/launcher/machine.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { newKeeper, outputOf, untilOutput } from "../../support/sandboxes/keeper.ts";
import {
  addKey,
  type OpenTemporary,
  onEachDatabase,
  type Temporary,
  temporaryStore,
} from "../../support/store/temporary.ts";
import { someLanguages } from "../../support/worker/some-languages.ts";

const MIB = 1_048_576;
/** Since Linux 6.10, the root of a sandbox has files without names, which an upload writes: the kernel removes such a file when its program is killed. */
const [MAJOR = 0, MINOR = 0] = release().split(".").map(Number);
const hasFilesWithoutNames = MAJOR > 6 || (MAJOR === 6 && MINOR >= 10);

let launcher: Launcher;

before(async () => {
  launcher = await startLauncher({ sandboxes: 4, sandboxMemory: 2048 * MIB });
});

after(async () => {
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

/** A keeper over a new database, for the tests of the suite that calls this. */
function useKeeper(open: OpenTemporary) {
  let temporary: Temporary;
  let keeper: SandboxKeeper;
  let key: Awaited<ReturnType<typeof addKey>>;
  before(async () => {
    temporary = await open();
    key = await addKey(temporary.store, "one");
    keeper = newKeeper({
      store: temporary.store,
      engine: sandboxesOf(launcher.socket),
      languages: someLanguages(["python", "c"]),
      capacity: { sandboxes: 4, memoryBytes: 2048 * MIB, cpus: 2, diskBytes: 0, network: false },
    });
  });
  after(async () => {
    await keeper.stop();
    await temporary.dispose();
  });
  const create = async (changes: Partial<SandboxRequest> = {}): Promise<SandboxHandle> => {
    const sandbox = await keeper.create(sandboxRequest(changes), callerOf(key), null);
    return await keeper.find(sandbox.id, key.accountId);
  };
  /** Runs a function in a sandbox, and ends that. The removal must be proven. */
  const inSandbox = async (
    work: (living: SandboxHandle) => Promise<void>,
    changes: Partial<SandboxRequest> = {},
  ): Promise<void> => {
    const living = await create(changes);
    try {
      await work(living);
    } finally {
      const { evidence } = await living.end().catch(() => living.sandbox);
      assert.deepEqual(
        [evidence?.teardown?.reaped, evidence?.teardown?.pidsLeft, evidence?.teardown?.groupsLeft],
        [true, 0, []],
      );
    }
  };
  /** What the database has of a sandbox. */
  const stored = async (id: string) => await temporary.store.sandboxes.get(id, key.accountId);
  /** The executions that the database has. */
  const executions = async (id: string) =>
    (await temporary.store.sandboxes.executions(id, key.accountId, { max: 500 }))?.executions ?? [];
  return { create, inSandbox, stored, executions };
}

const run = async (living: SandboxHandle, shell: string, changes: Partial<ExecutionRequest> = {}) =>
  await (await living.execute(shellRequest(shell, changes))).ended;

const text = (ended: Awaited<ReturnType<typeof run>>) => ({
  verdict: ended.outcome?.result.verdict,
  stdout: ended.outcome?.output?.stdout.toString("utf8"),
  stderr: ended.outcome?.output?.stderr.toString("utf8"),
});

onEachDatabase((open) => {
  const { create, inSandbox, stored, executions } = useKeeper(open);

  test("files and processes stay between executions; each has its own record with strict evidence", async () => {
    await inSandbox(
      async (living) => {
        const first = await run(living, "echo kept > note; sleep 100 >/dev/null 2>&1 & echo $HOME", {
          background: true,
        });
        assert.deepEqual(text(first), { verdict: "AC", stdout: "/home/user\n", stderr: "" });
        assert.equal(first.processesLeft, 1);
        const second = await run(living, "cat note; grep -lx sleep /proc/[0-9]*/comm | wc -l; exit 3");
        assert.deepEqual(
          [text(second), second.outcome?.result.exitCode],
          [{ verdict: "RE", stdout: "kept\n1\n", stderr: "" }, 3],
        );
        assert.equal(second.outcome?.evidence?.isolation.mode, "strict");
        const env = await run(living, 'echo "$A $B"; pwd', { env: { B: "2" }, cwd: "/tmp" });
        assert.equal(text(env).stdout, "1 2\n/tmp\n");
      },
      { env: { A: "1" } },
    );
  });

  test("files that fill the memory of a sandbox end it, once a program was killed for that", async () => {
    const living = await create({
      limits: { ...sandboxRequest().limits, memoryBytes: 128 * MIB, diskBytes: 256 * MIB },
    });
    await run(living, "head -c 200M /dev/zero > big");
    while (living.sandbox.state !== "ended") await sleep(20);
    assert.equal(living.sandbox.endReason, "memory");
    assert.equal((await stored(living.sandbox.id))?.endReason, "memory");
  });

  test("hundreds of executions use few connections, and all of them end with a record", async () => {
    await inSandbox(async (living) => {
      const verdicts: (string | undefined)[] = [];
      await Promise.all(
        Array.from({ length: 4 }, async () => {
          for (let n = 0; n < 50; n++) verdicts.push(text(await run(living, "true")).verdict);
        }),
      );
      assert.deepEqual([verdicts.length, new Set(verdicts)], [200, new Set(["AC"])]);
      const all = await executions(living.sandbox.id);
      assert.deepEqual([all.length, all.every(({ status }) => status === "completed")], [200, true]);
    });
  });

  test("what other programs of the sandbox have, and pauses, are no errors of the platform", async () => {
    await inSandbox(
      async (living) => {
        await run(living, "for i in $(seq 24); do sleep 100 >/dev/null 2>&1 & done", { background: true });
        const crowded = await run(living, "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1 & done; wait");
        assert.equal(crowded.status, "completed", crowded.outcome?.result.errorMessage ?? "");
      },
      { limits: { ...sandboxRequest().limits, processes: 32 } },
    );
    await inSandbox(async (living) => {
      const over = new AbortController();
      const pausing = (async () => {
        while (!over.signal.aborted) {
          await living.pause();
          await living.resume();
          await sleep(3);
        }
      })();
      const verdicts: unknown[] = [];
      while (verdicts.length < 60) {
        const ended = await run(living, "true").catch((error: unknown) => {
          if (!SandboxRefused.is(error, "sandboxPaused")) throw error;
          return null;
        });
        if (ended) verdicts.push(ended.outcome?.result.verdict);
        else await sleep(1);
      }
      over.abort();
      await pausing;
      assert.deepEqual(new Set(verdicts), new Set(["AC"]));
    });
  });
});

// On SQLite only: these tests are about what programs and the kernel do. The database has the records of their executions, as of those above.
describe("programs in a sandbox", () => {
  const { inSandbox } = useKeeper(temporaryStore);

  test("argv finds programs in PATH; what does not exist fails and is no error of the platform", async () => {
    await inSandbox(async (living) => {
      const argv = (
        words: readonly string[],
        changes: Partial<ExecutionRequest> = {},
      ): Promise<ReturnType<typeof text>> => run(living, "", { kind: "argv", argv: words, ...changes }).then(text);
      assert.deepEqual(await argv(["echo", "a b"]), { verdict: "AC", stdout: "a b\n", stderr: "" });
      assert.equal((await argv(["no-such-program"])).verdict, "RE");
      assert.equal((await argv(["echo"], { cwd: "/no/such/directory" })).verdict, "RE");
    });
  });

  test("code is compiled and run where its other files are not, and its errors are those of the compiler", async () => {
    await inSandbox(async (living) => {
      const code = (language: string, source: string) =>
        run(living, "", { kind: "code", language, code: Buffer.from(source), stdin: Buffer.from("in") }).then(text);
      const python = await code("python", "import os, sys\nprint(os.getcwd(), sys.stdin.read())\n");
      assert.deepEqual(python, { verdict: "AC", stdout: "/home/user in\n", stderr: "" });
      const c = await code("c", '#include <stdio.h>\nint main(void) { puts("c"); return 0; }\n');
      assert.deepEqual(c, { verdict: "AC", stdout: "c\n", stderr: "" });
      const wrong = await code("c", "int main( { }\n");
      assert.deepEqual([wrong.verdict, /error/.test(wrong.stderr ?? "")], ["RE", true]);
    });
  });

  test("a terminal talks with its client; input, signals and kills reach other executions", async () => {
    await inSandbox(async (living) => {
      const terminal = { rows: 24, cols: 80 };
      const shell = await living.execute({ ...shellRequest("", { terminal }), kind: "argv", argv: ["bash", "--norc"] });
      await shell.input(Buffer.from("stty size; tty\n"));
      await untilOutput(shell, "/dev/pts/");
      await shell.resize(30, 100);
      await shell.input(Buffer.from("stty size; echo $((6 * 7)); exit\n"));
      const { stdout, execution } = await outputOf(shell);
      assert.match(stdout, /24 80[\s\S]*30 100[\s\S]*42/);
      assert.equal(execution.outcome?.result.exitCode, 0);
      const cat = await living.execute(shellRequest("cat", { openInput: true }));
      await cat.input(Buffer.from("one "));
      await cat.input(Buffer.from("two"));
      await cat.endInput();
      assert.equal(text(await cat.ended).stdout, "one two");
      const trap = await living.execute(
        shellRequest("trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.05; done"),
      );
      await untilOutput(trap, "ready");
      await trap.signal("SIGTERM");
      assert.deepEqual((await trap.ended).outcome?.result.exitCode, 5);
      const neighbour = await living.execute(shellRequest("cat", { openInput: true }));
      const killed = await living.execute(shellRequest("sleep 100 & sleep 100"));
      await killed.kill();
      assert.equal((await killed.ended).outcome?.result.verdict, "SIG");
      await neighbour.endInput();
      assert.equal((await neighbour.ended).status, "completed");
    });
  });

  test("limits of an execution end it alone; the memory of the whole sandbox is a memory limit as well", async () => {
    await inSandbox(async (living) => {
      const eat = "python3 -c 'x = bytearray(10**9)'";
      const own = await run(living, eat, { limits: { memory_bytes: 64 * MIB } });
      assert.equal(text(own).verdict, "MLE");
      const all = await run(living, "python3 -c 'b = []\nwhile True: b.append(bytearray(10**6))'");
      assert.equal(text(all).verdict, "MLE");
      const late = await run(living, "sleep 30", { limits: { wall_time_secs: 0.5 } });
      assert.equal(text(late).verdict, "TLE");
      assert.equal(text(await run(living, "echo alive")).stdout, "alive\n");
    });
  });

  test("a paused sandbox uses no CPU time, and goes on where it was", async () => {
    await inSandbox(async (living) => {
      const counting = await living.execute(shellRequest("while :; do :; done", { background: true }));
      await living.pause();
      const before = await living.measure();
      await sleep(300);
      assert.equal((await living.measure()).cpuUsec, before.cpuUsec);
      await assert.rejects(living.execute(shellRequest("true")), SandboxRefused);
      await living.resume();
      while ((await living.measure()).cpuUsec === before.cpuUsec) await sleep(5);
      await counting.kill();
    });
  });

  test("files are written and read with the rights of the sandbox, and a request for them uses it only meanwhile", async () => {
    await inSandbox(async (living) => {
      const body = async function* () {
        for (let n = 0; n < 64; n++) yield Buffer.alloc(65_536, n);
      };
      const written = await living.files.write("data/big", body(), { createParents: true, mode: 0o640 });
      assert.deepEqual([written.path, written.bytes, written.mode], ["/home/user/data/big", 64 * 65_536, 0o640]);
      const seen = await run(living, "stat -c '%U %s' data/big");
      assert.equal(text(seen).stdout, "user 4194304\n");
      const { body: content, bytes } = await living.files.read("data/big", { from: 65_530, to: 65_542 });
      const parts: Buffer[] = [];
      for await (const part of content) parts.push(part);
      assert.deepEqual([bytes, Buffer.concat(parts)], [12, Buffer.concat([Buffer.alloc(6, 0), Buffer.alloc(6, 1)])]);
      await assert.rejects(living.files.stat("/no/such/file"), { code: "notFound" });
      await living.pause();
      await assert.rejects(living.files.stat("data/big"), SandboxRefused);
      await living.resume();
      await living.files.remove("data", true);
      assert.equal(text(await run(living, "ls")).stdout, "");
    });
  });

  test("a request for files that needs more memory than there is fails alone, and the sandbox lives on", async () => {
    await inSandbox(
      async (living) => {
        async function* much() {
          for (let n = 0; n < 200; n++) yield Buffer.alloc(MIB, 1);
        }
        for (let n = 0; n < 3; n++) {
          // The kernel kills the file program, or refuses it the space.
          await assert.rejects(living.files.write("big", much(), {}), (error: FileError) =>
            ["stopped", "noSpace"].includes(error.code),
          );
          if (!hasFilesWithoutNames) {
            await eventually("the file that has a name fills the sandbox", () => living.sandbox.state === "ended");
            return assert.equal(living.sandbox.endReason, "memory");
          }
          const small = await living.files.write("small", Readable.from([Buffer.from("small")]), {});
          assert.equal(small.bytes, 5);
          assert.deepEqual(text(await run(living, "cat small; ls")), {
            verdict: "AC",
            stdout: "smallsmall\n",
            stderr: "",
          });
        }
        assert.equal(living.sandbox.state, "running");
      },
      { limits: { ...sandboxRequest().limits, memoryBytes: 128 * MIB, diskBytes: 256 * MIB } },
    );
  });
});
