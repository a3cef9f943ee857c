import type { FastifyReply, FastifyRequest } from "fastify";
import { jsonPieces } from "../../domain/json-pieces.ts";
import { callerOf, ownerOf } from "../../http/access/caller.ts";
import { countRequests } from "../../http/access/rate-limit.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import type { LongAnswers } from "../../http/responses/long-answers.ts";
import { moreRequests } from "../cost.ts";
import { JUDGE0_NAME } from "./conventions.ts";
import { type Judge0Field, type Judge0Form, judge0Answer, OUTPUT_FIELDS, SENT_FIELDS } from "./fields.ts";
import { BadQueryError } from "./query.ts";
import { type Judge0Submission, toJudge0Submission } from "./submission.ts";

/** If the contents of all submissions together have at most this size, they are read at once. */
const FEW_BYTES = 262_144;
/** The most bytes of all contents in a response: as many as a batch of Judge0 can have. */
const MOST_BYTES = 100 * 1_048_576;

/** A submission whose contents (source, input, expected output, output) are read only when they are sent. */
export interface Item {
  /** The size of the contents that `load` reads. */
  readonly bytes: number;
  readonly load: () => Promise<Judge0Submission>;
}

/** Finds a submission. @param fields decide which contents are read. @returns null for an unknown submission. */
export async function itemOf(
  id: string,
  accountId: string,
  fields: readonly Judge0Field[],
  { submissions, foreign }: Dependencies["store"],
): Promise<Item | null> {
  const head = await submissions.head(id, accountId);
  const known = head && (await foreign.about(JUDGE0_NAME, head.submission));
  if (!known) return null;
  const output = fields.some((field) => OUTPUT_FIELDS.includes(field)) ? head.output : null;
  const sends = fields.some((field) => SENT_FIELDS.includes(field));
  return {
    bytes: (output?.bytes ?? 0) + (sends ? known.sentBytes : 0),
    load: async () =>
      toJudge0Submission({
        ...known,
        submission: output ? await output.read() : head.submission,
        sent: sends ? await foreign.sent(id) : null,
      }),
  };
}

/**
 * Sends several submissions as JSON. Large contents are read one submission after the other, so that the response needs no more memory
 * than its largest submission. @param items null for an unknown submission. @param members further members of the response.
 * @throws NotUtf8Error, BadQueryError, ClientError quotaExceeded
 */
export async function sendSeveral(
  items: readonly (Item | null)[],
  members: object,
  form: Judge0Form,
  { dependencies, answers }: { readonly dependencies: Dependencies; readonly answers: LongAnswers },
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  const owner = ownerOf(request);
  const admit = answers.admitFor(owner, request, reply);
  const bytes = items.reduce((sum, item) => sum + (item?.bytes ?? 0), 0);
  if (bytes > MOST_BYTES)
    throw new BadQueryError(
      `the submissions have more than ${MOST_BYTES} bytes, ask for fewer of them or other fields`,
    );
  await countRequests(callerOf(request), dependencies, {
    amount: moreRequests(bytes),
    counted: 1,
  });
  const answer = async (item: Item | null) => item && judge0Answer(await item.load(), form);
  if (bytes <= FEW_BYTES) {
    await admit(bytes);
    return answers.send(owner, reply, { submissions: await Promise.all(items.map(answer)), ...members });
  }
  await admit(Math.max(...items.map((item) => item?.bytes ?? 0)));
  // Text that is not UTF-8 is an error, which must be found before the response begins. So all contents are read once in advance.
  if (!form.base64)
    for (const item of items) {
      await answer(item);
      await answers.eventLoop.turn(owner);
    }
  async function* pieces() {
    yield '{"submissions":[';
    for (const [at, item] of items.entries()) {
      if (at > 0) yield ",";
      yield* jsonPieces(await answer(item));
    }
    yield "]";
    for (const [name, value] of Object.entries(members)) yield `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
    yield "}";
  }
  return answers.sendPieces(owner, reply.type("application/json; charset=utf-8"), pieces());
}
