import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxEgressRecord } from "../domain/egress/egress-record.ts";
import { hasNetwork, type NetworkPolicy } from "../domain/egress/policy.ts";
import { internalError } from "../domain/outcome.ts";
import type { Execution, ExecutionRequest, SignalName } from "../domain/sandboxes/execution.ts";
import type { FileContent, SandboxFiles } from "../domain/sandboxes/files.ts";
import type {
  ExecuteOptions,
  ExecutionEvent,
  RunningExecution,
  SandboxChange,
  SandboxHandle,
} from "../domain/sandboxes/host.ts";
import { type Sandbox, type SandboxRefusalCode, SandboxRefused } from "../domain/sandboxes/sandbox.ts";
import type { Snapshot } from "../domain/sandboxes/snapshot.ts";
import type { UsageSample } from "../domain/sandboxes/usage.ts";
import type { Store } from "../store/store.ts";
import type { CallAnswer, CallOptions, LinkClient } from "./client.ts";
import { RemoteFailure } from "./failures.ts";
import { CutOff, ProtocolViolation } from "./messages.ts";
import type { ArgsOf, MethodName, ResultOf } from "./methods.ts";

/** A use that lasts longer than this is told to the process of the sandbox by a call of its own. No sandbox is idle sooner than in 1 s. */
const LONG_USE_MS = 400;
/** The shortest and the longest pause before a lost link is tried again. */
const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [200, 2_000];
/** The most output of one stream of a program without a terminal. Limits of executions are lower. */
const MOST_OUTPUT = 2 * 1_048_576;

export interface RemoteOptions {
  readonly store: Pick<Store, "sandboxes">;
  /** The link to the process that has the sandbox; null while there is none. */
  readonly client: (worker: string) => LinkClient | null;
  /** The ends of executions that are waited for, which all requests of this process share. */
  readonly ends: Map<string, Promise<Execution>>;
  /** Aborted when this process stops. */
  readonly stopping: AbortSignal;
}

/** Whether an error says that the link was lost. */
function isLost(error: unknown): boolean {
  return error instanceof CutOff || error instanceof ProtocolViolation;
}

/**
 * Calls a method for a sandbox of another process.
 * @throws SandboxRefused sandboxUnreachable if the link is lost, or if that process does not have the sandbox any more.
 */
export async function callRemote<Name extends MethodName>(
  { client }: Pick<RemoteOptions, "client">,
  sandbox: Pick<Sandbox, "id" | "accountId" | "worker">,
  name: Name,
  args: ArgsOf<Name>,
  options: CallOptions & { readonly uses?: boolean } = {},
): Promise<CallAnswer<Name>> {
  const link = client(sandbox.worker);
  if (!link) throw new SandboxRefused("sandboxUnreachable");
  const { id, accountId } = sandbox;
  try {
    return await link.call(name, { id, accountId, uses: options.uses ?? false }, args, options);
  } catch (error) {
    // A sandbox that has moved to another process lives on: the next request finds it there.
    const isAway = isLost(error) || SandboxRefused.is(error, "sandboxElsewhere");
    throw isAway ? new SandboxRefused("sandboxUnreachable") : error;
  }
}

/** The sandbox that another process answered with, if it is the one that was asked for. */
export function sameSandbox(answered: Sandbox, asked: Pick<Sandbox, "id" | "accountId" | "worker">): Sandbox {
  const { id, accountId, worker } = asked;
  if (answered.id !== id || answered.accountId !== accountId || answered.worker !== worker)
    throw new RemoteFailure("the other process answered about another sandbox");
  return answered;
}

/** A sandbox of another process. */
export class RemoteSandbox implements SandboxHandle {
  readonly files: SandboxFiles;
  readonly #options: RemoteOptions;
  #sandbox: Sandbox;
  #users = 0;
  /** Whether a call has told the process of the sandbox about the present use. */
  #isTold = false;
  #longUse: NodeJS.Timeout | undefined;
  #used: AbortController | null = null;

  constructor(sandbox: Sandbox, options: RemoteOptions) {
    this.#sandbox = sandbox;
    this.#options = options;
    this.files = remoteFiles((name, args, more) => this.call(name, args, more));
  }

  get sandbox(): Sandbox {
    return this.#sandbox;
  }

  get options(): RemoteOptions {
    return this.#options;
  }

  call<Name extends MethodName>(name: Name, args: ArgsOf<Name>, options?: CallOptions): Promise<CallAnswer<Name>> {
    const uses = this.#users > 0;
    this.#isTold ||= uses;
    return callRemote(this.#options, this.#sandbox, name, args, { ...options, uses });
  }

  use(): () => void {
    if (this.#users++ === 0) {
      this.#isTold = false;
      this.#longUse = setTimeout(() => this.#tell(), LONG_USE_MS);
      this.#longUse.unref();
    }
    let isUsing = true;
    return () => {
      if (!isUsing) return;
      isUsing = false;
      if (--this.#users > 0) return;
      clearTimeout(this.#longUse);
      if (!this.#isTold) this.#tell();
      this.#used?.abort();
      this.#used = null;
    };
  }

  /** Tells the process of the sandbox about the use, until it ends. A use that ends at once is told as well. */
  #tell(): void {
    const used = new AbortController();
    this.#used = used;
    this.#isTold = true;
    void callRemote(this.#options, this.#sandbox, "use", {})
      .then(async ({ items }) => {
        used.signal.addEventListener("abort", () => void items.return?.(), { once: true });
        if (used.signal.aborted) await items.return?.();
        else await items.next();
      })
      .catch(() => {}); // the link is lost, or the sandbox has ended
  }

  async execute(request: ExecutionRequest, options: ExecuteOptions = {}): Promise<RunningExecution> {
    const { result } = await this.call("execute", { request, options });
    return new RemoteExecution(result, this);
  }

  async execution(number: number): Promise<RunningExecution | null> {
    const { result } = await this.call("execution", { number });
    return result && new RemoteExecution(result, this, number);
  }

  pause(): Promise<Sandbox> {
    return this.#change("pause", {});
  }

  resume(): Promise<Sandbox> {
    return this.#change("resume", {});
  }

  change(change: SandboxChange): Promise<Sandbox> {
    return this.#change("change", change);
  }

  async replaceNetwork(policy: NetworkPolicy): Promise<Sandbox> {
    if (!hasNetwork(this.#sandbox.network) && policy !== "none") throw new SandboxRefused("sandboxWithoutNetwork");
    return await this.#change("replaceNetwork", { policy });
  }

  async egress(): Promise<SandboxEgressRecord | null> {
    return hasNetwork(this.#sandbox.network) ? (await this.call("egress", {})).result : null;
  }

  end(): Promise<Sandbox> {
    return this.#change("end", {});
  }

  async measure() {
    return (await this.call("measure", {})).result;
  }

  async usage(): Promise<readonly UsageSample[]> {
    return (await this.call("usage", {})).result;
  }

  async snapshot(name: string | null, keyId: string): Promise<Snapshot> {
    const { result } = await this.call("snapshot", { name, keyId });
    const { id, accountId, projectId } = this.#sandbox;
    const asked = { accountId, projectId, sandboxId: id, name, keyId };
    for (const [field, value] of Object.entries(asked))
      if (result[field as keyof typeof asked] !== value)
        throw new RemoteFailure("the other process answered about another snapshot");
    return result;
  }

  async #change<Name extends "pause" | "resume" | "change" | "replaceNetwork" | "end">(
    name: Name,
    args: ArgsOf<Name>,
  ): Promise<Sandbox> {
    const { result } = await this.call(name, args);
    this.#sandbox = sameSandbox(result as Sandbox, this.#sandbox);
    return this.#sandbox;
  }
}

/** An execution in a sandbox of another process. */
class RemoteExecution implements RunningExecution {
  readonly number: number;
  readonly #remote: RemoteSandbox;
  #execution: Execution;

  /** @param number the one that was asked for. */
  constructor(execution: Execution, remote: RemoteSandbox, number = execution.number) {
    this.number = number;
    this.#remote = remote;
    this.#execution = this.#own(execution);
  }

  get execution(): Execution {
    return this.#execution;
  }

  /** Waits only when somebody asks. All who ask share one call. */
  get ended(): Promise<Execution> {
    const { ends } = this.#remote.options;
    const key = `${this.#remote.sandbox.id} ${this.number}`;
    const known = ends.get(key);
    const ended = known ?? this.#untilEnded().finally(() => ends.delete(key));
    if (!known) ends.set(key, ended);
    return ended.then((execution) => {
      this.#execution = execution;
      return execution;
    });
  }

  async *follow(
    from: { readonly stdout: number; readonly stderr: number },
    over: AbortSignal,
  ): AsyncGenerator<ExecutionEvent, void, undefined> {
    const at = { stdout: from.stdout, stderr: from.stderr };
    for (let pauseMs = LEAST_PAUSE_MS; !over.aborted; pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
      try {
        const { items } = await this.#remote.call("follow", { number: this.number, ...at }, { over });
        for await (const event of items) {
          yield this.#checked(event, at);
          if (event.type === "end") return;
          pauseMs = LEAST_PAUSE_MS;
        }
      } catch (error) {
        if (!over.aborted && !isLost(error) && !hasMoved(error)) throw error;
      }
      if (over.aborted) return;
      // The link was lost, or the execution ended before it was asked for.
      const ended = await this.#stored();
      if (ended) {
        yield* restOf(ended, at);
        yield { type: "end", execution: ended };
        return;
      }
      await this.#pause(pauseMs, over);
    }
  }

  async input(bytes: Buffer): Promise<void> {
    await this.#remote.call("input", { number: this.number }, { upload: [bytes] });
  }

  async endInput(): Promise<void> {
    await this.#remote.call("endInput", { number: this.number });
  }

  async signal(name: SignalName): Promise<void> {
    await this.#remote.call("signal", { number: this.number, name });
  }

  async resize(rows: number, cols: number): Promise<void> {
    await this.#remote.call("resize", { number: this.number, rows, cols });
  }

  async kill(): Promise<void> {
    await this.#remote.call("kill", { number: this.number });
  }

  async confirm(): Promise<void> {
    try {
      await this.#remote.call("confirm", { number: this.number });
    } catch (error) {
      // Its end is stored, and with it that it existed.
      if (!SandboxRefused.is(error, "executionEnded")) throw error;
    }
  }

  /** What the other process says of this execution. @throws if it is about another one. */
  #own(execution: Execution): Execution {
    const { id, accountId } = this.#remote.sandbox;
    if (execution.sandboxId !== id || execution.accountId !== accountId || execution.number !== this.number)
      throw new RemoteFailure("the other process answered about another execution");
    return execution;
  }

  /** An event, if it continues the stream. @param at how far the streams were read; is changed. */
  #checked(event: ExecutionEvent, at: { stdout: number; stderr: number }): ExecutionEvent {
    if (event.type === "end") {
      this.#execution = this.#own(event.execution);
      return { type: "end", execution: this.#execution };
    }
    const end = event.at + event.bytes.length;
    const most = this.#execution.hasTerminal ? Number.MAX_SAFE_INTEGER : MOST_OUTPUT;
    if (event.at < at[event.stream] || event.bytes.length === 0 || end > most)
      throw new RemoteFailure("the other process sent output that cannot be");
    at[event.stream] = end;
    return event;
  }

  /** The end of the execution: from its process, or when that is lost, from the database. */
  async #untilEnded(): Promise<Execution> {
    const { stopping } = this.#remote.options;
    for (let pauseMs = LEAST_PAUSE_MS; !stopping.aborted; pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
      try {
        const { result } = await this.#remote.call("ended", { number: this.number }, { over: stopping });
        if (result.status !== "running") return this.#own(result);
      } catch {
        // It has ended, or the link is lost: the database knows more.
      }
      const stored = await this.#stored().catch(() => null); // the database is away
      if (stored) return stored;
      await this.#pause(pauseMs, stopping);
    }
    // Nobody waits any more: all requests of a process that stops have ended.
    return await new Promise<never>(() => {});
  }

  /** The end of the execution in the database; null while it runs. */
  async #stored(): Promise<Execution | null> {
    const { id, accountId } = this.#remote.sandbox;
    const stored = await this.#remote.options.store.sandboxes.execution(id, accountId, this.number);
    if (stored) return stored.status === "running" ? null : stored;
    // It ended, and its row was deleted, because later ones have more output than the store keeps.
    const outcome = internalError("the execution ended, and its record is not stored any more");
    return { ...this.#execution, status: "error", completedAtMs: Date.now(), outcome };
  }

  /** Waits, but not longer than until the sandbox ends. */
  async #pause(ms: number, over: AbortSignal): Promise<void> {
    const { store } = this.#remote.options;
    const woken = new AbortController();
    const unsubscribe = store.sandboxes.onSandbox(this.#remote.sandbox.id, () => woken.abort());
    try {
      await sleep(ms, undefined, { signal: AbortSignal.any([woken.signal, over]), ref: false });
    } catch {
      // Woken.
    } finally {
      unsubscribe();
    }
  }
}

const MOVED: readonly SandboxRefusalCode[] = [
  "sandboxUnreachable",
  "sandboxMoving",
  "executionEnded",
  "sandboxEnded",
  "sandboxNotFound",
];

/** Whether the execution may have gone on or ended although it was refused. */
function hasMoved(error: unknown): boolean {
  return error instanceof SandboxRefused && MOVED.includes(error.code);
}

/** The output of an ended execution that a reader does not have yet. */
function* restOf(
  { outcome }: Execution,
  at: { readonly stdout: number; readonly stderr: number },
): Generator<ExecutionEvent> {
  for (const stream of ["stdout", "stderr"] as const) {
    const bytes = outcome?.output?.[stream].subarray(at[stream]);
    if (bytes && bytes.length > 0) yield { type: "output", stream, at: at[stream], bytes };
  }
}

type Ask = <Name extends MethodName>(
  name: Name,
  args: ArgsOf<Name>,
  options?: CallOptions,
) => Promise<CallAnswer<Name>>;

/** The files of a sandbox of another process. */
function remoteFiles(ask: Ask): SandboxFiles {
  const result = async <Name extends MethodName>(name: Name, args: ArgsOf<Name>, options?: CallOptions) =>
    (await ask(name, args, options)).result as ResultOf<Name>;
  return {
    stat: (path, follow = true) => result("stat", { path, follow }),
    async list(path, after, most) {
      const { entries, next } = await result("list", { path, after, most });
      if (entries.length > most) throw new RemoteFailure("the other process sent too long a list");
      return { entries, next };
    },
    async read(path, range): Promise<FileContent> {
      const { result: head, items } = await ask("read", { path, range });
      return { ...head, body: exactly(reachable(items), head.bytes) };
    },
    write: (path, body, options) => result("write", { path, options }, { upload: body }),
    makeDirectory: (path) => result("makeDirectory", { path }),
    move: (from, to) => result("move", { from, to }),
    async remove(path, recursive) {
      await result("remove", { path, recursive });
    },
    archive: async (path) => reachable((await ask("archive", { path })).items),
    unpack: (path, body) => result("unpack", { path }, { upload: body }),
    watch: async (path, recursive, over) => reachable((await ask("watch", { path, recursive }, { over })).items),
  };
}

/** The items, which end with sandboxUnreachable if the link is lost. */
function reachable<T>(items: AsyncIterableIterator<T>): AsyncIterableIterator<T> {
  const iterator: AsyncIterableIterator<T> = {
    async next() {
      try {
        return await items.next();
      } catch (error) {
        throw isLost(error) ? new SandboxRefused("sandboxUnreachable") : error;
      }
    },
    return: async (value) => (await items.return?.(value)) ?? { done: true, value },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

/** The bytes, which must be as many as was said. */
function exactly(items: AsyncIterableIterator<Buffer>, bytes: number): AsyncIterableIterator<Buffer> {
  let left = bytes;
  const iterator: AsyncIterableIterator<Buffer> = {
    async next() {
      const next = await items.next();
      if (!next.done) left -= next.value.length;
      if (left < 0 || (next.done && left > 0)) {
        await items.return?.();
        throw new RemoteFailure("the other process sent another number of bytes than it said");
      }
      return next;
    },
    return: async () => {
      await items.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}
