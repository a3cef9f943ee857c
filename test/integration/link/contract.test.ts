import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { FileError, type FileErrorCode } from "../../../src/domain/sandboxes/files.ts";
import type { SandboxHandle, SandboxHost } from "../../../src/domain/sandboxes/host.ts";
import { type SandboxRefusalCode, SandboxRefused } from "../../../src/domain/sandboxes/sandbox.ts";
import type { Store } from "../../../src/store/store.ts";
import { MemorySandboxes } from "../../support/http/memory-sandboxes.ts";
import {
  DIRECTIONS,
  sharedDatabase,
  startServiceLink,
  startWorkerLink,
  untilLinked,
} from "../../support/link/linked.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { outputOf, untilOutput } from "../../support/sandboxes/keeper.ts";
import { addKey, temporaryStore } from "../../support/store/temporary.ts";

/*
 * What every SandboxHost promises: the same tests of a host of this process, and of one of another process behind a link, in both directions
 * in which a link can be dialled.
 */

interface Opened {
  readonly host: SandboxHost;
  /** The sandboxes in memory that the host leads to. */
  readonly memory: MemorySandboxes;
  readonly store: Store;
  readonly accountId: string;
  /** A new sandbox, through the host under test. */
  readonly handle: SandboxHandle;
}

type Open = (t: TestContext) => Promise<Opened>;

async function opened(
  store: Store,
  memory: MemorySandboxes,
  host: SandboxHost,
  key: { keyId: string; accountId: string },
): Promise<Opened> {
  const { id, accountId } = await memory.create(sandboxRequest({ metadata: { task: "7" } }), callerOf(key), null);
  return { host, memory, store, accountId, handle: await host.find(id, accountId) };
}

const local: Open = async (t) => {
  const { store } = await temporaryStore(t);
  const memory = new MemorySandboxes(store);
  return await opened(store, memory, memory, await addKey(store, "one"));
};

const linked =
  (direction: (typeof DIRECTIONS)[number]): Open =>
  async (t) => {
    const { store, another } = await sharedDatabase(t);
    const key = await addKey(store, "one");
    const memory = new MemorySandboxes(store);
    const worker = await startWorkerLink(t, direction, { store, id: "memory", host: memory });
    const { link, sandboxes } = await startServiceLink(t, direction, { store: await another() });
    // A connection counts when its other end has accepted it.
    await untilLinked(worker, () => worker.services.includes(link.id));
    await untilLinked(link, () => link.hosts.length === 1);
    return await opened(store, memory, sandboxes, key);
  };

const refused =
  (code: SandboxRefusalCode, details: object = {}) =>
  (error: unknown) => {
    assert.ok(error instanceof SandboxRefused, String(error));
    assert.deepEqual([error.code, error.details], [code, details]);
    return true;
  };

const fileRefused = (code: FileErrorCode, path: string | null) => (error: unknown) => {
  assert.ok(error instanceof FileError, String(error));
  assert.deepEqual([error.code, error.path], [code, path]);
  assert.equal(error.message, new FileError(code, path).message);
  return true;
};

async function bytesOf(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of body) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

async function* bodyOf(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

const HOSTS = {
  local,
  ...Object.fromEntries(DIRECTIONS.map((direction) => [`linked, ${direction}`, linked(direction)])),
};
const never = new AbortController().signal;

for (const [name, open] of Object.entries(HOSTS)) {
  describe(`a host that is ${name}`, () => {
    test("a sandbox is found by its account only, and an unknown one not", async (t) => {
      const { host, handle, accountId } = await open(t);
      const { id } = handle.sandbox;
      assert.deepEqual([handle.sandbox.state, handle.sandbox.metadata], ["running", { task: "7" }]);
      assert.notEqual(host.capacity, null);
      await assert.rejects(host.find(id, randomUUID()), refused("sandboxNotFound"));
      await assert.rejects(host.find(randomUUID(), accountId), refused("sandboxNotFound"));
    });

    test("an execution has its output from any offset, and its end", async (t) => {
      const { handle } = await open(t);
      const running = await handle.execute(shellRequest("echo hello"));
      assert.deepEqual([running.number, running.execution.shell], [1, "echo hello"]);
      const { stdout, execution } = await outputOf(running);
      assert.deepEqual([stdout, execution.outcome?.result.verdict, execution.processesLeft], ["hello\n", "AC", 0]);
      const ended = await running.ended;
      assert.deepEqual(
        [ended.number, ended.status, ended.outcome?.output?.stdout.toString(), ended.outcome?.evidence?.isolation.mode],
        [1, "completed", "hello\n", "strict"],
      );
      assert.equal((await outputOf(running, { stdout: 4, stderr: 0 })).stdout, "o\n");
    });

    test("input, its end, signals, sizes and kills reach the program in order", async (t) => {
      const { handle } = await open(t);
      const cat = await handle.execute(shellRequest("cat", { openInput: true, stdin: Buffer.from("<") }));
      await cat.input(Buffer.from("a"));
      await cat.input(Buffer.alloc(300_000, "b"));
      await cat.input(Buffer.from(">"));
      const again = await handle.execution(cat.number);
      assert.equal(again?.execution.status, "running");
      await again?.endInput();
      const { stdout } = await outputOf(cat);
      assert.deepEqual([stdout.length, stdout.slice(0, 3), stdout.slice(-2)], [300_003, "<ab", "b>"]);
      await assert.rejects(cat.input(Buffer.from("late")), refused("executionEnded"));
      assert.equal(await handle.execution(cat.number), null);
      const deaf = await handle.execute(shellRequest("wait"));
      await assert.rejects(deaf.input(Buffer.from("x")), refused("takesNoInput"));
      await assert.rejects(deaf.resize(9, 9), refused("noTerminal"));
      await deaf.signal("SIGUSR1");
      await untilOutput(deaf, "SIGUSR1\n");
      await deaf.kill();
      assert.equal((await deaf.ended).status, "completed");
      const terminal = await handle.execute(shellRequest("wait", { terminal: { rows: 24, cols: 80 } }));
      await terminal.resize(40, 120);
      await untilOutput(terminal, "40x120\n");
      await terminal.signal("SIGTERM");
      await terminal.ended;
    });

    test("a reader that leaves ends its iteration, and others go on", async (t) => {
      const { handle } = await open(t);
      const cat = await handle.execute(shellRequest("cat", { openInput: true }));
      const leaving = new AbortController();
      const seen: string[] = [];
      const left = (async () => {
        for await (const event of cat.follow({ stdout: 0, stderr: 0 }, leaving.signal))
          if (event.type === "output") seen.push(event.bytes.toString());
      })();
      const whole = outputOf(cat);
      await cat.input(Buffer.from("one"));
      await untilOutput(cat, "one");
      leaving.abort();
      await left;
      await cat.input(Buffer.from("two"));
      await cat.endInput();
      assert.equal((await whole).stdout, "onetwo");
      assert.ok(seen.join("") === "one" || seen.length === 0);
    });

    test("a refusal has its code and details", async (t) => {
      const { memory, handle } = await open(t);
      const refusals = [
        new SandboxRefused("executionsFull"),
        new SandboxRefused("sandboxQuota", { what: "executions", most: 3 }),
        new SandboxRefused("sandboxEnded", { reason: "memory" }),
        new SandboxRefused("inputFull", { bytes: 12 }),
      ];
      for (const refusal of refusals) {
        memory.refuses = refusal;
        await assert.rejects(handle.execute(shellRequest("echo x")), refused(refusal.code, refusal.details));
      }
    });

    test("pause, resume, change and end answer with the sandbox as it is then", async (t) => {
      const { host, handle, accountId } = await open(t);
      assert.equal((await handle.pause()).state, "paused");
      await assert.rejects(handle.execute(shellRequest("echo x")), refused("sandboxPaused"));
      assert.equal((await handle.resume()).state, "running");
      const changed = await handle.change({ lifetimeSecs: 77, metadata: { "": "ü", b: "2" } });
      assert.deepEqual([changed.lifetimeSecs, changed.metadata], [77, { "": "ü", b: "2" }]);
      assert.deepEqual((await host.find(handle.sandbox.id, accountId)).sandbox.metadata, { "": "ü", b: "2" });
      assert.deepEqual(await handle.measure(), {
        memoryBytes: 1,
        memoryPeakBytes: 2,
        cpuUsec: 3_000_000,
        processes: 4,
        oomKills: 5,
        diskBytes: 6,
        inodes: 7,
      });
      const ended = await handle.end();
      assert.deepEqual([ended.state, ended.endReason], ["ended", "client"]);
      await assert.rejects(host.find(ended.id, accountId), refused("sandboxEnded", { reason: "client" }));
    });

    test("what a sandbox has used is answered, and one that moves says so", async (t) => {
      const { memory, handle } = await open(t);
      const { startedAtMs } = handle.sandbox;
      const samples = await handle.usage();
      assert.deepEqual(
        samples.map(({ atMs, processes }) => [atMs - (startedAtMs ?? 0), processes]),
        [
          [0, 0],
          [5_000, 1],
          [10_000, 2],
          [15_000, 3],
        ],
      );
      memory.refuses = new SandboxRefused("sandboxMoving");
      await assert.rejects(handle.execute(shellRequest("echo x")), refused("sandboxMoving"));
    });

    test("an execution belongs to the key that asks, which must be valid, and can be awaited or confirmed", async (t) => {
      const { store, handle } = await open(t);
      const { keyId } = await addKey(store, "other", { account: "one" });
      const running = await handle.execute(shellRequest("echo own"), { keyId, isAwaited: true });
      await running.confirm();
      const ended = await running.ended;
      assert.deepEqual([ended.status, ended.outcome?.output?.stdout.toString()], ["completed", "own\n"]);
      await running.confirm();
      await store.keys.revoke(keyId, "test");
      await assert.rejects(handle.execute(shellRequest("echo x"), { keyId }), refused("keyRevoked"));
    });

    test("a snapshot is taken and removed, each by its account only", async (t) => {
      const { host, memory, store, handle, accountId } = await open(t);
      const { id: sandboxId, keyId } = handle.sandbox;
      const snapshot = await handle.snapshot("before", keyId);
      assert.deepEqual(
        [snapshot.sandboxId, snapshot.accountId, snapshot.name, snapshot.bytes, snapshot.files],
        [sandboxId, accountId, "before", 2000, 3],
      );
      assert.deepEqual(await store.snapshots.get(snapshot.id, accountId), snapshot);
      await assert.rejects(host.removeSnapshot(snapshot.id, randomUUID()), refused("snapshotNotFound"));
      assert.deepEqual(await host.removeSnapshot(snapshot.id, accountId), snapshot);
      await assert.rejects(host.removeSnapshot(snapshot.id, accountId), refused("snapshotNotFound"));
      for (const refusal of [
        new SandboxRefused("snapshotQuota", { what: "bytes of snapshots", most: 7 }),
        new SandboxRefused("snapshotFailed", { why: "home/a: too deep" }),
        new SandboxRefused("snapshotsFull"),
      ]) {
        memory.refuses = refusal;
        await assert.rejects(handle.snapshot(null, keyId), refused(refusal.code, refusal.details));
      }
    });

    test("a use is known to the process of the sandbox while it lasts", async (t) => {
      const { memory, handle } = await open(t);
      const until = async (uses: number) => {
        while (memory.uses !== uses) await new Promise((resolve) => setTimeout(resolve, 5));
      };
      const end = handle.use();
      await until(1);
      end();
      end();
      await until(0);
    });

    test("files are read, written, listed, moved and removed, with their errors", async (t) => {
      const { handle } = await open(t);
      const { files } = handle;
      const written = await files.write("a/b", bodyOf("one ", "two"), { mode: 0o600 });
      assert.deepEqual([written.path, written.bytes, written.mode], ["/home/user/a/b", 7, 0o600]);
      await assert.rejects(
        files.write("a/b", bodyOf("x"), { ifNoneMatch: "*" }),
        fileRefused("changed", "/home/user/a/b"),
      );
      const { info, from, bytes, body } = await files.read("a/b", { from: 4, to: null });
      assert.deepEqual([info.path, from, bytes, (await bytesOf(body)).toString()], ["/home/user/a/b", 4, 3, "two"]);
      const part = await files.read("a/b", { last: 2 });
      assert.equal((await bytesOf(part.body)).toString(), "wo");
      await assert.rejects(files.read("a/b", { from: 99, to: null }), fileRefused("badRange", "/home/user/a/b"));
      await assert.rejects(files.stat("nö"), fileRefused("notFound", "/home/user/nö"));
      await files.write("a/c", bodyOf("c"), {});
      const page = await files.list("a", null, 1);
      assert.deepEqual([page.entries.map(({ path }) => path), page.next], [["/home/user/a/b"], "/home/user/a/b"]);
      assert.deepEqual((await files.list("a", page.next, 10)).next, null);
      assert.equal((await files.makeDirectory("d")).path, "/home/user/d");
      assert.equal((await files.move("a/c", "e")).path, "/home/user/e");
      await files.remove("e", false);
      await assert.rejects(files.remove("a", false), fileRefused("notEmpty", "/home/user/a"));
      assert.equal((await bytesOf(await files.archive("a"))).toString(), "archive of /home/user/a");
      assert.deepEqual(await files.unpack("x", bodyOf("12", "345")), { files: 1, bytes: 5 });
    });

    test("a body that fails changes nothing, and its error is passed on", async (t) => {
      const { files } = (await open(t)).handle;
      await files.write("kept", bodyOf("before"), {});
      const broken = (async function* () {
        yield Buffer.alloc(100_000, "x");
        throw new Error("the client has left");
      })();
      await assert.rejects(files.write("kept", broken, {}), /^Error: the client has left$/);
      assert.equal((await bytesOf((await files.read("kept", null)).body)).toString(), "before");
    });

    test("a reader of a file can stop before its end", async (t) => {
      const { files } = (await open(t)).handle;
      await files.write("long", bodyOf("x".repeat(2_000_000)), {});
      for await (const piece of (await files.read("long", null)).body) {
        assert.ok(piece.length > 0);
        break;
      }
      const { body } = await files.read("long", null);
      await body[Symbol.asyncIterator]().return?.();
      assert.equal((await bytesOf((await files.read("long", null)).body)).length, 2_000_000);
    });

    test("changes of a directory are told until the watcher leaves", async (t) => {
      const { files } = (await open(t)).handle;
      const over = new AbortController();
      await files.write("w/0", bodyOf("x"), {});
      const events = (await files.watch("w", true, over.signal))[Symbol.asyncIterator]();
      await files.write("w/1", bodyOf("x"), {});
      assert.deepEqual((await events.next()).value, { type: "created", path: "/home/user/w/1" });
      await files.move("w/1", "w/2");
      assert.deepEqual((await events.next()).value, { type: "moved", path: "/home/user/w/2", from: "/home/user/w/1" });
      over.abort();
      assert.equal((await events.next()).done, true);
      await assert.rejects(files.watch("nowhere", false, never), fileRefused("notFound", "/home/user/nowhere"));
    });

    test("a network policy is replaced, and what was reached is read", async (t) => {
      const { host, memory, store, handle: without, accountId } = await open(t);
      const wide = parseNetworkPolicy({
        allow: [
          { host: "*.example.org", ports: [80, 443] },
          { cidr: "2001:db8::/32", ports: [443] },
        ],
      });
      await assert.rejects(without.replaceNetwork(wide), refused("sandboxWithoutNetwork"));
      assert.equal((await without.replaceNetwork("none")).network.version, 1);
      assert.equal(await without.egress(), null);
      const bound = { policy: wide, upPerDay: null, downPerDay: null };
      await store.egress.setBound({ accountId, projectId: null }, bound, "test");
      const caller = callerOf({ accountId, keyId: without.sandbox.keyId });
      const { id } = await memory.create(sandboxRequest({ network: wide }), caller, null);
      const handle = await host.find(id, accountId);
      assert.deepEqual(handle.sandbox.network, { version: 1, network: wide });
      const ran = await (await handle.execute(shellRequest("reach a.example.org evil.net"))).ended;
      assert.deepEqual(
        ran.egress?.connections.map(({ decision }) => decision),
        ["allowed", "denied"],
      );
      assert.equal((await handle.egress())?.denied, 1);
      const narrower = parseNetworkPolicy({ allow: [{ host: "a.example.org", ports: [443] }] });
      assert.deepEqual((await handle.replaceNetwork(narrower)).network, { version: 2, network: narrower });
      await assert.rejects(
        handle.replaceNetwork(parseNetworkPolicy({ allow: [{ host: "evil.net", ports: [443] }] })),
        refused("networkForbidden", { reason: "port 443 of evil.net is not within the upper bound of the policy" }),
      );
      assert.equal((await handle.replaceNetwork("none")).network.version, 3);
    });
  });
}
