import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { abortAfter } from "../../domain/abort-after.ts";
import { clientError } from "../../domain/error.ts";
import { toLongRecord } from "../../domain/record.ts";
import { isTerminal, type Submission } from "../../domain/submission.ts";
import { isStillValid } from "../access/auth.ts";
import { callerOf, ownerOf } from "../access/caller.ts";
import type { Dependencies } from "../dependencies.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { StreamBudget } from "../responses/stream-budget.ts";
import { readWait } from "./query.ts";
import { readMark, sendEvents } from "./sse-output.ts";

/** The most streams of submissions that an account can have open at once. */
const MAX_WATCHED = 32;

/** Bytes of stdout or stderr that are sent in one piece. */
const PIECE = 65_536;

type Read = (
  id: string,
  accountId: string,
  admit: ReturnType<LongAnswers["admitFor"]>,
) => Promise<Submission | undefined>;

/** The endpoints of one submission. An id of another account gets the same response as an unknown id. */
export function resultRoutes(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  ended: AbortSignal,
): void {
  const { store, holdMs } = dependencies;
  const { submissions } = store;

  /** @throws ClientError submissionNotFound. */
  const find = async (request: FastifyRequest, reply: FastifyReply, read: Read = submissions.get) => {
    const id = (request.params as { id: string }).id.toLowerCase();
    const admit = answers.admitFor(ownerOf(request), request, reply);
    const submission = await read(id, callerOf(request).accountId, admit);
    if (!submission) throw clientError("submissionNotFound", []);
    request.submissionId = submission.id;
    return submission;
  };

  server.get("/api/result/:id", async (request, reply) => {
    const wait = readWait(request.query);
    const signal = () => abortAfter(holdMs, disconnected(reply), ended);
    const submission = await find(
      request,
      reply,
      wait ? (id, accountId, admit) => submissions.whenTerminal(id, accountId, signal(), admit) : undefined,
    );
    if (!wait || isTerminal(submission.status)) return answers.send(ownerOf(request), reply, toLongRecord(submission));
    const fields = { id: submission.id, status: submission.status };
    if (ended.aborted) throw clientError("notFinishedAtStop", [], { fields });
    throw clientError("notFinished", [holdMs / 1000], { fields });
  });

  const sendStream = (stream: "stdout" | "stderr") => async (request: FastifyRequest, reply: FastifyReply) => {
    const output = (await find(request, reply)).outcome?.output;
    if (!output) throw clientError("noOutput", []);
    return sendBytes(answers, request, reply, output[stream]);
  };
  server.get("/api/result/:id/stdout", sendStream("stdout"));
  server.get("/api/result/:id/stderr", sendStream("stderr"));

  server.post("/api/result/:id/cancel", { config: { bodyless: true } }, async (request, reply) => {
    const { id, accountId } = await find(request, reply);
    await submissions.cancel(id, accountId);
    return answers.send(ownerOf(request), reply, toLongRecord(await find(request, reply)));
  });

  const streams = new StreamBudget(MAX_WATCHED);
  server.get("/api/result/:id/events", async (request, reply) => {
    const { id, accountId } = await find(request, reply);
    streams.open(accountId, reply);
    const watched = {
      id,
      after: readMark(request.headers["last-event-id"]),
      isAllowed: () => isStillValid(request, store.keys),
      ended: async (admit: Parameters<Read>[2]) => {
        const submission = await submissions.get(id, accountId, admit);
        return submission && toLongRecord(submission);
      },
    };
    return sendEvents(store, answers, request, reply, watched, ended);
  });
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
