import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { abortAfter } from "../../domain/abort-after.ts";
import { egressSchema } from "../../domain/egress/egress-record.ts";
import { networkPolicySchema, toNetworkJson } from "../../domain/egress/policy.ts";
import { clientError } from "../../domain/error.ts";
import { MAX_COMPILE_OUTPUT_BYTES, type Outcome } from "../../domain/outcome.ts";
import { toLongRecord } from "../../domain/record.ts";
import { isTerminal, type Submission } from "../../domain/submission.ts";
import { isStillValid } from "../access/auth.ts";
import { ownerOf } from "../access/caller.ts";
import { named } from "../named-schemas.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { StreamBudget } from "../responses/stream-budget.ts";
import { type Call, route, type Services } from "../route.ts";
import { count, submissionId } from "./fields.ts";
import { SUBMISSION_ID, WAIT } from "./parameters.ts";
import { record } from "./record-schema.ts";
import { readMark, sendEvents, type Watched } from "./run-events.ts";

/** The most streams of submissions that an account can have open at once. */
const MAX_WATCHED = 32;

/** Bytes of stdout or stderr that are sent in one piece. */
const PIECE = 65_536;

type Read = (
  id: string,
  accountId: string,
  admit: ReturnType<LongAnswers["admitFor"]>,
) => Promise<Submission | undefined>;

/** Reads the submission of a call. An id of another account gets the same response as an unknown id. @throws ClientError submissionNotFound. */
async function find(
  { request, reply, caller, owner, path: { id } }: Call<{ readonly id: string }>,
  { dependencies: { store }, answers }: Services,
  read: Read = store.submissions.get,
): Promise<Submission> {
  const submission = await read(id, caller.accountId, answers.admitFor(owner, request, reply));
  if (!submission) throw clientError("submissionNotFound", []);
  request.submissionId = submission.id;
  return submission;
}

export const result = route({
  id: "result",
  method: "get",
  path: "/api/result/{id}",
  summary: "Read a result",
  description: "Returns the current record. It is final when `status` is `completed` or `error`.",
  parameters: { path: { id: SUBMISSION_ID }, query: { wait: WAIT } },
  successes: { 200: { description: "The record", body: record } },
  errors: ["noRoom", "notFinished", "notFinishedAtStop"],
  handler: (services) => async (call) => {
    const { dependencies, answers, stopping } = services;
    const { submissions } = dependencies.store;
    const { reply, owner } = call;
    const wait = call.query.wait === "true";
    const signal = () => abortAfter(dependencies.holdMs, disconnected(reply), stopping);
    const whenTerminal: Read = (id, accountId, admit) => submissions.whenTerminal(id, accountId, signal(), admit);
    const submission = await find(call, services, wait ? whenTerminal : undefined);
    if (!wait || isTerminal(submission.status)) return answers.send(owner, reply, toLongRecord(submission));
    const fields = { id: submission.id, status: submission.status };
    if (stopping.aborted) throw clientError("notFinishedAtStop", [], { fields });
    throw clientError("notFinished", [dependencies.holdMs / 1000], { fields });
  },
});

export const stdout = outputEndpoint("stdout");
export const stderr = outputEndpoint("stderr");

function outputEndpoint(stream: "stdout" | "stderr") {
  return route({
    id: stream,
    method: "get",
    path: `/api/result/{id}/${stream}`,
    summary: `Read the bytes of ${stream}`,
    description:
      "Returns the bytes as the program wrote them, up to the output limit. A request with `Range` gets a part of them, with status 206.",
    parameters: { path: { id: SUBMISSION_ID } },
    successes: {
      200: { description: "All captured bytes", media: "application/octet-stream" },
      206: { description: "The requested range", media: "application/octet-stream" },
    },
    errors: ["noOutput", "rangeOutside", "noRoom"],
    handler: (services) => async (call) => {
      const output = (await find(call, services)).outcome?.output;
      if (!output) throw clientError("noOutput", []);
      return sendBytes(services.answers, call.request, call.reply, output[stream]);
    },
  });
}

/** Reads a submission without its output if that is large. */
const withoutOutput =
  ({ dependencies: { store } }: Services): Read =>
  async (id, accountId) =>
    (await store.submissions.head(id, accountId))?.submission;

/** @throws ClientError noOutput if the submission has not ended, or the platform failed. */
function outcomeOf({ outcome }: Submission): Outcome {
  if (outcome?.status !== "completed") throw clientError("noOutput", []);
  return outcome;
}

export const compileOutput = route({
  id: "compileOutput",
  method: "get",
  path: "/api/result/{id}/compile-output",
  summary: "Read what the compiler wrote",
  description:
    `Returns what the compiler wrote for a program that it compiled, such as warnings: at most the first ${MAX_COMPILE_OUTPUT_BYTES} bytes, and none ` +
    "if the language has no compiler, or the submission is a run of a judgement. If the compiler rejected the program, its messages are in stderr.",
  parameters: { path: { id: SUBMISSION_ID } },
  successes: {
    200: { description: "All stored bytes", media: "application/octet-stream" },
    206: { description: "The requested range", media: "application/octet-stream" },
  },
  errors: ["noOutput", "rangeOutside", "noRoom"],
  handler: (services) => async (call) => {
    const submission = await find(call, services, withoutOutput(services));
    const { id, accountId } = submission;
    outcomeOf(submission);
    const bytes = await services.dependencies.store.submissions.compileOutput(id, accountId);
    return sendBytes(services.answers, call.request, call.reply, bytes ?? Buffer.alloc(0));
  },
});

export const runsBody = named(
  "Runs",
  z.strictObject({
    id: submissionId,
    runs: count
      .nullable()
      .describe(
        "How often the program ran. Null for several runs that an earlier release of the service did not count",
      ),
    cpu_time_secs: z.number().min(0).nullable().describe("The mean of the runs; null if the program was not executed"),
    memory_peak_bytes: count.nullable().describe("The mean of the runs; null if the program was not executed"),
  }),
);

/** The means over the runs of a submission that asks for several; the record shows the last run. */
export const runs = route({
  id: "runs",
  method: "get",
  path: "/api/result/{id}/runs",
  summary: "Read the means over several runs",
  description:
    "A submission with `runs` runs until one run has a verdict other than AC. Its record shows the last run. This returns the number of its " +
    "runs, and the means of their CPU time and of their highest use of memory.",
  parameters: { path: { id: SUBMISSION_ID } },
  successes: { 200: { description: "The number of runs and their means", body: runsBody } },
  errors: ["noOutput", "noRoom"],
  handler: (services) => async (call) => {
    const submission = await find(call, services, withoutOutput(services));
    const { id } = submission;
    const { metrics, means } = outcomeOf(submission);
    const { cpuUsec, memoryPeakBytes } = { cpuUsec: null, memoryPeakBytes: null, ...metrics, ...means };
    const ran = metrics ? 1 : 0;
    return {
      id,
      runs: means ? (means.runs ?? null) : ran,
      cpu_time_secs: cpuUsec === null ? null : cpuUsec / 1e6,
      memory_peak_bytes: memoryPeakBytes,
    };
  },
});

export const submissionEgressBody = named(
  "SubmissionEgress",
  z.strictObject({
    id: submissionId,
    network: networkPolicySchema.describe('What the program may reach over the network; "none" if it has none'),
    egress: egressSchema
      .nullable()
      .describe(
        "What it has reached, or tried to; null if it has no network, until its run has ended, and if its machine was lost",
      ),
  }),
);

export const submissionEgress = route({
  id: "submissionEgress",
  method: "get",
  path: "/api/result/{id}/egress",
  summary: "Read what a submission has reached",
  description:
    "Returns what the program of a submission with `network` may reach, and after its run what it has reached over the network. The record of the submission has nothing of it.",
  parameters: { path: { id: SUBMISSION_ID } },
  successes: { 200: { description: "Its network policy, and what it has reached", body: submissionEgressBody } },
  errors: ["noRoom"],
  handler: (services) => async (call) => {
    const { id, accountId } = await find(call, services, withoutOutput(services));
    const admit = services.answers.admitFor(call.owner, call.request, call.reply);
    const found = await services.dependencies.store.submissions.network(id, accountId, admit);
    // Programs have chosen the names, of which there can be 2 MiB.
    return await services.answers.send(call.owner, call.reply, {
      id,
      network: toNetworkJson(found?.policy ?? "none"),
      egress: found?.egress ?? null,
    });
  },
});

export const cancel = route({
  id: "cancel",
  method: "post",
  path: "/api/result/{id}/cancel",
  summary: "Cancel a submission",
  description:
    "Ends a pending submission, or kills a running one. Its status becomes `error`, with the verdict IE and the cause " +
    "`cancelled`. A finished submission does not change.",
  parameters: { path: { id: SUBMISSION_ID } },
  successes: { 200: { description: "The final record", body: record } },
  config: { bodyless: true },
  handler: (services) => async (call) => {
    const { id, accountId } = await find(call, services);
    await services.dependencies.store.submissions.cancel(id, accountId);
    return services.answers.send(call.owner, call.reply, toLongRecord(await find(call, services)));
  },
});

export const events = route({
  id: "events",
  method: "get",
  path: "/api/result/{id}/events",
  summary: "Follow a submission",
  description:
    "Sends server-sent events. The event `status` has the new status (`{status}`), and `ended` has the final record. If the " +
    "submission has `stream` or `live_input`, the events `stdout` and `stderr` have the output (`{at, text}`, with the position " +
    "`at` in bytes), from the start or after `Last-Event-ID`.",
  parameters: {
    path: { id: SUBMISSION_ID },
    headers: {
      "Last-Event-ID": {
        description: "Id of the last event that the client received",
        schema: z.string().optional(),
        refuse: null,
      },
    },
  },
  successes: { 200: { description: "A stream of events", media: "text/event-stream" } },
  errors: ["tooManyWatched", "noRoom"],
  handler: (services) => {
    const streams = new StreamBudget(MAX_WATCHED);
    return async (call) => {
      const { request, reply } = call;
      const { id, accountId } = await find(call, services);
      streams.open(accountId, reply);
      const watched = watchedRun(call, services, id, call.headers["Last-Event-ID"]);
      return sendEvents(services.answers, request, reply, watched, services.stopping);
    };
  },
});

/** The run of a submission of the caller, as a client watches it. @param after id of the last event that the client received. */
export function watchedRun(
  { request, caller: { accountId } }: Pick<Call, "request" | "caller">,
  { dependencies: { store, conversations } }: Services,
  id: string,
  after: string | undefined,
): Watched {
  return {
    conversation: conversations.of(id, accountId),
    after: readMark(after),
    isAllowed: () => isStillValid(request, store.keys),
    ended: async (admit) => {
      const submission = await store.submissions.get(id, accountId, admit);
      return submission && { record: toLongRecord(submission), output: submission.outcome?.output ?? null };
    },
  };
}

/** Sends all bytes, or the range that the request asks for. A request for several ranges gets all bytes. */
export function sendBytes(
  answers: LongAnswers,
  request: FastifyRequest,
  reply: FastifyReply,
  bytes: Buffer,
): FastifyReply {
  const range = readRange(request.headers.range, bytes.length);
  if (range === "outside") {
    throw clientError("rangeOutside", [bytes.length], { headers: { "content-range": `bytes */${bytes.length}` } });
  }
  const { from, until } = range ?? { from: 0, until: bytes.length };
  reply
    .type("application/octet-stream")
    .header("accept-ranges", "bytes")
    .header("content-length", until - from);
  if (range) reply.code(206).header("content-range", `bytes ${from}-${until - 1}/${bytes.length}`);
  return answers.sendPieces(ownerOf(request), reply, slices(bytes.subarray(from, until)));
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

/** @returns null without a header, and for a header that RFC 9110 permits a server to ignore. */
export function readRange(
  header: string | undefined,
  size: number,
): { readonly from: number; readonly until: number } | "outside" | null {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return null;
  const from = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const until = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  if (first !== "" && last !== "" && Number(last) < from) return null;
  return from < until ? { from, until } : "outside";
}
