import { csvLine } from "../../domain/csv.ts";
import type { FoundSubmission, SubmissionSearch } from "../../store/search/types.ts";
import type { Store } from "../../store/store.ts";
import { StreamBudget } from "../responses/stream-budget.ts";
import { CSV_ROWS } from "./api/lists.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { toRow } from "./submission-detail.ts";
import { search, searchOf } from "./submissions.ts";

const PAGE = 200;

const HEAD = [
  "id",
  "status",
  "verdict",
  "cause",
  "language",
  "profile",
  "account",
  "project",
  "key",
  "submitted",
  "started",
  "ended",
  "ms",
];

/**
 * The matches of a search as CSV. They are read in pages, as the client receives them. A person can
 * have one export at a time.
 */
export const exportRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/submissions/csv",
    session: "member",
    query: search,
    handler: ({ dependencies: { store }, answers }) => {
      const exports = new StreamBudget(1, "tooManyExports");
      return async ({ request, reply, person, owner, query: { before: _, limit: __, ...query } }) => {
        const criteria = searchOf(person, { ...query, limit: PAGE });
        exports.open(person.id, reply);
        reply.header("content-type", "text/csv; charset=utf-8; header=present");
        reply.header("content-disposition", 'attachment; filename="submissions.csv"');
        const isSignedIn = async () => (await store.sessions.find(request.sessionHash ?? "")) !== undefined;
        return answers.sendPieces(owner, reply, lines(store, criteria, isSignedIn));
      };
    },
  }),
];

async function* lines(
  store: Store,
  which: SubmissionSearch,
  isSignedIn: () => Promise<boolean>,
): AsyncGenerator<string> {
  yield csvLine(HEAD);
  let left = CSV_ROWS;
  for (let before: number | undefined; left > 0; ) {
    if (!(await isSignedIn())) throw new Error("the session ended during an export");
    const { found, next } = await store.submissionSearch.search({ ...which, before, max: Math.min(PAGE, left) });
    if (found.length > 0) yield found.map(lineOf).join("");
    left -= found.length;
    if (next === null) return;
    before = next;
  }
}

function lineOf(found: FoundSubmission): string {
  const { startedAtMs: started, completedAtMs: ended } = found;
  const { id, status, verdict, cause, language, profile, account, project, key, ...times } = toRow(found);
  return csvLine([
    ...[id, status, verdict, cause, language, profile, account.name, project?.name ?? null, key.name],
    ...[times.createdAt, times.startedAt, times.completedAt],
    started === null || ended === null ? null : ended - started,
  ]);
}
