import type { ConnectionRecord, EgressRecord, SandboxEgressRecord } from "../../../src/domain/egress/egress-record.ts";
import { decide, hasNetwork, type NetworkPolicy } from "../../../src/domain/egress/policy.ts";
import {
  type Execution,
  type ExecutionRequest,
  newExecution,
  type SignalName,
} from "../../../src/domain/sandboxes/execution.ts";
import { FileError, type FileEvent, type FileInfo, type SandboxFiles } from "../../../src/domain/sandboxes/files.ts";
import type {
  ExecuteOptions,
  ExecutionEvent,
  RunningExecution,
  SandboxHandle,
  SandboxHost,
} from "../../../src/domain/sandboxes/host.ts";
import {
  newSandbox,
  type Sandbox,
  SandboxRefused,
  type SandboxRequest,
  sandboxRequestHash,
} from "../../../src/domain/sandboxes/sandbox.ts";
import { newSnapshot, type Snapshot } from "../../../src/domain/sandboxes/snapshot.ts";
import type { Caller } from "../../../src/domain/submission.ts";
import type { Store } from "../../../src/store/store.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { report } from "../verdict/reports.ts";

const WORKER = "memory";

/**
 * Sandboxes without a machine, for tests of the routes: their state is in the real store, and their programs are a few lines of this
 * file. `echo TEXT` writes and ends; `cat` writes its input; `reach HOST HOST…` connects to hosts and ends; everything else waits for a signal.
 */
export class MemorySandboxes implements SandboxHost {
  readonly capacity = { sandboxes: 8, memoryBytes: 8 * 2 ** 30, cpus: 2, diskBytes: 0, network: true };
  /** What a call of a handle refuses with, if a test sets it. */
  refuses: SandboxRefused | null = null;
  /** How many requests and readers use a sandbox now. */
  uses = 0;
  readonly #store: Store;
  readonly #living = new Map<string, MemorySandbox>();

  constructor(store: Store) {
    this.#store = store;
  }

  async create(request: SandboxRequest, caller: Caller, idempotencyKey: string | null): Promise<Sandbox> {
    if (this.refuses) throw this.refuses;
    const { sandboxes } = this.#store;
    const sandbox = newSandbox(request, caller, WORKER, Date.now());
    const idempotency =
      idempotencyKey === null ? null : { key: idempotencyKey, requestHash: sandboxRequestHash(request) };
    const created = await sandboxes.create({
      sandbox,
      idempotency,
      leaseUntilMs: Date.now() + 3_600_000,
      onlyKnown: false,
    });
    if (created.kind === "duplicate") return created.sandbox;
    if (created.kind === "conflict") throw new SandboxRefused("idempotencyConflict");
    if (created.kind === "quota") throw new SandboxRefused("sandboxQuota", { what: created.what, most: created.most });
    if (created.kind === "network") throw new SandboxRefused("networkForbidden", { reason: created.reason });
    const evidence = { controls: ["pid_namespace"], controlsMissing: [], teardown: null };
    const running = await sandboxes.update(sandbox.id, WORKER, { state: "running", startedAtMs: Date.now(), evidence });
    if (!running) throw new Error("the sandbox is not stored");
    this.#living.set(sandbox.id, new MemorySandbox(running, this, this.#store));
    return running;
  }

  async removeSnapshot(id: string, accountId: string): Promise<Snapshot> {
    const removed = await this.#store.snapshots.remove(id, accountId);
    if (!removed) throw new SandboxRefused("snapshotNotFound");
    return removed;
  }

  /** It claims no sandboxes. */
  async begin(): Promise<Sandbox> {
    throw new SandboxRefused("sandboxNotFound");
  }

  async find(id: string, accountId: string): Promise<SandboxHandle> {
    const stored = await this.#store.sandboxes.get(id, accountId);
    if (!stored) throw new SandboxRefused("sandboxNotFound");
    if (stored.endReason) throw new SandboxRefused("sandboxEnded", { reason: stored.endReason });
    const living = this.#living.get(id);
    if (!living) throw new SandboxRefused("sandboxElsewhere");
    return living;
  }
}

class MemorySandbox implements SandboxHandle {
  sandbox: Sandbox;
  readonly files: SandboxFiles = memoryFiles();
  readonly #host: MemorySandboxes;
  readonly #store: Store;
  readonly #executions = new Map<number, MemoryExecution>();
  /** What the executions that have ended have reached. */
  readonly #reached: EgressRecord[] = [];
  #number = 0;

  constructor(sandbox: Sandbox, host: MemorySandboxes, store: Store) {
    this.sandbox = sandbox;
    this.#host = host;
    this.#store = store;
  }

  use(): () => void {
    this.#host.uses++;
    let isUsed = true;
    return () => {
      if (isUsed) this.#host.uses--;
      isUsed = false;
    };
  }

  async execute(
    request: ExecutionRequest,
    { keyId, isAwaited = false }: ExecuteOptions = {},
  ): Promise<RunningExecution> {
    if (this.#host.refuses) throw this.#host.refuses;
    if (this.sandbox.state === "paused") throw new SandboxRefused("sandboxPaused");
    const execution = newExecution(this.sandbox, ++this.#number, request, Date.now());
    const options = { keyId: keyId ?? null, isAwaited };
    const begun = await this.#store.sandboxes.begin(execution, WORKER, options);
    if (begun === "revoked") throw new SandboxRefused("keyRevoked");
    if (begun === "suspended") throw new SandboxRefused("accountSuspended");
    const [, hosts] = /^reach ([a-z0-9. -]+)$/.exec(request.shell ?? "") ?? [];
    const egress = hasNetwork(this.sandbox.network) ? egressOf(this.sandbox, hosts?.split(" ") ?? []) : null;
    const running = new MemoryExecution(execution, { request, store: this.#store, isAwaited, egress });
    this.#executions.set(execution.number, running);
    void running.ended.then(() => {
      this.#executions.delete(execution.number);
      if (egress) this.#reached.push(egress);
    });
    return running;
  }

  /** A snapshot without an archive. */
  async snapshot(name: string | null, keyId: string): Promise<Snapshot> {
    if (this.#host.refuses) throw this.#host.refuses;
    const snapshot = newSnapshot(this.sandbox, { name, keyId, storeId: WORKER }, Date.now());
    const begun = await this.#store.snapshots.begin({ snapshot, leastBytes: 1000, untilMs: Date.now() + 60_000 }, true);
    if (begun.kind === "quota") throw new SandboxRefused("snapshotQuota", begun);
    const written = { bytes: 2000, files: 3, sha256: "0".repeat(64) };
    const complete = await this.#store.snapshots.complete(snapshot, written);
    if (!complete || "kind" in complete) throw new Error("the snapshot is not stored");
    return complete;
  }

  async execution(number: number): Promise<RunningExecution | null> {
    if (this.#host.refuses) throw this.#host.refuses;
    return this.#executions.get(number) ?? null;
  }

  async #update(update: Parameters<Store["sandboxes"]["update"]>[2]): Promise<Sandbox> {
    const now = await this.#store.sandboxes.update(this.sandbox.id, WORKER, update);
    if (!now) throw new Error("the sandbox has ended");
    this.sandbox = now;
    return now;
  }

  pause = () => this.#update({ state: "paused" });
  resume = () => this.#update({ state: "running" });
  change: SandboxHandle["change"] = (change) => this.#update(change);

  async replaceNetwork(policy: NetworkPolicy): Promise<Sandbox> {
    const replaced = await this.#store.sandboxes.replaceNetwork(this.sandbox.id, WORKER, policy);
    if (replaced.kind === "network") throw new SandboxRefused("networkForbidden", { reason: replaced.reason });
    if (replaced.kind === "without") throw new SandboxRefused("sandboxWithoutNetwork");
    if (replaced.kind === "lost") throw new Error("the sandbox has ended");
    this.sandbox = replaced.sandbox;
    return replaced.sandbox;
  }

  async egress(): Promise<SandboxEgressRecord | null> {
    if (!hasNetwork(this.sandbox.network)) return null;
    const { version: policy_version } = this.sandbox.network;
    const hosts = this.#reached.flatMap(({ connections }) =>
      connections.map(({ name, decision, bytes_up, bytes_down }) => ({
        name,
        decision,
        connections: 1,
        bytes_up,
        bytes_down,
      })),
    );
    const unattributed = egressOf(this.sandbox, []);
    const sum = (of: (record: EgressRecord) => number) => this.#reached.reduce((total, one) => total + of(one), 0);
    const [bytes_up, bytes_down] = [sum((one) => one.bytes_up), sum((one) => one.bytes_down)];
    const { up, down } = unattributed.budget_left;
    return {
      policy_version,
      bytes_up,
      bytes_down,
      budget_left: { up: Math.max(0, up - bytes_up), down: Math.max(0, down - bytes_down) },
      denied: sum((one) => one.denied),
      dns: { answered: sum((one) => one.dns.answered), refused: sum((one) => one.dns.refused) },
      complete: true,
      hosts,
      unattributed,
    };
  }

  async end(): Promise<Sandbox> {
    await Promise.all([...this.#executions.values()].map((one) => one.kill()));
    const end = {
      reason: "client",
      endedAtMs: Date.now(),
      evidence: null,
      usage: await this.usage(),
      egress: await this.egress(),
    } as const;
    const ended = await this.#store.sandboxes.end(this.sandbox.id, WORKER, end);
    if (!ended) throw new Error("the sandbox has ended");
    this.sandbox = ended;
    return ended;
  }

  async usage() {
    return [0, 1, 2, 3].map((i) => ({
      atMs: (this.sandbox.startedAtMs ?? 0) + i * 5_000,
      cpuUsec: i * 1_000_000,
      memoryBytes: (i % 2) * 32 * 1_048_576,
      processes: i,
      diskBytes: i * 1_048_576,
    }));
  }

  async measure() {
    return {
      memoryBytes: 1,
      memoryPeakBytes: 2,
      cpuUsec: 3_000_000,
      processes: 4,
      oomKills: 5,
      diskBytes: 6,
      inodes: 7,
    };
  }
}

class MemoryExecution implements RunningExecution {
  execution: Execution;
  readonly ended: Promise<Execution>;
  /** Sizes and signals that it got. */
  readonly got: unknown[] = [];
  readonly #store: Store;
  readonly #isAwaited: boolean;
  readonly #takesInput: boolean;
  readonly #hasTerminal: boolean;
  readonly #egress: EgressRecord | null;
  readonly #end = Promise.withResolvers<Execution>();
  #stdout = Buffer.alloc(0);
  #isEnding = false;
  #woken = Promise.withResolvers<void>();

  constructor(
    execution: Execution,
    {
      request,
      store,
      isAwaited,
      egress,
    }: {
      readonly request: ExecutionRequest;
      readonly store: Store;
      readonly isAwaited: boolean;
      readonly egress: EgressRecord | null;
    },
  ) {
    this.#egress = egress;
    this.execution = execution;
    this.ended = this.#end.promise;
    this.#store = store;
    this.#isAwaited = isAwaited;
    this.#takesInput = request.openInput || request.terminal !== null;
    this.#hasTerminal = request.terminal !== null;
    const { shell = "" } = request;
    if (shell.startsWith("echo ")) {
      this.#write(Buffer.from(`${shell.slice(5)}\n`));
      void this.#finish();
    } else if (shell === "cat") {
      this.#write(request.stdin);
      if (!this.#takesInput) void this.#finish();
    } else if (shell.startsWith("reach ")) void this.#finish();
  }

  get number(): number {
    return this.execution.number;
  }

  #write(bytes: Buffer): void {
    this.#stdout = Buffer.concat([this.#stdout, bytes]);
    this.#woken.resolve();
    this.#woken = Promise.withResolvers();
  }

  async #finish(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const outcome = buildOutcome({ execute: report({ stdout: this.#stdout }) });
    const execution: Execution = {
      ...this.execution,
      status: outcome.status,
      completedAtMs: Date.now(),
      outcome,
      processesLeft: 0,
      egress: this.#egress,
    };
    await this.#store.sandboxes.endExecution({ execution, drop: [] });
    this.execution = execution;
    this.#end.resolve(execution);
    this.#woken.resolve();
  }

  async *follow(from: { readonly stdout: number }, over: AbortSignal): AsyncGenerator<ExecutionEvent> {
    let at = from.stdout;
    const gone = new Promise<void>((resolve) => over.addEventListener("abort", () => resolve(), { once: true }));
    while (!over.aborted) {
      const woken = this.#woken.promise;
      const bytes = Buffer.from(this.#stdout.subarray(at));
      if (bytes.length > 0) {
        yield { type: "output", stream: "stdout", at, bytes };
        at += bytes.length;
        continue;
      }
      if (this.execution.completedAtMs !== null) {
        yield { type: "end", execution: this.execution };
        return;
      }
      await Promise.race([woken, gone, this.ended]);
    }
  }

  async input(bytes: Buffer): Promise<void> {
    if (this.#isEnding) throw new SandboxRefused("executionEnded");
    if (!this.#takesInput) throw new SandboxRefused("takesNoInput");
    this.#write(bytes);
  }

  async endInput(): Promise<void> {
    if (!this.#hasTerminal) await this.#finish();
  }

  async signal(name: SignalName): Promise<void> {
    this.#write(Buffer.from(`${name}\n`));
    if (name === "SIGTERM") await this.#finish();
  }

  async resize(rows: number, cols: number): Promise<void> {
    if (!this.#hasTerminal) throw new SandboxRefused("noTerminal");
    this.#write(Buffer.from(`${rows}x${cols}\n`));
  }

  async kill(): Promise<void> {
    await this.#finish();
  }

  async confirm(): Promise<void> {
    if (this.#isAwaited) await this.#store.sandboxes.confirm(this.execution);
  }
}

/** What an execution has reached that has connected to port 443 of these hosts, and sent 10 and received 100 bytes where its policy allowed that. */
function egressOf({ network: { version, network } }: Sandbox, hosts: readonly string[]): EgressRecord {
  const connections = hosts.map((name): ConnectionRecord => {
    const decision = decide(network, { name, port: 443 });
    const { isAllowed } = decision;
    return {
      at: new Date(0).toISOString(),
      name,
      address: isAllowed ? "203.0.113.7" : "198.18.0.1",
      port: 443,
      decision: isAllowed ? "allowed" : "denied",
      rule: decision.isAllowed ? decision.rule : null,
      reason: decision.isAllowed ? null : decision.reason,
      bytes_up: isAllowed ? 10 : 0,
      bytes_down: isAllowed ? 100 : 0,
      ended: isAllowed ? "client" : null,
    };
  });
  const allowed = connections.filter(({ decision }) => decision === "allowed").length;
  const denied = connections.length - allowed;
  const left = network === "none" ? { up: 0, down: 0 } : { up: network.bytesUp, down: network.bytesDown };
  return {
    policy_version: version,
    bytes_up: 10 * allowed,
    bytes_down: 100 * allowed,
    budget_left: { up: left.up - 10 * allowed, down: left.down - 100 * allowed },
    connections,
    more: [],
    denied,
    refused_names: denied > 0 ? [{ name: "refused.example", queries: 2 }] : [],
    dns: { answered: allowed, refused: denied },
    complete: true,
    source: "inet_diag cgroup id",
  };
}

/** Files by absolute path; every directory exists. */
function memoryFiles(): SandboxFiles {
  const files = new Map<string, { bytes: Buffer; mode: number; version: number }>();
  const watchers = new Set<(event: FileEvent) => void>();
  let version = 0;
  const absolute = (path: string) => (path.startsWith("/") ? path : `/home/user/${path}`);
  const stat = async (path: string): Promise<FileInfo> => {
    const at = absolute(path);
    const file = files.get(at);
    const base = { path: at, modifiedAtMs: Date.UTC(2026, 0, 1) };
    if (file) return { ...base, type: "file", bytes: file.bytes.length, mode: file.mode, etag: `e-${file.version}` };
    if (at.endsWith("/user") || [...files.keys()].some((one) => one.startsWith(`${at}/`)))
      return { ...base, type: "directory", bytes: 0, mode: 0o755, etag: "d" };
    throw new FileError("notFound", at);
  };
  const tell = (event: FileEvent) => {
    for (const watcher of watchers) watcher(event);
  };
  const collect = async (body: AsyncIterable<Buffer>) => {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  };
  return {
    stat,
    async list(path, after, most) {
      const names = [...files.keys()].filter((one) => one.startsWith(`${absolute(path)}/`)).sort();
      const from = after === null ? 0 : names.indexOf(after) + 1;
      const page = names.slice(from, from + most);
      const isLast = from + page.length >= names.length;
      return { entries: await Promise.all(page.map(stat)), next: isLast ? null : (page.at(-1) ?? null) };
    },
    async read(path, range) {
      const info = await stat(path);
      if (info.type === "directory") throw new FileError("isDirectory", info.path);
      const { bytes } = files.get(info.path) as { bytes: Buffer };
      const from = range === null ? 0 : "last" in range ? Math.max(0, bytes.length - range.last) : range.from;
      const until =
        range !== null && "to" in range && range.to !== null ? Math.min(range.to, bytes.length) : bytes.length;
      if (range !== null && from >= bytes.length) throw new FileError("badRange", info.path);
      const body = (async function* () {
        for (let at = from; at < until; at += 65_536) yield bytes.subarray(at, Math.min(at + 65_536, until));
      })();
      return { info, from, bytes: until - from, body };
    },
    async write(path, body, { mode, ifMatch, ifNoneMatch }) {
      const at = absolute(path);
      const before = files.get(at);
      const bytes = await collect(body);
      const isSame = (etag: string) => before !== undefined && (etag === "*" || etag === `e-${before.version}`);
      if (ifMatch !== undefined && !isSame(ifMatch)) throw new FileError("changed", at);
      if (ifNoneMatch !== undefined && isSame(ifNoneMatch)) throw new FileError("changed", at);
      files.set(at, { bytes, mode: mode ?? before?.mode ?? 0o644, version: ++version });
      tell({ type: before ? "changed" : "created", path: at });
      return await stat(at);
    },
    makeDirectory: async (path) => ({ ...(await stat("/home/user")), path: absolute(path) }),
    async move(from, to) {
      const file = files.get((await stat(from)).path);
      if (!file) throw new FileError("notFound", from);
      files.delete(absolute(from));
      files.set(absolute(to), file);
      tell({ type: "moved", path: absolute(to), from: absolute(from) });
      return await stat(to);
    },
    async remove(path, recursive) {
      const { path: at, type } = await stat(path);
      if (type === "directory" && !recursive) throw new FileError("notEmpty", at);
      for (const one of files.keys()) if (one === at || one.startsWith(`${at}/`)) files.delete(one);
      tell({ type: "removed", path: at });
    },
    async archive(path) {
      const info = await stat(path);
      return (async function* () {
        yield Buffer.from(`archive of ${info.path}`);
      })();
    },
    unpack: async (_path, body) => ({ files: 1, bytes: (await collect(body)).length }),
    async watch(path, _recursive, over) {
      await stat(path);
      const events: FileEvent[] = [];
      let woken = Promise.withResolvers<void>();
      const watcher = (event: FileEvent) => {
        events.push(event);
        woken.resolve();
      };
      watchers.add(watcher);
      over.addEventListener("abort", () => woken.resolve(), { once: true });
      return (async function* () {
        try {
          while (!over.aborted) {
            yield* events.splice(0);
            woken = Promise.withResolvers();
            if (!over.aborted && events.length === 0) await woken.promise;
          }
        } finally {
          watchers.delete(watcher);
        }
      })();
    },
  };
}
