import type { ExecutionEvent } from "./events.ts";
import { executionEvents } from "./events.ts";
import type { Call, Transport } from "./transport.ts";
import type {
  Execution,
  ExecutionRequest,
  ExecutionSignal,
  ExecutionState,
  Executions,
  ExecutionsQuery,
  FileInfo,
  Files,
  ListFilesQuery,
  NetworkOffer,
  NetworkPolicy,
  Sandbox,
  SandboxChange,
  SandboxEgressReport,
  Sandboxes,
  SandboxesQuery,
  SandboxMetrics,
  SandboxRequest,
  Snapshot,
  SnapshotRequest,
  Snapshots,
  SnapshotsQuery,
  TerminalSize,
  Unpacked,
} from "./types.ts";

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Bytes of a file. A Blob of `openAsBlob` and a stream are read while they are sent; a request with a stream is not repeated. */
export type FileContent = Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | string;

export interface WriteFileOptions extends CallOptions {
  /** Permissions as an octal number, such as `755`. */
  readonly mode?: string;
  /** Whether missing directories are made. */
  readonly parents?: boolean;
  /** The file is only replaced if it has this ETag; `*`: only if there is a file. */
  readonly ifMatch?: string;
  /** The file is only replaced if it has another ETag; `*`: only if there is no file. */
  readonly ifNoneMatch?: string;
}

const sandboxPath = (id: string) => `/api/sandboxes/${encodeURIComponent(id)}`;
const snapshotPath = (id: string) => `/api/snapshots/${encodeURIComponent(id)}`;
const executionPath = (id: string, number: number) => `${sandboxPath(id)}/executions/${number}`;
const tagged = (etag: string) => (etag === "*" ? etag : `"${etag}"`);

/** The calls for sandboxes: boxes whose files and processes stay between executions. The key must allow the profile `agent`. */
export abstract class SandboxCalls {
  protected abstract readonly transport: Transport;

  /** Creates a sandbox. If one was created before with the same idempotency key, returns that sandbox. */
  async createSandbox(
    request: SandboxRequest = {},
    { signal, idempotencyKey = crypto.randomUUID() }: CallOptions & { readonly idempotencyKey?: string } = {},
  ): Promise<Sandbox> {
    const headers = { "Idempotency-Key": idempotencyKey };
    return await this.#json({
      method: "POST",
      path: "/api/sandboxes",
      body: request,
      headers,
      signal,
      isRepeatable: true,
    });
  }

  /** @returns a sandbox, also after its end. */
  async sandbox(id: string, { signal }: CallOptions = {}): Promise<Sandbox> {
    return await this.#json({ method: "GET", path: sandboxPath(id), signal, isRepeatable: true });
  }

  /** @returns a page of sandboxes, newest first. */
  async sandboxes(query: SandboxesQuery = {}, { signal }: CallOptions = {}): Promise<Sandboxes> {
    return await this.#json({ method: "GET", path: "/api/sandboxes", query: { ...query }, signal, isRepeatable: true });
  }

  /** Changes the lifetime, the idle time or the metadata of a sandbox. */
  async changeSandbox(id: string, change: SandboxChange, { signal }: CallOptions = {}): Promise<Sandbox> {
    return await this.#json({ method: "PATCH", path: sandboxPath(id), body: change, signal, isRepeatable: true });
  }

  /** Freezes all programs of a sandbox. */
  async pauseSandbox(id: string, { signal }: CallOptions = {}): Promise<Sandbox> {
    return await this.#json({ method: "POST", path: `${sandboxPath(id)}/pause`, signal, isRepeatable: true });
  }

  /** Continues all programs of a paused sandbox. */
  async resumeSandbox(id: string, { signal }: CallOptions = {}): Promise<Sandbox> {
    return await this.#json({ method: "POST", path: `${sandboxPath(id)}/resume`, signal, isRepeatable: true });
  }

  /**
   * Stores the files of a sandbox, of which new sandboxes can be made (`from` of `createSandbox`). This request is not repeated.
   * @returns the record of the snapshot, which is durable.
   */
  async takeSnapshot(id: string, request: SnapshotRequest = {}, { signal }: CallOptions = {}): Promise<Snapshot> {
    const path = `${sandboxPath(id)}/snapshots`;
    return await this.#json({ method: "POST", path, body: request, signal, isRepeatable: false });
  }

  /** @returns a page of snapshots, newest first. */
  async snapshots(query: SnapshotsQuery = {}, { signal }: CallOptions = {}): Promise<Snapshots> {
    return await this.#json({ method: "GET", path: "/api/snapshots", query: { ...query }, signal, isRepeatable: true });
  }

  /** @returns the record of a snapshot. */
  async snapshot(id: string, { signal }: CallOptions = {}): Promise<Snapshot> {
    return await this.#json({ method: "GET", path: snapshotPath(id), signal, isRepeatable: true });
  }

  /** Deletes a snapshot. Sandboxes that began with it keep their files. @returns its last record. */
  async deleteSnapshot(id: string, { signal }: CallOptions = {}): Promise<Snapshot> {
    return await this.#json({ method: "DELETE", path: snapshotPath(id), signal, isRepeatable: true });
  }

  /** @returns what a sandbox uses now, with `samples` also what it used over its life. */
  async sandboxMetrics(
    id: string,
    { samples = false, signal }: CallOptions & { readonly samples?: boolean } = {},
  ): Promise<SandboxMetrics> {
    const query = { samples: String(samples) };
    return await this.#json({ method: "GET", path: `${sandboxPath(id)}/metrics`, query, signal, isRepeatable: true });
  }

  /** @returns what sandboxes of the key may reach over the network at most. */
  async networkOffer({ signal }: CallOptions = {}): Promise<NetworkOffer> {
    return await this.#json({ method: "GET", path: "/api/network", signal, isRepeatable: true });
  }

  /** Replaces what the programs of a sandbox may reach. Connections that the new policy does not allow are ended. */
  async replaceNetwork(id: string, policy: NetworkPolicy, { signal }: CallOptions = {}): Promise<Sandbox> {
    const path = `${sandboxPath(id)}/network`;
    return await this.#json({ method: "PUT", path, body: policy, signal, isRepeatable: true });
  }

  /** @returns what a sandbox has reached over the network, or tried to, also after its end. */
  async sandboxEgress(id: string, { signal }: CallOptions = {}): Promise<SandboxEgressReport> {
    return await this.#json({ method: "GET", path: `${sandboxPath(id)}/egress`, signal, isRepeatable: true });
  }

  /** Ends a sandbox, with all of its programs and files. @returns its record, with the evidence of its removal. */
  async endSandbox(id: string, { signal }: CallOptions = {}): Promise<Sandbox> {
    return await this.#json({ method: "DELETE", path: sandboxPath(id), signal, isRepeatable: true });
  }

  /**
   * Executes a program, a shell command or code, and waits for its end. The request that starts it is not repeated.
   * @returns its record, also if the program failed: see `result.verdict` and `result.exit_code`.
   */
  async execute(id: string, request: ExecutionRequest, options: CallOptions = {}): Promise<Execution> {
    const begun = await this.startExecution(id, { ...request }, { ...options, wait: true });
    return begun.status === "running" ? await this.waitForExecution(id, begun.number, options) : begun;
  }

  /** Starts an execution without waiting for its end. This request is not repeated. */
  async startExecution(
    id: string,
    request: ExecutionRequest,
    {
      signal,
      wait = false,
    }: CallOptions & { /** Whether the service waits up to 30 s for the end. */ readonly wait?: boolean } = {},
  ): Promise<Execution> {
    const query = { wait: String(wait) };
    const path = `${sandboxPath(id)}/executions`;
    return await this.#json({ method: "POST", path, query, body: request, signal, isRepeatable: false });
  }

  /** Waits for the end of an execution. @returns its record. */
  async waitForExecution(id: string, number: number, { signal }: CallOptions = {}): Promise<Execution> {
    for (;;) {
      const path = executionPath(id, number);
      const now = await this.#json<Execution>({
        method: "GET",
        path,
        query: { wait: "true" },
        signal,
        isRepeatable: true,
      });
      if (now.status !== "running") return now;
    }
  }

  /** @returns the present record of an execution. */
  async execution(id: string, number: number, { signal }: CallOptions = {}): Promise<Execution> {
    return await this.#json({ method: "GET", path: executionPath(id, number), signal, isRepeatable: true });
  }

  /** @returns a page of executions, newest first. */
  async executions(id: string, query: ExecutionsQuery = {}, { signal }: CallOptions = {}): Promise<Executions> {
    const path = `${sandboxPath(id)}/executions`;
    return await this.#json({ method: "GET", path, query: { ...query }, signal, isRepeatable: true });
  }

  /** @returns the output of an execution as it comes, and then its end. */
  executionEvents(
    id: string,
    number: number,
    { signal }: CallOptions = {},
  ): AsyncGenerator<ExecutionEvent, void, undefined> {
    return executionEvents(this.transport, `${executionPath(id, number)}/events`, signal);
  }

  /** @returns the standard output of an execution that has ended, whose bytes need not be text. */
  async executionStdout(id: string, number: number, { signal }: CallOptions = {}): Promise<Uint8Array> {
    return await this.transport.bytes({
      method: "GET",
      path: `${executionPath(id, number)}/stdout`,
      signal,
      isRepeatable: true,
    });
  }

  /** @returns the standard error of an execution that has ended, whose bytes need not be text. */
  async executionStderr(id: string, number: number, { signal }: CallOptions = {}): Promise<Uint8Array> {
    return await this.transport.bytes({
      method: "GET",
      path: `${executionPath(id, number)}/stderr`,
      signal,
      isRepeatable: true,
    });
  }

  /** Sends input to an execution with `open_input` or a terminal. This request is not repeated. */
  async sendExecutionInput(
    id: string,
    number: number,
    input: FileContent,
    { signal, end = false }: CallOptions & { readonly end?: boolean } = {},
  ): Promise<ExecutionState> {
    const path = `${executionPath(id, number)}/input`;
    return await this.#json({
      method: "POST",
      path,
      query: { end: String(end) },
      raw: input,
      signal,
      isRepeatable: false,
    });
  }

  /** Sends a signal to the main program of an execution. This request is not repeated. */
  async signalExecution(
    id: string,
    number: number,
    name: ExecutionSignal["signal"],
    { signal }: CallOptions = {},
  ): Promise<ExecutionState> {
    const path = `${executionPath(id, number)}/signal`;
    return await this.#json({ method: "POST", path, body: { signal: name }, signal, isRepeatable: false });
  }

  /** Changes the size of the terminal of an execution. */
  async resizeTerminal(
    id: string,
    number: number,
    size: TerminalSize,
    { signal }: CallOptions = {},
  ): Promise<ExecutionState> {
    return await this.#json({
      method: "PUT",
      path: `${executionPath(id, number)}/terminal`,
      body: size,
      signal,
      isRepeatable: true,
    });
  }

  /** Kills all processes of an execution. @returns its record. */
  async killExecution(id: string, number: number, { signal }: CallOptions = {}): Promise<Execution> {
    return await this.#json({ method: "DELETE", path: executionPath(id, number), signal, isRepeatable: true });
  }

  /** @returns the bytes of a file. */
  async readFile(id: string, path: string, { signal }: CallOptions = {}): Promise<Uint8Array> {
    return await this.transport.bytes({ ...this.#file("GET", id, "", { path }), signal, isRepeatable: true });
  }

  /** @returns the bytes of a file as a stream. @param options its signal also ends the stream. */
  async openFile(id: string, path: string, { signal }: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return await this.transport.open(
      { ...this.#file("GET", id, "", { path }), isRepeatable: true },
      signal ?? new AbortController().signal,
    );
  }

  /** Replaces or creates a file. Programs see its old or its new content, never a part. */
  async writeFile(id: string, path: string, content: FileContent, options: WriteFileOptions = {}): Promise<FileInfo> {
    const { signal, mode, parents = false, ifMatch, ifNoneMatch } = options;
    const headers = {
      ...(ifMatch !== undefined && { "If-Match": tagged(ifMatch) }),
      ...(ifNoneMatch !== undefined && { "If-None-Match": tagged(ifNoneMatch) }),
    };
    const isRepeatable = !(content instanceof ReadableStream);
    const call = this.#file("PUT", id, "", { path, mode, parents: String(parents) });
    return await this.#json({
      ...call,
      raw: content,
      headers,
      signal,
      isRepeatable: isRepeatable && ifMatch === undefined && ifNoneMatch === undefined,
    });
  }

  /** @returns what a file, directory or link is. */
  async fileInfo(id: string, path: string, { signal }: CallOptions = {}): Promise<FileInfo> {
    return await this.#json({ ...this.#file("GET", id, "/info", { path }), signal, isRepeatable: true });
  }

  /** @returns a page of the entries of a directory. */
  async listFiles(id: string, query: ListFilesQuery = {}, { signal }: CallOptions = {}): Promise<Files> {
    return await this.#json({ ...this.#file("GET", id, "/list", { ...query }), signal, isRepeatable: true });
  }

  /** Makes a directory, and missing ones above it. */
  async makeDirectory(id: string, path: string, { signal }: CallOptions = {}): Promise<FileInfo> {
    return await this.#json({ ...this.#file("POST", id, "/directories"), body: { path }, signal, isRepeatable: true });
  }

  /** Renames a file, directory or link. This request is not repeated. */
  async moveFile(id: string, path: string, to: string, { signal }: CallOptions = {}): Promise<FileInfo> {
    return await this.#json({ ...this.#file("POST", id, "/move"), body: { path, to }, signal, isRepeatable: false });
  }

  /** Removes a file, a link or an empty directory; with `recursive`, also a directory with content. This request is not repeated. */
  async removeFile(
    id: string,
    path: string,
    { signal, recursive = false }: CallOptions & { readonly recursive?: boolean } = {},
  ): Promise<void> {
    await this.#json({
      ...this.#file("DELETE", id, "", { path, recursive: String(recursive) }),
      signal,
      isRepeatable: false,
    });
  }

  /** @returns a tar archive of what is in a directory, as a stream. @param options its signal also ends the stream. */
  async readArchive(id: string, path: string, { signal }: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const call = { ...this.#file("GET", id, "/archive", { path }), isRepeatable: true };
    return await this.transport.open(call, signal ?? new AbortController().signal);
  }

  /** Unpacks a tar archive into a directory. */
  async writeArchive(id: string, path: string, archive: FileContent, { signal }: CallOptions = {}): Promise<Unpacked> {
    return await this.#json({
      ...this.#file("PUT", id, "/archive", { path }),
      raw: archive,
      signal,
      isRepeatable: !(archive instanceof ReadableStream),
    });
  }

  #file(
    method: Call["method"],
    id: string,
    part: string,
    query: Call["query"] = {},
  ): Pick<Call, "method" | "path" | "query"> {
    return { method, path: `${sandboxPath(id)}/files${part}`, query };
  }

  async #json<T>(call: Call): Promise<T> {
    return await this.transport.json<T>(call);
  }
}
