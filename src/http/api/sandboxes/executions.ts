import { z } from "zod";
import { clientError, type ErrorCode } from "../../../domain/error.ts";
import type { Execution, SignalName } from "../../../domain/sandboxes/execution.ts";
import type { RunningExecution } from "../../../domain/sandboxes/host.ts";
import { SandboxRefused } from "../../../domain/sandboxes/sandbox.ts";
import { toLongExecutionRecord } from "../../../domain/sandboxes/sandbox-record.ts";
import { countRequests } from "../../access/rate-limit.ts";
import { streamedBody } from "../../body/streamed-body.ts";
import { disconnected } from "../../responses/client-disconnect.ts";
import { StreamBudget } from "../../responses/stream-budget.ts";
import { type Call, route, type Services } from "../../route.ts";
import { EXECUTION_NUMBER, PAGE, pageOf, SANDBOX_ID } from "../parameters.ts";
import { sendBytes } from "../result.ts";
import {
  actedBody,
  EXECUTION_EVENTS,
  executeBody,
  executionBody,
  executionsBody,
  signalBody,
  terminalBody,
  toActed,
  toSummary,
} from "./bodies.ts";
import {
  endedExecution,
  type Followed,
  type Position,
  readPosition,
  recordBytes,
  runningExecution,
  sendExecution,
} from "./execution-events.ts";
import { checkAllowed, ofSandbox, refusing, useMeanwhile } from "./of-sandbox.ts";
import { SANDBOX_ERRORS } from "./refused.ts";
import { checked, EXECUTE_ERRORS, toExecutionRequest } from "./requests.ts";
import { stored } from "./sandboxes.ts";

/** The most streams of executions that an account can have open at once. */
const MAX_FOLLOWED = 64;
/** The most JSON values of a request for an execution, which can have many arguments and variables. */
const MAX_VALUES = 2_048;

const PATH = { id: SANDBOX_ID, number: EXECUTION_NUMBER } as const;
type OfExecution = Call<{ readonly id: string; readonly number: number }>;

const offset = (stream: string) => ({
  description: `The output of ${stream} begins at this byte`,
  schema: z
    .codec(z.string().regex(/^\d{1,15}$/, "must be a number of bytes"), z.int().min(0), {
      decode: Number,
      encode: String,
    })
    .default(0),
});
export const OFFSETS = { stdout: offset("stdout"), stderr: offset("stderr") } as const;

const IS_TRUE = (description: string) => ({ description, schema: z.enum(["true", "false"]).default("false") }) as const;

export const execute = route({
  id: "execute",
  method: "post",
  path: "/api/sandboxes/{id}/executions",
  summary: "Execute a program in a sandbox",
  description:
    "Starts a program, a shell command, or code in a language, and responds when it has ended, or after 30 s. With `background`, `terminal` or " +
    "`wait=false`, the response does not wait. The end of an execution that was answered with 201, unless it has a terminal, is a message for webhooks. With `Accept: text/event-stream`, it is the stream of events that `GET …/events` has. The execution " +
    "continues if the client disconnects. This request must not be repeated blindly, because each starts an execution.",
  parameters: {
    path: { id: SANDBOX_ID },
    query: {
      wait: {
        description: "With `false`, the response is sent when the program has started",
        schema: z.enum(["true", "false"]).default("true"),
      },
    },
  },
  body: executeBody,
  successes: {
    200: {
      description:
        "The execution, which has ended; or, if the request asks for a stream, its events from the beginning",
      body: executionBody,
      events: EXECUTION_EVENTS,
      location: true,
    },
    201: { description: "The execution, which runs", body: executionBody, location: true },
  },
  errors: [...SANDBOX_ERRORS, ...EXECUTE_ERRORS, "sandboxPaused", "sandboxQuota", "executionsFull", "tooManyWatched"],
  config: { ofSandbox: true, rechecksKey: true, values: MAX_VALUES },
  handler: (services) => async (call) => {
    const { request, reply, caller, query } = call;
    return await ofSandbox(call, services, async (handle) => {
      const wanted = toExecutionRequest(request.body, services.dependencies);
      request.forgetBody?.();
      const streams = /\btext\/event-stream\b/.test(request.headers.accept ?? "");
      const isAwaited = !streams && !wanted.background && wanted.terminal === null;
      const waits = isAwaited && query.wait === "true";
      // Its end is a message for each endpoint of the project, and the limit of the key bounds these. Those that were awaited for 30 s are few anyway.
      if (wanted.background || (isAwaited && !waits && caller.projectId !== null))
        await countRequests(caller, services.dependencies);
      if (streams) followedBy(services).open(caller.accountId, reply);
      // The key is checked again when the execution is stored.
      const running = await handle.execute(wanted, { keyId: caller.keyId, isAwaited });
      reply.header("location", `/api/sandboxes/${handle.sandbox.id}/executions/${running.number}`);
      if (streams) return sendExecution(services, request, reply, runningExecution(running), { stdout: 0, stderr: 0 });
      const ended = waits ? await endOf(running, call, services) : null;
      // A client that has left gets no response, so that no message follows either: otherwise it could cause any number of them.
      if (!ended && !disconnected(reply).aborted) await running.confirm();
      reply.code(ended ? 200 : 201);
      return await send(ended ?? running.execution, call, services);
    });
  },
});

const budgets = new WeakMap<Services, StreamBudget>();

/** The numbers of open streams of executions, which all routes of a server share. */
function followedBy(services: Services): StreamBudget {
  const budget = budgets.get(services) ?? new StreamBudget(MAX_FOLLOWED);
  budgets.set(services, budget);
  return budget;
}

/** Waits for the end of an execution. @returns null if the wait was over before. */
async function endOf(
  running: RunningExecution,
  { reply }: Pick<Call, "reply">,
  { dependencies, stopping }: Services,
): Promise<Execution | null> {
  return await whenEnded(running, [disconnected(reply), stopping], dependencies.holdMs);
}

/** Waits for the end of an execution until one of the signals aborts, or for so long. @returns null if the wait was over before. */
export async function whenEnded(
  running: RunningExecution,
  signals: readonly AbortSignal[],
  ms?: number,
): Promise<Execution | null> {
  const over = Promise.withResolvers<null>();
  const stop = () => over.resolve(null);
  // Without AbortSignal.any(), whose signals cost more than the rest of this function: every short command passes here.
  const timer = ms === undefined ? undefined : setTimeout(stop, ms).unref();
  if (signals.some(({ aborted }) => aborted)) stop();
  for (const signal of signals) signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([running.ended, over.promise]);
  } finally {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener("abort", stop);
  }
}

async function send(execution: Execution, { request, reply, owner }: Call, { answers }: Services) {
  await answers.admitFor(owner, request, reply)(recordBytes(execution));
  return await answers.send(owner, reply, toLongExecutionRecord(execution));
}

export const executions = route({
  id: "executions",
  method: "get",
  path: "/api/sandboxes/{id}/executions",
  summary: "List executions",
  description: "Lists the executions of a sandbox, newest first. The store has the last 1,000.",
  parameters: { path: { id: SANDBOX_ID }, query: PAGE },
  successes: { 200: { description: "A page of executions", body: executionsBody } },
  errors: ["profileForbidden", "sandboxesOff", "noRoom"],
  config: { ofSandbox: "costly" },
  handler: (services) => async (call) => {
    const { caller, path, query, owner, reply } = call;
    checkAllowed(caller, services);
    const { before, max } = pageOf(query);
    const page = await services.dependencies.store.sandboxes.executions(path.id, caller.accountId, { before, max });
    if (!page) throw clientError("sandboxNotFound", []);
    const listed = { executions: page.executions.map(toSummary), next: page.next === null ? null : String(page.next) };
    return await services.answers.send(owner, reply, listed);
  },
});

export const execution = route({
  id: "execution",
  method: "get",
  path: "/api/sandboxes/{id}/executions/{number}",
  summary: "Get an execution",
  description: "Returns an execution, also after the end of its sandbox.",
  parameters: {
    path: PATH,
    query: { wait: IS_TRUE("With `true`, the response is sent when the execution has ended, or after 30 s") },
  },
  successes: { 200: { description: "The execution", body: executionBody } },
  errors: ["profileForbidden", "sandboxesOff", "sandboxUnreachable", "noRoom"],
  config: { ofSandbox: true },
  handler: (services) => async (call) => {
    if (call.query.wait === "true") {
      const running = await runningOne(call, services);
      const ended = running && (await endOf(running, call, services));
      if (ended) return await send(ended, call, services);
    }
    return await sendStored(call, services);
  },
});

/** The execution of a call, if it runs in a process that can be asked. The call is then a use of the sandbox. */
async function runningOne(call: OfExecution, services: Services): Promise<RunningExecution | null> {
  const { caller, path, reply } = call;
  checkAllowed(caller, services);
  try {
    const handle = await services.dependencies.sandboxes.find(path.id, caller.accountId);
    useMeanwhile(handle, reply);
    return await handle.execution(path.number);
  } catch (error) {
    if (SandboxRefused.is(error, "sandboxEnded") || SandboxRefused.is(error, "sandboxElsewhere")) return null;
    return await refusing(() => Promise.reject(error));
  }
}

/** Sends an execution of the store. */
async function sendStored(call: OfExecution, services: Services) {
  const found = await storedExecution(call, services);
  return await services.answers.send(call.owner, call.reply, toLongExecutionRecord(found));
}

/**
 * An execution of the store. Memory for its output is reserved, before that is read, until the response has been sent.
 * @throws ClientError sandboxNotFound, executionNotFound or noRoom.
 */
async function storedExecution(call: OfExecution, services: Services): Promise<Execution> {
  const { request, reply, owner, path } = call;
  const { id, accountId } = await stored(call, services);
  const admit = services.answers.admitFor(owner, request, reply);
  const found = await services.dependencies.store.sandboxes.execution(id, accountId, path.number, admit);
  if (!found) throw clientError("executionNotFound", []);
  return found;
}

/** An execution for a reader. @throws ClientError sandboxElsewhere if it runs in a process without a link. */
export async function followedExecution(call: OfExecution, services: Services): Promise<Followed> {
  const running = await runningOne(call, services);
  if (running) return runningExecution(running);
  const found = await storedExecution(call, services);
  if (found.status === "running") throw clientError("sandboxElsewhere", []);
  return endedExecution(found);
}

export const executionEvents = route({
  id: "executionEvents",
  method: "get",
  path: "/api/sandboxes/{id}/executions/{number}/events",
  summary: "Follow an execution",
  description:
    "Sends server-sent events: `start`; `stdout` and `stderr` with the output (`{at, text}`, with the position `at` in bytes), from the given positions " +
    "or after `Last-Event-ID`; and `ended` with the execution. A terminal keeps only the last output: `at` then jumps.",
  parameters: {
    path: PATH,
    query: OFFSETS,
    headers: {
      "Last-Event-ID": {
        description: "Id of the last event that the client received",
        schema: z.string().optional(),
        refuse: null,
      },
    },
  },
  successes: { 200: { description: "The events of the execution", events: EXECUTION_EVENTS } },
  errors: ["profileForbidden", "sandboxesOff", "sandboxElsewhere", "sandboxUnreachable", "tooManyWatched", "noRoom"],
  config: { ofSandbox: true },
  handler: (services) => async (call) => {
    const { request, reply, caller, query, headers } = call;
    const followed = await followedExecution(call, services);
    followedBy(services).open(caller.accountId, reply);
    const from: Position = readPosition(headers["Last-Event-ID"]) ?? query;
    return sendExecution(services, request, reply, followed, from);
  },
});

export const executionStdout = outputRoute("stdout");
export const executionStderr = outputRoute("stderr");

function outputRoute(stream: keyof Position) {
  return route({
    id: stream === "stdout" ? "executionStdout" : "executionStderr",
    method: "get",
    path: `/api/sandboxes/{id}/executions/{number}/${stream}`,
    summary: `Read the bytes of ${stream} of an execution`,
    description:
      "Returns the bytes as the program wrote them, up to the output limit, when the execution has ended. A request with `Range` gets a part of them, with " +
      "status 206.",
    parameters: { path: PATH },
    successes: {
      200: { description: "All captured bytes", media: "application/octet-stream" },
      206: { description: "The requested range", media: "application/octet-stream" },
    },
    errors: ["profileForbidden", "sandboxesOff", "executionRuns", "rangeOutside", "noRoom"],
    config: { ofSandbox: true },
    handler: (services) => async (call) => {
      const { status, outcome } = await storedExecution(call, services);
      if (status === "running") throw clientError("executionRuns", []);
      const bytes = outcome?.output?.[stream] ?? Buffer.alloc(0);
      return sendBytes(services.answers, call.request, call.reply, bytes);
    },
  });
}

/** The errors of every request that acts on an execution that runs. */
const ACT_ERRORS = [...SANDBOX_ERRORS, "executionEnded", "sandboxPaused"] as const satisfies readonly ErrorCode[];

/** Acts on an execution that runs. @throws ClientError executionEnded, or one of `act`. */
async function act(
  call: OfExecution,
  services: Services,
  run: (running: RunningExecution) => Promise<unknown>,
): Promise<z.output<typeof actedBody>> {
  return await ofSandbox(call, services, async (handle) => {
    const running = await handle.execution(call.path.number);
    if (!running) {
      const { caller, path } = call;
      const { store } = services.dependencies;
      // Without its output, which would be read for nothing.
      const page = await store.sandboxes.executions(path.id, caller.accountId, { before: path.number + 1, max: 1 });
      throw clientError(page?.executions[0]?.number === path.number ? "executionEnded" : "executionNotFound", []);
    }
    await run(running);
    return toActed(running.execution);
  });
}

export const executionInput = route({
  id: "executionInput",
  method: "post",
  path: "/api/sandboxes/{id}/executions/{number}/input",
  summary: "Send input to an execution",
  description:
    "Adds the body as it is to the standard input of a program that was started with `open_input` or `terminal`. The body is passed on while it arrives, as " +
    "fast as the program reads. A repeated request adds the bytes again.",
  parameters: {
    path: PATH,
    query: { end: IS_TRUE("With `true`, the input ends after these bytes. The input of a terminal has no end") },
  },
  body: { media: "application/octet-stream" },
  successes: { 200: { description: "The program has the input", body: actedBody } },
  errors: [...ACT_ERRORS, "executionTakesNoInput", "inputWaiting"],
  config: { ofSandbox: true, streams: true },
  handler: (services) => async (call) =>
    await act(call, services, async (running) => {
      for await (const chunk of streamedBody(call.request, services.answers.eventLoop)) await running.input(chunk);
      if (call.query.end === "true") await running.endInput();
    }),
});

export const executionSignal = route({
  id: "executionSignal",
  method: "post",
  path: "/api/sandboxes/{id}/executions/{number}/signal",
  summary: "Send a signal to an execution",
  description: "Sends a signal to the main program. If the signal ends the program, the verdict is SIG.",
  parameters: { path: PATH },
  body: signalBody,
  successes: { 200: { description: "The signal is sent", body: actedBody } },
  errors: [...ACT_ERRORS, "bodyNotObject"],
  config: { ofSandbox: true },
  handler: (services) => async (call) =>
    await act(call, services, (running) =>
      running.signal(checked(signalBody, call.request.body).signal satisfies SignalName),
    ),
});

export const resizeTerminal = route({
  id: "resizeTerminal",
  method: "put",
  path: "/api/sandboxes/{id}/executions/{number}/terminal",
  summary: "Resize a terminal",
  description: "Changes the size of the terminal of an execution, whose programs get SIGWINCH.",
  parameters: { path: PATH },
  body: terminalBody,
  successes: { 200: { description: "The size is changed", body: actedBody } },
  errors: [...ACT_ERRORS, "bodyNotObject", "noTerminal"],
  config: { ofSandbox: true },
  handler: (services) => async (call) =>
    await act(call, services, async (running) => {
      const { rows, cols } = checked(terminalBody, call.request.body);
      await running.resize(rows, cols);
    }),
});

export const killExecution = route({
  id: "killExecution",
  method: "delete",
  path: "/api/sandboxes/{id}/executions/{number}",
  summary: "Kill an execution",
  description:
    "Kills all processes of an execution. The sandbox and its other executions go on. An execution that has ended does not change.",
  parameters: { path: PATH },
  successes: { 200: { description: "The execution, which has ended", body: executionBody } },
  errors: [...SANDBOX_ERRORS, "noRoom"],
  config: { ofSandbox: true, bodyless: true },
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async (handle) => {
      const running = await handle.execution(call.path.number);
      if (!running) return await sendStored(call, services);
      await running.kill();
      return await send(await running.ended, call, services);
    }),
});
