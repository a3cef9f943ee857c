import { clientError } from "../../../domain/error.ts";
import { toSnapshotRecord } from "../../../domain/sandboxes/snapshot.ts";
import { route } from "../../route.ts";
import { PAGE, pageOf, SANDBOX_ID, SNAPSHOT_ID } from "../parameters.ts";
import { snapshotBody, snapshotRequestBody, snapshotsBody } from "./bodies.ts";
import { checkAllowed, ofSandbox, refusing } from "./of-sandbox.ts";
import { SANDBOX_ERRORS } from "./refused.ts";
import { CREATE_ERRORS, toSnapshotName } from "./requests.ts";
import { checkStillValid } from "./sandboxes.ts";

export const takeSnapshot = route({
  id: "takeSnapshot",
  method: "post",
  path: "/api/sandboxes/{id}/snapshots",
  summary: "Take a snapshot of a sandbox",
  description:
    "Stores everything that the home directory and /tmp of a sandbox contain. All programs stand still until it is read, without time that counts, and then " +
    "go on; a paused sandbox stays paused. The response is sent when the snapshot is on the disk and was read back. New sandboxes can begin with it (`from`).",
  parameters: { path: { id: SANDBOX_ID } },
  body: snapshotRequestBody,
  successes: { 201: { description: "The snapshot", body: snapshotBody, location: true } },
  errors: [...SANDBOX_ERRORS, ...CREATE_ERRORS, "snapshotQuota", "snapshotsFull", "snapshotFailed"],
  config: { ofSandbox: true },
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async (handle) => {
      const name = toSnapshotName(call.request.body);
      await checkStillValid(call, services);
      const snapshot = await handle.snapshot(name, call.caller.keyId);
      call.reply.code(201).header("location", `/api/snapshots/${snapshot.id}`);
      return toSnapshotRecord(snapshot);
    }),
});

export const snapshots = route({
  id: "snapshots",
  method: "get",
  path: "/api/snapshots",
  summary: "List snapshots",
  description: "Lists the account's snapshots, newest first.",
  parameters: { query: PAGE },
  successes: { 200: { description: "A page of snapshots", body: snapshotsBody } },
  errors: ["profileForbidden", "sandboxesOff"],
  handler: (services) => async (call) => {
    checkAllowed(call.caller, services);
    const page = await services.dependencies.store.snapshots.list(call.caller.accountId, pageOf(call.query));
    return {
      snapshots: page.snapshots.map(toSnapshotRecord),
      next: page.next === null ? null : String(page.next),
    };
  },
});

export const snapshot = route({
  id: "snapshot",
  method: "get",
  path: "/api/snapshots/{id}",
  summary: "Get a snapshot",
  description: "Returns the record of a snapshot.",
  parameters: { path: { id: SNAPSHOT_ID } },
  successes: { 200: { description: "The snapshot", body: snapshotBody } },
  errors: ["profileForbidden", "sandboxesOff"],
  handler: (services) => async (call) => {
    checkAllowed(call.caller, services);
    const found = await services.dependencies.store.snapshots.get(call.path.id, call.caller.accountId);
    if (!found) throw clientError("snapshotNotFound", []);
    return toSnapshotRecord(found);
  },
});

export const deleteSnapshot = route({
  id: "deleteSnapshot",
  method: "delete",
  path: "/api/snapshots/{id}",
  summary: "Delete a snapshot",
  description:
    "Deletes a snapshot, and returns its last record. Sandboxes that began with it, or just begin with it, keep their files.",
  parameters: { path: { id: SNAPSHOT_ID } },
  successes: { 200: { description: "The deleted snapshot", body: snapshotBody } },
  errors: ["profileForbidden", "sandboxesOff"],
  config: { bodyless: true },
  handler: (services) => async (call) => {
    checkAllowed(call.caller, services);
    const { sandboxes } = services.dependencies;
    return toSnapshotRecord(await refusing(() => sandboxes.removeSnapshot(call.path.id, call.caller.accountId)));
  },
});
