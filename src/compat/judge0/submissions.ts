import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { abortAfter } from "../../domain/abort-after.ts";
import { ClientError, clientError } from "../../domain/error.ts";
import { WorkTurns } from "../../fairness/turn.ts";
import { callerOf, ownerOf } from "../../http/access/caller.ts";
import { countRequests } from "../../http/access/rate-limit.ts";
import { accept } from "../../http/api/accept.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import { disconnected } from "../../http/responses/client-disconnect.ts";
import type { LongAnswers } from "../../http/responses/long-answers.ts";
import { MOST_LISTED } from "../../store/foreign/foreign-submissions.ts";
import { moreRequests } from "../cost.ts";
import { JUDGE0, JUDGE0_NAME } from "./conventions.ts";
import { asJudge0, FieldErrors } from "./field-errors.ts";
import { type Judge0Form, judge0Answer, NotUtf8Error, SENT_FIELDS } from "./fields.ts";
import { MAX_BATCH } from "./info.ts";
import { nameOfNumber } from "./numbers.ts";
import { BadQueryError, isTrue, pageOf, parameter, readFields } from "./query.ts";
import { translate } from "./request.ts";
import { itemOf, sendSeveral } from "./several.ts";
import { toForeignRequest, toJudge0Submission } from "./submission.ts";

/** The most archives of an account that wait to be unpacked. */
const MAX_UNPACKED = 64;

const TOKEN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const notUtf8 = (which: string) =>
  `some attributes for ${which} cannot be converted to UTF-8, use base64_encoded=true query parameter`;
const ONE = notUtf8("this submission");
const SEVERAL = notUtf8("one or more submissions");

/** Unpacks and stores one archive at a time, because an unpacked archive can be a thousand times larger. Accounts take turns. */
const unpacking = new WorkTurns({ atOnce: { total: 1 }, queue: { perOwner: MAX_UNPACKED, full: "queueFull" } });

function hasArchive(body: unknown): boolean {
  return (
    typeof body === "object" && body !== null && Boolean((body as { additional_files?: unknown }).additional_files)
  );
}

/**
 * Judge0's routes about submissions. A submission of another account, or one that did not come through these routes, gets the same
 * response as an unknown one.
 */
export function judge0SubmissionRoutes(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  const { store, holdMs } = dependencies;

  const formOf = (query: unknown): Judge0Form => ({
    fields: readFields(query),
    base64: isTrue(query, "base64_encoded"),
    languageName: (id) => nameOfNumber(dependencies, id),
  });

  /** The response about a submission; undefined for an unknown submission. @param waits whether to wait for its end. @throws NotUtf8Error */
  const read = async (id: string, request: FastifyRequest, reply: FastifyReply, form: Judge0Form, waits = false) => {
    const { accountId } = callerOf(request);
    const admit = answers.admitFor(ownerOf(request), request, reply);
    const signal = () => abortAfter(holdMs, disconnected(reply), stopping);
    const submission = await (waits
      ? store.submissions.whenTerminal(id, accountId, signal(), admit, true)
      : store.submissions.get(id, accountId, admit));
    const sent = form.fields.some((field) => SENT_FIELDS.includes(field));
    const found = submission && (await store.foreign.about(JUDGE0_NAME, submission, { sent, admit }));
    return found && judge0Answer(toJudge0Submission(found), form);
  };

  /**
   * Adds a submission. @param counts whether to count its first run against the rate limit; false if the request itself has been counted
   * for it. What is above the size of one request counts in any case. @returns the id of the submission.
   */
  const create = async (request: FastifyRequest, body: unknown, counts = false): Promise<string> => {
    const caller = callerOf(request);
    const base64 = isTrue(request.query, "base64_encoded");
    const make = async () => {
      await answers.eventLoop.turn(ownerOf(request));
      const { valid, judge0, bytes } = await translate(body, caller, base64, dependencies);
      await countRequests(caller, dependencies, { amount: moreRequests(bytes) + (counts ? 1 : 0), counted: 1 });
      return (await accept(valid, caller, dependencies, { foreign: toForeignRequest(judge0) })).submission.id;
    };
    return hasArchive(body) ? await unpacking.run(ownerOf(request), make) : await make();
  };

  server.post(`${JUDGE0}/submissions`, { config: { form: true, large: true } }, (request, reply) =>
    answered(reply, async () => {
      const form = formOf(request.query);
      const id = await forgetting(request, () => create(request, request.body));
      request.submissionId = id;
      reply.code(201);
      if (!isTrue(request.query, "wait")) return { token: id };
      try {
        return answers.send(ownerOf(request), reply, await read(id, request, reply, form, true));
      } catch (error) {
        if (error instanceof NotUtf8Error) return { token: id, error: ONE };
        throw error;
      }
    }),
  );

  server.post(`${JUDGE0}/submissions/batch`, { config: { large: true } }, (request, reply) =>
    answered(reply, async () => {
      const made = await forgetting(request, async () => {
        const { submissions } = (request.body ?? {}) as { submissions?: unknown };
        const all = Array.isArray(submissions) ? submissions : [];
        checkBatch(all.length);
        return await Promise.all(all.map((one, at) => part(() => create(request, one, at > 0))));
      });
      const full = made.find(({ error }) => error?.code === "queueFull");
      const isAnyMade = made.some(({ token }) => token !== undefined);
      if (!isAnyMade && full?.error) throw full.error;
      reply.code(isAnyMade ? 201 : 422);
      return made.map(({ token, fields, error }) => (token ? { token } : (fields ?? { error: [error?.message] })));
    }),
  );

  server.get(`${JUDGE0}/submissions/batch`, (request, reply) =>
    answered(
      reply,
      async () => {
        const form = formOf(request.query);
        const tokens = (parameter(request.query, "tokens") ?? "")
          .trim()
          .split(",")
          .filter((one) => one !== "");
        checkBatch(tokens.length);
        const items = await itemsOf(tokens, request, form);
        return await sendSeveral(items, {}, form, { dependencies, answers }, { request, reply });
      },
      SEVERAL,
    ),
  );

  server.get(`${JUDGE0}/submissions`, (request, reply) =>
    answered(
      reply,
      async () => {
        const form = formOf(request.query);
        const { page, perPage } = pageOf(request.query, MOST_LISTED);
        const { ids, total } = await store.foreign.list(callerOf(request).accountId, JUDGE0_NAME, {
          skip: (page - 1) * perPage,
          most: perPage,
        });
        const pages = perPage === 0 ? 0 : Math.ceil(total / perPage);
        const items = (await itemsOf(ids, request, form)).filter((one) => one !== null);
        const meta = {
          current_page: page,
          next_page: page < pages ? page + 1 : null,
          prev_page: page > 1 ? page - 1 : null,
          total_pages: pages,
          total_count: total,
        };
        return await sendSeveral(items, { meta }, form, { dependencies, answers }, { request, reply });
      },
      SEVERAL,
    ),
  );

  server.get(`${JUDGE0}/submissions/:token`, (request, reply) =>
    answered(reply, async () => {
      const form = formOf(request.query);
      const { token } = request.params as { token: string };
      const found = TOKEN.test(token) ? await read(token.toLowerCase(), request, reply, form) : undefined;
      if (!found) throw clientError("submissionNotFound", []);
      return answers.send(ownerOf(request), reply, found);
    }),
  );

  server.delete(`${JUDGE0}/submissions/:token`, { config: { bodyless: true } }, async (_, reply) =>
    reply.code(400).send({ error: "delete not allowed" }),
  );

  /** The submissions in the order of the tokens; null for an unknown token. */
  const itemsOf = (tokens: readonly string[], request: FastifyRequest, { fields }: Judge0Form) =>
    Promise.all(
      tokens.map((token) =>
        TOKEN.test(token) ? itemOf(token.toLowerCase(), callerOf(request).accountId, fields, store) : null,
      ),
    );
}

/** Responds to errors in Judge0's form, or throws them on. @param notUtf8Text the message if an attribute is not UTF-8. */
async function answered(reply: FastifyReply, answer: () => Promise<unknown>, notUtf8Text = ONE): Promise<unknown> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof FieldErrors) return reply.code(422).send(error.fields);
    if (error instanceof BadQueryError) return reply.code(400).send({ error: error.message });
    if (error instanceof NotUtf8Error) return reply.code(400).send({ error: notUtf8Text });
    throw asJudge0(error);
  }
}

/** Releases the memory of the body after this work, even if it fails. */
async function forgetting<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    request.forgetBody?.();
  }
}

interface Made {
  readonly token?: string;
  readonly fields?: FieldErrors["fields"];
  readonly error?: ClientError;
}

async function part(create: () => Promise<string>): Promise<Made> {
  try {
    return { token: await create() };
  } catch (thrown) {
    const error = asJudge0(thrown);
    if (error instanceof FieldErrors) return { fields: error.fields };
    if (error instanceof ClientError) return { error };
    throw error;
  }
}

/** @throws BadQueryError */
function checkBatch(amount: number): void {
  if (amount === 0) throw new BadQueryError("there should be at least one submission in a batch");
  if (amount > MAX_BATCH)
    throw new BadQueryError(`number of submissions in a batch should be less than or equal to ${MAX_BATCH}`);
}
