import { z } from "zod";
import { EXECUTION_BOUNDS, type EXECUTION_SIGNALS, SIGNAL_NAMES } from "../domain/sandboxes/execution.ts";
import { MAX_LIST_ENTRIES } from "../domain/sandboxes/files.ts";
import type { RunningExecution, SandboxHandle, SandboxHost } from "../domain/sandboxes/host.ts";
import { type Sandbox, SandboxRefused } from "../domain/sandboxes/sandbox.ts";
import {
  count,
  env,
  executeOptions,
  execution,
  executionEvent,
  executionRequest,
  fileEvent,
  fileInfo,
  fileRange,
  id,
  measurement,
  networkPolicy,
  path,
  sandbox,
  sandboxChange,
  sandboxEgress,
  snapshot,
  snapshotName,
  terminalSize,
  usageSamples,
  writeOptions,
} from "./values.ts";

/*
 * The methods of links. Both sides derive from this table: what a call sends, what it gets, and what the process that has the sandbox does
 * for it. A new method is a row here, and a method of the remote sandbox (remote-sandbox.ts) that calls it.
 */

/** What a process offers over its links. */
export interface LinkedHost extends Pick<SandboxHost, "find" | "removeSnapshot"> {
  /**
   * Gives a sandbox that this process has claimed what it needs to start: the variables of its environment, which are not in the database.
   * It resolves when the sandbox runs. @throws SandboxRefused: sandboxNotFound, if the process has not claimed it; with a snapshot, as `create` of SandboxHost.
   */
  begin(id: string, accountId: string, env: Readonly<Record<string, string>>): Promise<Sandbox>;
}

/** The bytes of an upload, or none. */
type Upload = AsyncIterable<Buffer>;

interface Call<Args> {
  readonly host: LinkedHost;
  readonly id: string;
  readonly accountId: string;
  readonly args: Args;
  readonly upload: Upload;
  /** Aborted when the caller does not want the answer any more. */
  readonly over: AbortSignal;
}

/** What the process that has the sandbox answers: a result, and with `items`, what follows it. */
interface Answer<Result, Item> {
  readonly result: Result;
  readonly items?: AsyncIterable<Item>;
}

export interface Method<Args extends z.ZodType, Result extends z.ZodType, Item extends z.ZodType> {
  readonly args: Args;
  readonly result: Result;
  /** What follows the result; BYTES: bytes without any form. Absent: nothing. */
  readonly items?: Item;
  /** Whether the caller sends bytes after the arguments. */
  readonly uploads?: true;
  /** How long the caller waits for the result, in milliseconds; null: as long as the link lives. */
  readonly deadlineMs: number | null;
  /** The longest JSON of the arguments, of the result and of an item. */
  readonly most?: { readonly args?: number; readonly result?: number; readonly item?: number };
  run(call: Call<z.output<Args>>): Promise<Answer<z.output<Result>, z.output<Item>>>;
}

function method<Args extends z.ZodType, Result extends z.ZodType, Item extends z.ZodType = z.ZodNever>(
  row: Method<Args, Result, Item>,
): Method<Args, Result, Item> {
  return row;
}

/** Items that are bytes without any form. */
export const BYTES = z.instanceof(Buffer);
/** The longest JSON where a method says nothing else. */
export const VALUE_BYTES = 131_072;
const MIB = 1_048_576;
/** A character can take six bytes in JSON. */
const ESCAPED = 6;
/** What was reached over the network: all lists full, with the longest names. */
const EGRESS_BYTES = 4 * MIB;
/** An execution with both outputs as Base64, its evidence, and what it reached over the network. */
const ENDED_BYTES = 6 * MIB + EGRESS_BYTES;
const SOON_MS = 20_000;
/** For what waits for programs, which can be slow or many. */
const PATIENT_MS = 60_000;
/** For what writes or reads all files of a sandbox: longer than the process of the sandbox takes for that at most. */
const ALL_FILES_MS = 180_000;

const none = z.object({});
const done = z.null();
const DONE = { result: null } as const;
const number = z.int().min(1);
const ofExecution = z.object({ number });

const handleOf = ({ host, id, accountId }: Call<unknown>): Promise<SandboxHandle> => host.find(id, accountId);

async function runningOf(call: Call<{ readonly number: number }>): Promise<RunningExecution> {
  const running = await (await handleOf(call)).execution(call.args.number);
  if (!running) throw new SandboxRefused("executionEnded");
  return running;
}

/** A method that changes the sandbox, or reads it, and answers with it. */
const onSandbox = (run: (handle: SandboxHandle) => Promise<Sandbox> | Sandbox, deadlineMs = SOON_MS) =>
  method({
    args: none,
    result: sandbox,
    deadlineMs,
    run: async (call) => ({ result: await run(await handleOf(call)) }),
  });

export const METHODS = {
  begin: method({
    args: z.object({ env }),
    result: sandbox,
    // Without a snapshot, the caller waits for less (linked-sandboxes.ts).
    deadlineMs: ALL_FILES_MS,
    most: { args: ESCAPED * 65_536 },
    run: async ({ host, id, accountId, args }) => ({ result: await host.begin(id, accountId, args.env) }),
  }),
  find: onSandbox((handle) => handle.sandbox),
  /** Uses the sandbox as long as the call lasts. */
  use: method({
    args: none,
    result: done,
    items: z.never(),
    deadlineMs: SOON_MS,
    run: async (call) => {
      const end = (await handleOf(call)).use();
      return { ...DONE, items: untilOver(call.over, end) };
    },
  }),
  pause: onSandbox((handle) => handle.pause(), PATIENT_MS),
  resume: onSandbox((handle) => handle.resume(), PATIENT_MS),
  end: onSandbox((handle) => handle.end(), PATIENT_MS),
  change: method({
    args: sandboxChange,
    result: sandbox,
    deadlineMs: SOON_MS,
    run: async (call) => ({ result: await (await handleOf(call)).change(call.args) }),
  }),
  measure: method({
    args: none,
    result: measurement,
    deadlineMs: SOON_MS,
    run: async (call) => ({ result: await (await handleOf(call)).measure() }),
  }),
  usage: method({
    args: none,
    result: usageSamples,
    deadlineMs: SOON_MS,
    run: async (call) => ({ result: await (await handleOf(call)).usage() }),
  }),
  replaceNetwork: method({
    args: z.object({ policy: networkPolicy }),
    result: sandbox,
    deadlineMs: SOON_MS,
    run: async (call) => ({ result: await (await handleOf(call)).replaceNetwork(call.args.policy) }),
  }),
  egress: method({
    args: none,
    result: sandboxEgress,
    deadlineMs: SOON_MS,
    most: { result: EGRESS_BYTES },
    run: async (call) => ({ result: await (await handleOf(call)).egress() }),
  }),
  snapshot: method({
    args: z.object({ name: snapshotName, keyId: id }),
    result: snapshot,
    deadlineMs: ALL_FILES_MS,
    run: async (call) => ({ result: await (await handleOf(call)).snapshot(call.args.name, call.args.keyId) }),
  }),
  /** Removes a snapshot, whose id is in the place of that of a sandbox. */
  removeSnapshot: method({
    args: none,
    result: snapshot,
    deadlineMs: SOON_MS,
    run: async ({ host, id: snapshotId, accountId }) => ({ result: await host.removeSnapshot(snapshotId, accountId) }),
  }),
  execute: method({
    args: z.object({ request: executionRequest, options: executeOptions }),
    result: execution,
    deadlineMs: PATIENT_MS,
    // The input and the code as Base64; the command and the environment.
    most: { args: 4 * MIB, result: VALUE_BYTES },
    run: async (call) => {
      const { request, options } = call.args;
      const running = await (await handleOf(call)).execute(request, options);
      // It can have ended already, and then its end comes with `ended`.
      return { result: withoutOutcome(running.execution) };
    },
  }),
  execution: method({
    args: ofExecution,
    result: execution.nullable(),
    deadlineMs: SOON_MS,
    run: async (call) => {
      const running = await (await handleOf(call)).execution(call.args.number);
      return { result: running && withoutOutcome(running.execution) };
    },
  }),
  /** When it is durable that the execution exists. One that is not known any more has its end in the database. */
  confirm: onExecution((running) => running.confirm()),
  /** The execution when it has ended. */
  ended: method({
    args: ofExecution,
    result: execution,
    deadlineMs: null,
    most: { result: ENDED_BYTES },
    run: async (call) => ({ result: await (await runningOf(call)).ended }),
  }),
  follow: method({
    args: z.object({ number, stdout: count, stderr: count }),
    result: done,
    items: executionEvent,
    deadlineMs: SOON_MS,
    most: { item: ENDED_BYTES },
    run: async (call) => {
      const { stdout, stderr } = call.args;
      return { ...DONE, items: (await runningOf(call)).follow({ stdout, stderr }, call.over) };
    },
  }),
  /** Gives the bytes of the upload as input, piece by piece. */
  input: method({
    args: ofExecution,
    result: done,
    uploads: true,
    deadlineMs: null,
    run: async (call) => {
      const running = await runningOf(call);
      const pieces: Buffer[] = [];
      let bytes = 0;
      for await (const piece of call.upload) {
        bytes += piece.length;
        if (bytes > EXECUTION_BOUNDS.inputBytes)
          throw new SandboxRefused("inputFull", { bytes: EXECUTION_BOUNDS.inputBytes });
        pieces.push(piece);
      }
      await running.input(pieces.length === 1 && pieces[0] ? Buffer.from(pieces[0]) : Buffer.concat(pieces));
      return DONE;
    },
  }),
  endInput: onExecution((running) => running.endInput()),
  signal: method({
    args: z.object({ number, name: z.enum(SIGNAL_NAMES as unknown as [keyof typeof EXECUTION_SIGNALS]) }),
    result: done,
    deadlineMs: SOON_MS,
    run: async (call) => {
      await (await runningOf(call)).signal(call.args.name);
      return DONE;
    },
  }),
  resize: method({
    args: z.object({ number, ...terminalSize }),
    result: done,
    deadlineMs: SOON_MS,
    run: async (call) => {
      await (await runningOf(call)).resize(call.args.rows, call.args.cols);
      return DONE;
    },
  }),
  kill: onExecution((running) => running.kill()),
  stat: method({
    args: z.object({ path, follow: z.boolean() }),
    result: fileInfo,
    deadlineMs: PATIENT_MS,
    run: async (call) => ({ result: await (await handleOf(call)).files.stat(call.args.path, call.args.follow) }),
  }),
  list: method({
    args: z.object({ path, after: path.nullable(), most: z.int().min(1).max(MAX_LIST_ENTRIES) }),
    result: z.object({ entries: z.array(fileInfo).max(MAX_LIST_ENTRIES), next: path.nullable() }),
    deadlineMs: PATIENT_MS,
    most: { result: 32 * MIB },
    run: async (call) => {
      const { path: directory, after, most } = call.args;
      const { entries, next } = await (await handleOf(call)).files.list(directory, after, most);
      return { result: { entries: [...entries], next } };
    },
  }),
  read: method({
    args: z.object({ path, range: fileRange }),
    result: z.object({ info: fileInfo, from: count, bytes: count }),
    items: BYTES,
    deadlineMs: PATIENT_MS,
    run: async (call) => {
      const { info, from, bytes, body } = await (await handleOf(call)).files.read(call.args.path, call.args.range);
      return { result: { info, from, bytes }, items: body };
    },
  }),
  write: method({
    args: z.object({ path, options: writeOptions }),
    result: fileInfo,
    uploads: true,
    deadlineMs: null,
    run: async (call) => {
      const { path: file, options } = call.args;
      return { result: await (await handleOf(call)).files.write(file, call.upload, options) };
    },
  }),
  makeDirectory: method({
    args: z.object({ path }),
    result: fileInfo,
    deadlineMs: PATIENT_MS,
    run: async (call) => ({ result: await (await handleOf(call)).files.makeDirectory(call.args.path) }),
  }),
  move: method({
    args: z.object({ from: path, to: path }),
    result: fileInfo,
    deadlineMs: PATIENT_MS,
    run: async (call) => ({ result: await (await handleOf(call)).files.move(call.args.from, call.args.to) }),
  }),
  remove: method({
    args: z.object({ path, recursive: z.boolean() }),
    result: done,
    deadlineMs: null,
    run: async (call) => {
      await (await handleOf(call)).files.remove(call.args.path, call.args.recursive);
      return DONE;
    },
  }),
  archive: method({
    args: z.object({ path }),
    result: done,
    items: BYTES,
    deadlineMs: PATIENT_MS,
    run: async (call) => ({ ...DONE, items: await (await handleOf(call)).files.archive(call.args.path) }),
  }),
  unpack: method({
    args: z.object({ path }),
    result: z.object({ files: count, bytes: count }),
    uploads: true,
    deadlineMs: null,
    run: async (call) => {
      const { files, bytes } = await (await handleOf(call)).files.unpack(call.args.path, call.upload);
      return { result: { files, bytes } };
    },
  }),
  watch: method({
    args: z.object({ path, recursive: z.boolean() }),
    result: done,
    items: fileEvent,
    deadlineMs: PATIENT_MS,
    run: async (call) => {
      const { path: directory, recursive } = call.args;
      return { ...DONE, items: await (await handleOf(call)).files.watch(directory, recursive, call.over) };
    },
  }),
} as const;

export type MethodName = keyof typeof METHODS;
export type ArgsOf<Name extends MethodName> = z.output<(typeof METHODS)[Name]["args"]>;
export type ResultOf<Name extends MethodName> = z.output<(typeof METHODS)[Name]["result"]>;
export type ItemOf<Name extends MethodName> =
  (typeof METHODS)[Name] extends Method<z.ZodType, z.ZodType, infer Item> ? z.output<Item> : never;

/** A method of an execution without arguments or result. */
function onExecution(run: (running: RunningExecution) => Promise<void>) {
  return method({
    args: ofExecution,
    result: done,
    deadlineMs: PATIENT_MS,
    run: async (call) => {
      await run(await runningOf(call));
      return DONE;
    },
  });
}

function withoutOutcome(known: RunningExecution["execution"]): RunningExecution["execution"] {
  return { ...known, status: "running", completedAtMs: null, outcome: null, processesLeft: null, egress: null };
}

/** Nothing, until the signal. @param end is called then. */
async function* untilOver(over: AbortSignal, end: () => void): AsyncGenerator<never, void, undefined> {
  try {
    if (over.aborted) return;
    await new Promise<void>((resolve) => over.addEventListener("abort", () => resolve(), { once: true }));
  } finally {
    end();
  }
}
