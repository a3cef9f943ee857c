import { z } from "zod";
import type { EgressRecord } from "../../domain/egress/egress-record.ts";
import { notAllowed } from "../../domain/egress/policy.ts";
import { clientError } from "../../domain/error.ts";
import {
  EXECUTION_BOUNDS,
  EXECUTION_STATUSES,
  type Execution,
  SIGNAL_NAMES,
} from "../../domain/sandboxes/execution.ts";
import { FileError, type FileInfo, SANDBOX_HOME } from "../../domain/sandboxes/files.ts";
import type { RunningExecution, SandboxHandle } from "../../domain/sandboxes/host.ts";
import { SANDBOX_END_REASON_NAMES, SANDBOX_STATES, type Sandbox } from "../../domain/sandboxes/sandbox.ts";
import { toLongExecutionRecord, toSandboxRecord } from "../../domain/sandboxes/sandbox-record.ts";
import { SNAPSHOT_NAME_CHARACTERS, snapshotSchema, toSnapshotRecord } from "../../domain/sandboxes/snapshot.ts";
import { count, time, verdict } from "../api/fields.ts";
import { PAGE } from "../api/parameters.ts";
import { decodeBase64 } from "../api/program-options.ts";
import { createBody, executeBody } from "../api/sandboxes/bodies.ts";
import { outputBytes } from "../api/sandboxes/execution-events.ts";
import { whenEnded } from "../api/sandboxes/executions.ts";
import { checkAllowed, ofSandbox, refusing, useMeanwhile } from "../api/sandboxes/of-sandbox.ts";
import { checkMetadata, toExecutionRequest, toSandboxRequest, toSnapshotName } from "../api/sandboxes/requests.ts";
import { stored } from "../api/sandboxes/sandboxes.ts";
import {
  excerptOf,
  outputPage,
  output as outputSchema,
  outputsOf,
  PAGE_BYTES,
  SHOWN_BYTES,
  showPage,
  type ToolResult,
  textPage,
} from "./results.ts";
import { type Tool, type ToolCall, tool } from "./tool.ts";

/** The most entries of a directory in a result. */
const MAX_ENTRIES = 200;
/** The most sandboxes in a result. */
const MAX_SANDBOXES = 20;
/** The most hosts in a result that a policy has denied, and the longest reason. Programs have chosen the names. */
const MAX_DENIED = 20;
const MAX_REASON = 400;

const id = z.uuid().describe("Id of the sandbox, from sandbox_create or sandbox_list");
const number = z.int().min(1).describe("Number of the execution, from sandbox_run");
const path = z.string().describe(`Absolute, or relative to ${SANDBOX_HOME}`);
const fields = executeBody.shape;

const execution = z.strictObject({
  sandbox_id: z.uuid(),
  number: z.int().min(1).describe("Number of the execution in its sandbox, for sandbox_result"),
  status: z.enum(EXECUTION_STATUSES),
  verdict: verdict.nullable().describe("Null until the execution has ended"),
  why: z.string().describe("The reason for the verdict, or for its absence"),
  exit_code: z.int().nullable(),
  signal: z.int().nullable(),
  wall_time_secs: z.number().nullable(),
  cpu_time_secs: z.number().nullable(),
  memory_peak_bytes: count.nullable(),
  processes_left: count.nullable().describe("Processes that go on after the end of the main program"),
  denied_hosts: z
    .array(
      z.strictObject({
        host: z.string().describe("A name or an address"),
        port: z.int().nullable().describe("Null if the program only asked for the name"),
        reason: z.string(),
      }),
    )
    .max(MAX_DENIED)
    .nullable()
    .describe(
      `The first ${MAX_DENIED} hosts that the network policy of the sandbox did not let the program reach; null until it has ended, and without a network`,
    ),
  stdout: outputSchema.nullable().describe("Null until the execution has ended"),
  stderr: outputSchema.nullable(),
});
type ShownExecution = z.output<typeof execution>;

/** Calls a function of a sandbox that lives, with the rules of the routes of the API. @throws ClientError as these do. */
function within<T>(call: ToolCall, sandboxId: string, run: (handle: SandboxHandle) => Promise<T>): Promise<T> {
  return ofSandbox({ ...call, path: { id: sandboxId.toLowerCase() } }, call, run);
}

const create = tool({
  name: "sandbox_create",
  title: "Create a sandbox",
  description:
    "Creates a sandbox: a Linux machine with files and processes that stay from one sandbox_run to the next. Without `network`, it has no network; " +
    "with it, programs reach the hosts that its rules allow, as far as the operator permits that, and nothing else. Programs run " +
    "as a user without privileges, in /home/user. The sandbox ends by sandbox_end, after its lifetime, and when it is idle for long.",
  input: z.strictObject(createBody.shape),
  output: z.strictObject({
    sandbox_id: z.uuid(),
    state: z.enum(SANDBOX_STATES),
    expires_at: time.nullable().describe("When its lifetime is over"),
    idle_secs: count.describe("How long it lives without any use"),
  }),
  isReadOnly: false,
  isOfSandboxes: true,
  handler: async (given, call) => {
    const { caller, dependencies } = call;
    checkAllowed(caller, call);
    const wanted = await toSandboxRequest(given, caller, dependencies);
    const { id: made, ...record } = toSandboxRecord(
      await refusing(() => dependencies.sandboxes.create(wanted, caller, null)),
    );
    const { expires_at } = record.timestamps;
    const value = { sandbox_id: made, state: record.state, expires_at, idle_secs: record.idle_secs };
    const text = `Sandbox ${made} runs. It ends at ${expires_at}, or after ${record.idle_secs} s without use.`;
    return { value, texts: [text] };
  },
});

const listed = z.strictObject({
  sandbox_id: z.uuid(),
  state: z.enum(SANDBOX_STATES),
  end_reason: z.enum(SANDBOX_END_REASON_NAMES).nullable(),
  created_at: time,
  expires_at: time.nullable().describe("When its lifetime is over"),
  metadata: createBody.shape.metadata.unwrap(),
});

const list = tool({
  name: "sandbox_list",
  title: "List sandboxes",
  description: `Lists up to ${MAX_SANDBOXES} sandboxes of the account, newest first, also those that have ended: for instance those in the \`state\` running.`,
  input: z.strictObject({
    state: z.enum(SANDBOX_STATES).optional().describe("Lists only sandboxes in this state"),
    metadata: createBody.shape.metadata.describe("Lists only sandboxes with these names and values"),
    before: PAGE.before.schema.describe("`next` of the previous page"),
  }),
  output: z.strictObject({
    sandboxes: z.array(listed),
    next: z.string().nullable().describe("Null if there is nothing more"),
  }),
  isReadOnly: true,
  isOfSandboxes: true,
  handler: async ({ state, metadata = {}, before }, call) => {
    const { caller, dependencies } = call;
    checkAllowed(caller, call);
    const page = await dependencies.store.sandboxes.list(caller.accountId, {
      ...{ state, metadata: checkMetadata(metadata), max: MAX_SANDBOXES },
      before: before === undefined ? undefined : Number(before),
    });
    const sandboxes = page.sandboxes.map((one) => {
      const { id: sandbox_id, state: now, end_reason, timestamps, metadata: pairs } = toSandboxRecord(one);
      const { created_at, expires_at } = timestamps;
      return { sandbox_id, state: now, end_reason, created_at, expires_at, metadata: pairs };
    });
    // The metadata are texts of a client, so they are quoted, and in a text of their own.
    const lines = sandboxes.map(({ sandbox_id, state: now, end_reason, created_at, metadata: pairs }) =>
      [sandbox_id, now, ...(end_reason ? [end_reason] : []), created_at, JSON.stringify(pairs)].join("  "),
    );
    await call.admit(2 * lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0));
    const next = page.next === null ? null : String(page.next);
    const fact = `${sandboxes.length} sandboxes.${next === null ? "" : ` There is more: before "${next}".`}`;
    return { value: { sandboxes, next }, texts: [fact, ...(lines.length > 0 ? [lines.join("\n")] : [])] };
  },
});

const run = tool({
  name: "sandbox_run",
  title: "Execute in a sandbox",
  description:
    "Executes `shell` (a command for bash), `argv` (a program with its arguments) or `code` in a `language`, and returns the output, a verdict " +
    "(AC: exit code 0; RE, TLE, MLE, PLE, FSE, SIG: how it failed; IE: the platform failed) and the reason. Waits for the end up to half a " +
    "minute; if it has not ended by then, it goes on: call sandbox_result with its number. With `background`, it does not wait, and processes " +
    "that the program leaves, such as servers, go on.",
  input: z.strictObject({
    sandbox_id: id,
    shell: fields.shell,
    argv: fields.argv,
    code: fields.code,
    language: fields.language,
    stdin: fields.stdin,
    open_input: fields.open_input.describe(
      "Whether the input stays open after `stdin` for sandbox_input; together with `background`, because the call otherwise waits for the end",
    ),
    cwd: fields.cwd,
    env: fields.env,
    limits: fields.limits,
    background: z.boolean().describe("Whether the call returns at once, and processes that it leaves go on").optional(),
  }),
  output: execution,
  isReadOnly: false,
  isDestructive: true,
  isOfSandboxes: true,
  handler: async ({ sandbox_id, ...body }, call) =>
    await within(call, sandbox_id, async (handle) => {
      const { caller, dependencies, signal, onAccepted } = call;
      const wanted = toExecutionRequest(body, dependencies);
      const isAwaited = !wanted.background;
      const running = await handle.execute(wanted, { keyId: caller.keyId, isAwaited });
      onAccepted(`execution ${running.number}`);
      return await shown(running, call, isAwaited ? signal : AbortSignal.abort());
    }),
});

/** An execution when it has ended, or when the wait is over. */
async function shown(running: RunningExecution, call: ToolCall, over: AbortSignal) {
  const ended = await whenEnded(running, [over]);
  if (!ended) await running.confirm();
  return await showExecution(ended ?? running.execution, call);
}

async function showExecution(of: Execution, { admit, dependencies }: ToolCall): Promise<ToolResult<ShownExecution>> {
  const denied = of.egress && deniedBy(of.egress);
  const lines = (denied ?? []).map(({ host, port, reason }) => JSON.stringify([host, port, reason]));
  await admit(
    Math.min(outputBytes(of.outcome?.output), 2 * SHOWN_BYTES) +
      2 * lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0),
  );
  const { sandbox_id, number, status, result, metrics, output, processes_left } = toLongExecutionRecord(of);
  const more = (stream: string, offset: number) =>
    `sandbox_result with number ${number}, stream "${stream}", offset ${offset}`;
  const found = of.outcome?.result.verdict ?? null;
  const value: ShownExecution = {
    ...{ sandbox_id, number, status, verdict: found },
    why: found === null ? notEnded(of, dependencies.holdMs) : (result.error_message ?? whyPassed(of)),
    exit_code: result.exit_code,
    signal: result.signal,
    wall_time_secs: metrics.wall_time_secs,
    cpu_time_secs: metrics.cpu_time_secs,
    memory_peak_bytes: metrics.memory_peak_bytes,
    processes_left,
    denied_hosts: denied,
    stdout: excerptOf(output.stdout, SHOWN_BYTES, (offset) => more("stdout", offset)),
    stderr: excerptOf(output.stderr, SHOWN_BYTES, (offset) => more("stderr", offset)),
  };
  const facts = [
    `${value.verdict ?? value.status}: ${value.why}`,
    ...(value.wall_time_secs === null
      ? []
      : [`Wall time ${value.wall_time_secs} s, CPU time ${value.cpu_time_secs} s.`]),
    `Execution ${number} of sandbox ${sandbox_id}.`,
    ...(lines.length > 0 ? [`The network policy denied what the text after this lists, with the reasons.`] : []),
  ];
  // Programs have chosen the names. They are quoted, and in a text of their own, so that none can pass for a fact.
  const texts = [facts.join("\n"), ...(lines.length > 0 ? [lines.join("\n")] : []), ...outputsOf(value)];
  return { value, texts };
}

/** The hosts that a policy has denied, each once. */
function deniedBy({ connections, refused_names: names }: EgressRecord): NonNullable<ShownExecution["denied_hosts"]> {
  const denied = new Map<string, NonNullable<ShownExecution["denied_hosts"]>[number]>();
  const add = (host: string, port: number | null, reason: string) => {
    if (denied.size < MAX_DENIED && !denied.has(`${host} ${port}`))
      denied.set(`${host} ${port}`, { host, port, reason: reason.slice(0, MAX_REASON) });
  };
  for (const { name, address, port, decision, reason } of connections)
    if (decision === "denied") add(name ?? address ?? "", port, reason ?? "");
  for (const { name } of names) add(name, null, notAllowed(name));
  return [...denied.values()];
}

function notEnded({ background }: Execution, holdMs: number): string {
  if (background) return "It runs in the background: call sandbox_result with its number for its result.";
  return `It did not end within ${holdMs / 1000} s and continues: call sandbox_result with its number.`;
}

function whyPassed({ processesLeft }: Execution): string {
  return processesLeft
    ? `The program ended with exit code 0 and left ${processesLeft} processes.`
    : "The exit code is 0.";
}

const result = tool({
  name: "sandbox_result",
  title: "Get the result of an execution",
  description:
    "Returns the result of an execution by its number; waits for its end up to half a minute. With `stream` and `offset`, it returns a page of " +
    "an output that was too long. It also works after the end of the sandbox.",
  input: z.strictObject({
    sandbox_id: id,
    number,
    stream: z
      .enum(["stdout", "stderr"])
      .optional()
      .describe("Returns a page of this output of an ended execution instead"),
    offset: z.int().min(0).optional().describe("First byte of the page; 0 by default"),
  }),
  output: z.strictObject({ execution: execution.optional(), page: outputPage.optional() }),
  isReadOnly: true,
  isOfSandboxes: true,
  handler: async ({ sandbox_id, number, stream, offset }, call) => {
    if (stream === undefined && offset !== undefined)
      throw clientError("invalidRequest", ["stream", "is required with offset"]);
    const { caller, dependencies, signal, admit } = call;
    const { sandboxes } = dependencies.store;
    const known = await stored({ caller, path: { id: sandbox_id.toLowerCase() } }, call);
    const running =
      known.state === "ended" || stream !== undefined
        ? null
        : await dependencies.sandboxes.find(known.id, caller.accountId).then(
            async (handle) => {
              const execution = await handle.execution(number);
              if (execution) useMeanwhile(handle, call.reply);
              return execution;
            },
            () => null, // it has ended meanwhile, or another process has it: the store knows the execution
          );
    if (running) {
      const { value, texts } = await shown(running, call, signal);
      return { value: { execution: value }, texts };
    }
    const found = await sandboxes.execution(known.id, caller.accountId, number, admit);
    if (!found) throw clientError("executionNotFound", []);
    if (stream === undefined) {
      const { value, texts } = await showExecution(found, call);
      return { value: { execution: value }, texts };
    }
    if (!found.outcome) throw clientError("executionRuns", []);
    const bytes = found.outcome.output?.[stream] ?? Buffer.alloc(0);
    const { value, texts } = showPage(known.id, stream, bytes, offset ?? 0);
    return { value: { page: value }, texts };
  },
});

/** An execution that runs. @throws ClientError executionEnded, or executionNotFound. */
async function runningOf(handle: SandboxHandle, wanted: number, { caller, dependencies }: ToolCall) {
  const running = await handle.execution(wanted);
  if (running) return running;
  const { sandboxes } = dependencies.store;
  // Without its output, which would be read for nothing.
  const page = await sandboxes.executions(handle.sandbox.id, caller.accountId, { before: wanted + 1, max: 1 });
  throw clientError(page?.executions[0]?.number === wanted ? "executionEnded" : "executionNotFound", []);
}

const input = tool({
  name: "sandbox_input",
  title: "Give input to an execution",
  description: "Adds `text` to the standard input of an execution that was started with `open_input`.",
  input: z.strictObject({
    sandbox_id: id,
    number,
    text: z
      .string()
      .describe(`Up to ${EXECUTION_BOUNDS.inputBytes} bytes, with the end of the line if the program reads lines`)
      .optional(),
    end: z.boolean().describe("Whether the input ends after the text").optional(),
  }),
  output: z.strictObject({ sandbox_id: z.uuid(), number: z.int().min(1), bytes: count }),
  isReadOnly: false,
  isOfSandboxes: true,
  handler: async ({ sandbox_id, number: wanted, text = "", end: ends = false }, call) =>
    await within(call, sandbox_id, async (handle) => {
      if (text === "" && !ends) throw clientError("invalidRequest", ["the arguments", "must have text or end"]);
      const bytes = Buffer.from(text);
      if (bytes.length > EXECUTION_BOUNDS.inputBytes)
        throw clientError("invalidRequest", ["text", `more than ${EXECUTION_BOUNDS.inputBytes} bytes`]);
      const running = await runningOf(handle, wanted, call);
      if (bytes.length > 0) await running.input(bytes);
      if (ends) await running.endInput();
      const value = { sandbox_id: handle.sandbox.id, number: wanted, bytes: bytes.length };
      return {
        value,
        texts: [`Execution ${wanted} has ${bytes.length} bytes more.${ends ? " Its input has ended." : ""}`],
      };
    }),
});

const kill = tool({
  name: "sandbox_kill",
  title: "Kill an execution",
  description:
    "Kills all processes of an execution, and returns its result. The sandbox and its other executions go on. With `signal`, the main program gets that signal instead, and the call does not wait for its end.",
  input: z.strictObject({
    sandbox_id: id,
    number,
    signal: z.enum(SIGNAL_NAMES).optional().describe("A signal for the main program, such as SIGINT"),
  }),
  output: execution,
  isReadOnly: false,
  isDestructive: true,
  isOfSandboxes: true,
  handler: async ({ sandbox_id, number: wanted, signal }, call) =>
    await within(call, sandbox_id, async (handle) => {
      if (signal !== undefined) {
        const signalled = await runningOf(handle, wanted, call);
        await signalled.signal(signal);
        return await shown(signalled, call, AbortSignal.abort());
      }
      const running = await handle.execution(wanted);
      if (running) {
        await running.kill();
        return await showExecution(await running.ended, call);
      }
      const { caller, dependencies, admit } = call;
      const found = await dependencies.store.sandboxes.execution(handle.sandbox.id, caller.accountId, wanted, admit);
      if (!found) throw clientError("executionNotFound", []);
      return await showExecution(found, call);
    }),
});

/** A tool that stops or continues all programs of a sandbox. */
function halt(
  name: string,
  title: string,
  description: string,
  act: (handle: SandboxHandle) => Promise<Sandbox>,
): Tool {
  return tool({
    name,
    title,
    description,
    input: z.strictObject({ sandbox_id: id }),
    output: z.strictObject({ sandbox_id: z.uuid(), state: z.enum(SANDBOX_STATES) }),
    isReadOnly: false,
    isOfSandboxes: true,
    handler: async ({ sandbox_id }, call) =>
      await within(call, sandbox_id, async (handle) => {
        const { id: of, state } = await act(handle);
        return { value: { sandbox_id: of, state }, texts: [`Sandbox ${of} is ${state}.`] };
      }),
  });
}

const pause = halt(
  "sandbox_pause",
  "Pause a sandbox",
  "Freezes all programs of a sandbox. It takes neither executions nor files until sandbox_resume; its lifetime goes on.",
  (handle) => handle.pause(),
);
const resume = halt("sandbox_resume", "Resume a sandbox", "Continues all programs of a paused sandbox.", (handle) =>
  handle.resume(),
);

const snapshot = tool({
  name: "sandbox_snapshot",
  title: "Take a snapshot of a sandbox",
  description:
    "Stores the files of a sandbox. The snapshot outlives the sandbox, and sandbox_create begins a new one with these files (`from`). Processes are not stored.",
  input: z.strictObject({
    sandbox_id: id,
    name: z.string().describe(`A name for people, with 1 to ${SNAPSHOT_NAME_CHARACTERS} characters`).optional(),
  }),
  output: z.strictObject({
    snapshot_id: z.uuid(),
    ...snapshotSchema.pick({ bytes: true, files: true, created_at: true }).shape,
  }),
  isReadOnly: false,
  isOfSandboxes: true,
  handler: async ({ sandbox_id, name }, call) =>
    await within(call, sandbox_id, async (handle) => {
      const taken = await handle.snapshot(toSnapshotName({ name }), call.caller.keyId);
      const { id: snapshot_id, bytes, files, created_at } = toSnapshotRecord(taken);
      const text = `Snapshot ${snapshot_id} has ${files} files and ${bytes} bytes. sandbox_create begins with it: from "${snapshot_id}".`;
      return { value: { snapshot_id, bytes, files, created_at }, texts: [text] };
    }),
});

const file = z.strictObject({
  path: z.string(),
  type: z.string().describe("`file`, `directory`, `link` or `other`"),
  bytes: count,
});
const toFile = ({ path: at, type, bytes }: FileInfo) => ({ path: at, type, bytes });

const readFile = tool({
  name: "sandbox_read_file",
  title: "Read a file of a sandbox",
  description: `Returns up to ${SHOWN_BYTES} bytes of a text file, from \`offset\` on.`,
  input: z.strictObject({
    sandbox_id: id,
    path,
    offset: z.int().min(0).optional().describe("First byte of the part; 0 by default"),
  }),
  output: z.strictObject({
    path: z.string(),
    offset: count,
    text: z.string().describe("Invalid UTF-8 becomes U+FFFD"),
    bytes: count.describe("Size of the whole file"),
    next_offset: count.nullable().describe("Null at the end"),
  }),
  isReadOnly: true,
  isOfSandboxes: true,
  handler: async ({ sandbox_id, path: wanted, offset = 0 }, call) =>
    await within(call, sandbox_id, async ({ files }) => {
      await call.admit(SHOWN_BYTES);
      const { info, bytes } = await part(files, wanted, offset);
      const { text, next, title } = textPage(info.path, bytes, offset, info.bytes);
      return { value: { path: info.path, offset, text, bytes: info.bytes, next_offset: next }, texts: [title, text] };
    }),
});

/** A part of a file. An empty part at the end of a file is no error, because an empty file has no other one. */
async function part(files: SandboxHandle["files"], wanted: string, offset: number) {
  try {
    const { info, body } = await files.read(wanted, { from: offset, to: offset + PAGE_BYTES });
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(Buffer.from(chunk));
    return { info, bytes: Buffer.concat(chunks) };
  } catch (error) {
    if (!(error instanceof FileError) || error.code !== "badRange") throw error;
    const info = await files.stat(wanted, true);
    if (info.bytes !== offset) throw error;
    return { info, bytes: Buffer.alloc(0) };
  }
}

const writeFile = tool({
  name: "sandbox_write_file",
  title: "Write a file of a sandbox",
  description: "Replaces or creates a file with `text`, or with the bytes of `base64`. Missing directories are made.",
  input: z.strictObject({
    sandbox_id: id,
    path,
    text: z.string().describe("The whole content").optional(),
    base64: z.string().describe("The whole content in base64, instead of `text`").optional(),
    executable: z.boolean().describe("Whether programs may execute it").optional(),
  }),
  output: z.strictObject({ path: z.string(), bytes: count }),
  isReadOnly: false,
  isDestructive: true,
  isOfSandboxes: true,
  handler: async ({ sandbox_id, path: wanted, text, base64, executable }, call) =>
    await within(call, sandbox_id, async ({ files }) => {
      if ((text === undefined) === (base64 === undefined))
        throw clientError("invalidRequest", ["the arguments", "must have either text or base64"]);
      const bytes = base64 === undefined ? Buffer.from(text ?? "") : decodeBase64("base64", base64);
      const body = (async function* () {
        if (bytes.length > 0) yield bytes;
      })();
      const options = { createParents: true, ...(executable !== undefined && { mode: executable ? 0o755 : 0o644 }) };
      const info = await files.write(wanted, body, options);
      return { value: { path: info.path, bytes: info.bytes }, texts: [`${info.path}: ${info.bytes} bytes written.`] };
    }),
});

const listFiles = tool({
  name: "sandbox_list_files",
  title: "List a directory of a sandbox",
  description: `Lists up to ${MAX_ENTRIES} entries of a directory, by default ${SANDBOX_HOME}.`,
  input: z.strictObject({
    sandbox_id: id,
    path: path.optional(),
    after: z.string().optional().describe("`next` of the previous page"),
  }),
  output: z.strictObject({
    entries: z.array(file),
    next: z.string().nullable().describe("Null if there is nothing more"),
  }),
  isReadOnly: true,
  isOfSandboxes: true,
  handler: async ({ sandbox_id, path: wanted = SANDBOX_HOME, after }, call) =>
    await within(call, sandbox_id, async ({ files }) => {
      const { entries, next } = await files.list(wanted, after ?? null, MAX_ENTRIES);
      await call.admit(2 * entries.reduce((sum, { path: at }) => sum + Buffer.byteLength(at), 0));
      // Names can have line breaks. They are quoted, and in a text of their own, so that none can pass for a fact.
      const lines = entries.map(
        ({ path: at, type, bytes }) => `${JSON.stringify(at)}  ${type === "file" ? `${bytes} bytes` : type}`,
      );
      const fact = `${entries.length} entries.${next === null ? "" : ` There is more: after ${JSON.stringify(next)}.`}`;
      return {
        value: { entries: entries.map(toFile), next },
        texts: [fact, ...(lines.length > 0 ? [lines.join("\n")] : [])],
      };
    }),
});

const end = tool({
  name: "sandbox_end",
  title: "End a sandbox",
  description: "Kills all programs of a sandbox and removes its files. The results of its executions remain.",
  input: z.strictObject({ sandbox_id: id }),
  output: z.strictObject({
    sandbox_id: z.uuid(),
    end_reason: z.enum(SANDBOX_END_REASON_NAMES).nullable(),
    cleanup_verified: z.boolean().nullable().describe("Whether the kernel confirmed that nothing of it is left"),
  }),
  isReadOnly: false,
  isDestructive: true,
  isOfSandboxes: true,
  handler: async ({ sandbox_id }, call) => {
    const known = await stored({ caller: call.caller, path: { id: sandbox_id.toLowerCase() } }, call);
    const ended = known.state === "ended" ? known : await within(call, known.id, (handle) => handle.end());
    const { id: ofEnded, end_reason, evidence } = toSandboxRecord(ended);
    const { cleanup_verified } = evidence.teardown;
    const text = `Sandbox ${ofEnded} has ended: ${end_reason}. ${cleanup_verified ? "Nothing of it is left." : "Its removal was not verified."}`;
    return { value: { sandbox_id: ofEnded, end_reason, cleanup_verified }, texts: [text] };
  },
});

/** The tools for sandboxes. The state is in the service, and not in the connection of the assistant: each call names its sandbox. */
export const SANDBOX_TOOLS: readonly Tool[] = [
  create,
  list,
  run,
  result,
  input,
  kill,
  readFile,
  writeFile,
  listFiles,
  snapshot,
  pause,
  resume,
  end,
];
