import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { SNAPSHOT_NAME_CHARACTERS } from "../../domain/sandboxes/snapshot.ts";
import type { FoundSnapshot } from "../../store/search/types.ts";
import { refusing, useMeanwhile } from "../api/sandboxes/of-sandbox.ts";
import type { SnapshotList, SnapshotRow, TakenSnapshot } from "./api/sandboxes.ts";
import { idText } from "./authorize.ts";
import { withLiveKey } from "./new-sandbox.ts";
import { accountsFor, cursor, listed } from "./pagination.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { inOwn, noteSandboxChange } from "./sandboxes.ts";

const listQuery = listed.extend({ before: cursor.optional(), project: idText.optional() });
const newSnapshot = z.strictObject({ name: z.string().min(1).max(SNAPSHOT_NAME_CHARACTERS).nullable() });

/** /dashboard/api/snapshots, and /dashboard/api/sandboxes/:id/snapshots: lists, takes and deletes snapshots of sandboxes. */
export const snapshotRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/snapshots",
    session: "member",
    query: listQuery,
    handler:
      ({ dependencies: { store, sandboxes } }) =>
      async ({ person, query: { account, project, before, limit } }): Promise<SnapshotList> => {
        const which = { accountIds: accountsFor(person, account), projectId: project, before, max: limit };
        const { found, next } = await store.snapshotSearch.search(which);
        return {
          snapshots: found.map(toRow),
          next: next === null ? null : String(next),
          isOn: sandboxes.capacity !== null,
        };
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/sandboxes/{id}/snapshots",
    session: "member",
    body: newSnapshot,
    handler:
      (services) =>
      async ({ request, reply, actor, body: { name } }): Promise<TakenSnapshot> => {
        const { store } = services.dependencies;
        const { id } = await inOwn(services, request, async (handle) => {
          useMeanwhile(handle, reply);
          const detail = name === null ? {} : { name };
          await noteSandboxChange(store, actor, handle.sandbox, { action: "sandbox.take-snapshot", detail });
          return await withLiveKey(() => handle.snapshot(name, handle.sandbox.keyId));
        });
        reply.code(201);
        return { id };
      },
  }),
  dashboardRoute({
    method: "delete",
    path: "/snapshots/{id}",
    session: "member",
    handler:
      ({ dependencies: { store, sandboxes } }) =>
      async ({ reply, person, actor, path: { id } }) => {
        const found = await store.snapshotSearch.get(id.toLowerCase(), person.accountIds);
        if (!found) throw clientError("notFound", []);
        const { snapshot } = found;
        const detail = { sandbox: snapshot.sandboxId, ...(snapshot.name !== null && { name: snapshot.name }) };
        await noteSandboxChange(store, actor, snapshot, { action: "snapshot.delete", detail });
        await refusing(() => sandboxes.removeSnapshot(snapshot.id, snapshot.accountId));
        return reply.code(204).send();
      },
  }),
];

function toRow({ snapshot, account, project, key }: FoundSnapshot): SnapshotRow {
  const { id, sandboxId, name, bytes, files, createdAtMs } = snapshot;
  return {
    ...{ id, sandboxId, name, bytes, files, account, project, key },
    createdAt: new Date(createdAtMs).toISOString(),
  };
}
