import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { VERDICTS } from "../../domain/outcome.ts";
import { toLongRecord } from "../../domain/record.ts";
import { MAX_CODE_BYTES, MAX_STDIN_BYTES } from "../../domain/submission.ts";
import type { FoundSubmission, Search } from "../../store/history/types.ts";
import type { Store } from "../../store/store.ts";
import type { LongAnswers } from "../long-answers.ts";
import { ownerOf } from "../owner.ts";
import type { Submissions } from "./api/submissions.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { queryOf } from "./parse.ts";
import { maySee, personOf } from "./session.ts";
import { detailOf, toRow } from "./submission-detail.ts";

export const SUBMISSIONS = "/dashboard/api/submissions";

const MAX_ROWS = 200;
const name = z.string().min(1).max(100).optional();
const time = z.iso.datetime({ offset: true }).transform(Date.parse).optional();

export const search = z.strictObject({
  verdict: z.enum(VERDICTS).optional(),
  status: z.enum(["pending", "running", "completed", "error"]).optional(),
  language: name,
  key: name,
  project: name,
  account: name,
  id: z.string().max(100).toLowerCase().optional(),
  since: time,
  until: time,
  before: z.coerce.number().int().positive().optional(),
  limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(50),
});

/** Lists submissions, and returns single ones. */
export function submissionRoutes(
  server: FastifyInstance,
  { store, languages }: DashboardDependencies,
  answers: LongAnswers,
): void {
  const config = { session: "member" } as const;

  server.get(SUBMISSIONS, { config }, async (request): Promise<Submissions> => {
    const { account, ...which } = queryOf(request, search);
    const { found, next } = await store.records.search(toSearch(which, accountsOf(request, account)));
    return { submissions: found.map(toRow), next: next === null ? null : String(next) };
  });

  server.get(`${SUBMISSIONS}/:id`, { config }, async (request, reply) => {
    const detail = await detailOf({ store, languages }, await readOwn(store, answers, request, reply));
    return answers.send(ownerOf(request), reply, detail);
  });

  server.get(`${SUBMISSIONS}/:id/record`, { config }, async (request, reply) => {
    const { submission } = await readOwn(store, answers, request, reply);
    reply.header("content-disposition", `attachment; filename="${submission.id}.json"`);
    return answers.send(ownerOf(request), reply, toLongRecord(submission));
  });
}

/** A query for the store. @param accountIds as returned by `accountsOf`. */
export function toSearch(
  {
    key,
    project,
    since,
    until,
    limit,
    ...rest
  }: Omit<z.output<typeof search>, "account" | "verdict"> & {
    readonly verdict?: string | undefined;
  },
  accountIds: readonly string[] | null,
): Search {
  return { ...rest, accountIds, keyId: key, projectId: project, sinceMs: since, untilMs: until, max: limit };
}

/**
 * The accounts whose submissions are listed: one account, or all that the person may see; null: no restriction.
 * @throws ClientError notFound for an account that the person may not see.
 */
export function accountsOf(request: FastifyRequest, account: string | undefined): readonly string[] | null {
  const person = personOf(request);
  if (account === undefined) return person.accountIds;
  if (!maySee(person, account)) throw clientError("notFound", []);
  return [account];
}

/**
 * The submission named by the path. The audit trail records access by an administrator before the response.
 * @throws ClientError notFound, also for a submission of another account.
 */
export async function readOwn(store: Store, answers: LongAnswers, request: FastifyRequest, reply: FastifyReply) {
  const { id } = request.params as { id: string };
  const admit = answers.admitFor(ownerOf(request), request, reply);
  await admit(MAX_CODE_BYTES + MAX_STDIN_BYTES);
  const read = await store.records.read(id.toLowerCase(), personOf(request).accountIds, admit);
  if (!read) throw clientError("notFound", []);
  request.submissionId = read.submission.id;
  await noteReading(store, request, "submission.read", read.found);
  return read;
}

/** The same without its program and output. */
export async function findOwn(store: Store, request: FastifyRequest): Promise<FoundSubmission> {
  const { id } = request.params as { id: string };
  const which = { id: id.toLowerCase(), accountIds: personOf(request).accountIds, max: 1 };
  const [found] = (await store.records.search(which)).found;
  if (!found) throw clientError("notFound", []);
  request.submissionId = found.id;
  return found;
}

/** Records an administrator's access in the audit trail of the account, before the response. */
export async function noteReading(
  store: Store,
  request: FastifyRequest,
  action: "submission.read" | "judgement.read",
  { id, account }: Pick<FoundSubmission, "id" | "account">,
): Promise<void> {
  const { administrator, email } = personOf(request);
  if (!administrator) return;
  await store.audit.noteReading({ action, actor: email, address: request.ip, subject: id, accountId: account.id });
}
