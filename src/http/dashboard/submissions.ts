import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { CAUSE_NAMES } from "../../domain/causes.ts";
import { clientError } from "../../domain/error.ts";
import { VERDICTS } from "../../domain/outcome.ts";
import { statusSchema, toLongRecord } from "../../domain/record.ts";
import type { FoundSubmission, SubmissionSearch } from "../../store/search/types.ts";
import type { Store } from "../../store/store.ts";
import { ownerOf } from "../access/caller.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { RANGES, type TimeRange } from "./api/lists.ts";
import type { Submissions } from "./api/submissions.ts";
import { isKnown } from "./compress.ts";
import { listRoutes, markOf } from "./lists.ts";
import { accountsFor } from "./pagination.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { personOf, type SignedIn } from "./session.ts";
import { deliveriesOf, detailOf, toRow } from "./submission-detail.ts";

const MAX_ROWS = 500;
const name = z.string().min(1).max(100).optional();
const time = z.iso.datetime({ offset: true }).transform(Date.parse).optional();

export const search = z.strictObject({
  verdict: z.enum(VERDICTS).optional(),
  status: statusSchema.optional(),
  cause: z.enum(CAUSE_NAMES).optional(),
  language: name,
  key: name,
  project: name,
  account: name,
  id: z.string().trim().toLowerCase().refine(beginsAnId, "must be at least the first 4 characters of an id").optional(),
  range: z.enum(RANGES).optional(),
  since: time,
  until: time,
  order: z.enum(["newest", "oldest"]).optional(),
  before: z.coerce.number().int().positive().optional(),
  limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(50),
});

async function read(store: Store, person: SignedIn, query: z.output<typeof search>) {
  const { found, next } = await store.submissionSearch.search(searchOf(person, query));
  return { rows: found.map(toRow), next: next === null ? null : String(next) };
}

/** /dashboard/api/submissions: lists submissions, and returns a submission or its record. */
export const submissionRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/submissions",
    session: "member",
    query: search,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, query }): Promise<Submissions> => {
        const { rows, next } = await read(store, person, query);
        return { submissions: rows, next, mark: markOf(rows) };
      },
  }),
  ...listRoutes({
    path: "/submissions",
    schema: search,
    read,
    readOne: async (store, { accountIds }, id) =>
      (await store.submissionSearch.search({ id, accountIds, max: 1 })).found.map(toRow)[0],
    count: (store, person, query) => store.submissionSearch.count(searchOf(person, query)),
  }),
  dashboardRoute({
    method: "get",
    path: "/submissions/{id}",
    session: "member",
    handler:
      ({ dependencies: { store, languages }, answers }) =>
      async ({ request, reply, owner }) => {
        if (await isUnchanged(store, request, reply)) return reply.send();
        const detail = await detailOf({ store, languages }, await readOwn(store, answers, request, reply));
        return answers.send(owner, reply, detail);
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/submissions/{id}/record",
    session: "member",
    handler:
      ({ dependencies: { store }, answers }) =>
      async ({ request, reply, owner }) => {
        const { submission } = await readOwn(store, answers, request, reply);
        reply.header("content-disposition", `attachment; filename="${submission.id}.json"`);
        return answers.send(owner, reply, toLongRecord(submission));
      },
  }),
];

/** The search that a request for submissions asks for. @throws ClientError as accountsFor() does. */
export function searchOf(person: SignedIn, { account, ...which }: z.output<typeof search>): SubmissionSearch {
  return toSearch(which, accountsFor(person, account));
}

/** Converts a query to a search of the store. @param accountIds the accounts that accountsFor() returned. */
export function toSearch(
  {
    key,
    project,
    id,
    range,
    since,
    until,
    limit,
    ...rest
  }: Omit<z.output<typeof search>, "account" | "verdict"> & {
    readonly verdict?: string | undefined;
  },
  accountIds: readonly string[] | null,
): SubmissionSearch {
  const sinceMs = range === undefined ? since : Date.now() - RANGE_MS[range];
  const named = { prefix: id, keyId: key, projectId: project };
  return { ...rest, ...named, accountIds, sinceMs, untilMs: until, max: limit };
}

const HOUR_MS = 3_600_000;
const RANGE_MS: Readonly<Record<TimeRange, number>> = {
  "15m": HOUR_MS / 4,
  "1h": HOUR_MS,
  "24h": 24 * HOUR_MS,
  "7d": 7 * 24 * HOUR_MS,
  "30d": 30 * 24 * HOUR_MS,
};

/** The least characters of an id in a search. Fewer would match too many ids. */
const LEAST_OF_ID = 4;

function beginsAnId(text: string): boolean {
  const rest = "00000000-0000-0000-0000-000000000000".slice(text.length);
  return text.length >= LEAST_OF_ID && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text + rest);
}

/**
 * Sets the status 304 if the submission has ended, and the client already has it with its present deliveries. Its output is then not
 * read. The access is checked, and recorded in the audit trail, like one that reads the submission.
 */
async function isUnchanged(store: Store, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
  const { id } = request.params as { id: string };
  const [found] = (
    await store.submissionSearch.search({ id: id.toLowerCase(), accountIds: personOf(request).accountIds, max: 1 })
  ).found;
  if (!found?.completedAtMs) return false;
  const known = isKnown(request, reply, [toRow(found), await deliveriesOf(store, found.id)]);
  if (known) await noteReading(store, request, "submission.read", found);
  return known;
}

/**
 * The submission named by the path. Before the response, access by an administrator is recorded in the audit trail.
 * @throws ClientError notFound, also for a submission of another account.
 */
export async function readOwn(store: Store, answers: LongAnswers, request: FastifyRequest, reply: FastifyReply) {
  const { id } = request.params as { id: string };
  const admit = answers.admitFor(ownerOf(request), request, reply);
  const read = await store.submissionSearch.read(id.toLowerCase(), personOf(request).accountIds, admit);
  if (!read) throw clientError("notFound", []);
  request.submissionId = read.submission.id;
  await noteReading(store, request, "submission.read", read.found);
  return read;
}

/** Finds the submission named by the path, without its program and output. @throws ClientError notFound, as readOwn() does. */
export async function findOwn(store: Store, request: FastifyRequest): Promise<FoundSubmission> {
  const { id } = request.params as { id: string };
  const criteria = { id: id.toLowerCase(), accountIds: personOf(request).accountIds, max: 1 };
  const [found] = (await store.submissionSearch.search(criteria)).found;
  if (!found) throw clientError("notFound", []);
  request.submissionId = found.id;
  return found;
}

/** Records access by an administrator in the audit trail of the account. Nothing is recorded for members. */
export async function noteReading(
  store: Store,
  request: FastifyRequest,
  action: "submission.read" | "judgement.read" | "sandbox.read",
  { id, account }: Pick<FoundSubmission, "id" | "account">,
): Promise<void> {
  const { administrator, email } = personOf(request);
  if (!administrator) return;
  await store.audit.noteReading({ action, actor: email, address: request.ip, subject: id, accountId: account.id });
}
