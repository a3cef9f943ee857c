import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminError } from "../../../src/admin/error.ts";
import { dashboardOf, nodesOf } from "../../../src/cli/dashboard.ts";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import { ClientError } from "../../../src/domain/error.ts";
import { threadedPost } from "../../../src/webhooks/threaded-post.ts";
import { temporaryStore } from "../../support/store/temporary.ts";
import { addEndpoint, addProject, deliveryBudget, sealer } from "../../support/webhooks/project.ts";
import { makeCertificates, startReceiver } from "../../support/webhooks/receiver.ts";

const certificates = makeCertificates();

test("a test message in progress when the service stops is abandoned, logged, and sent by the next service", async (t) => {
  const receiver = await startReceiver(t, certificates, () => {});
  const { store, database, clock } = await temporaryStore(t);
  const { id } = await addEndpoint(store, await addProject(store), { url: receiver.url });
  const allowed = [{ host: "127.0.0.1", port: receiver.port }];
  const sending = {
    sealer,
    allowed,
    post: threadedPost({ ca: certificates.ca }),
    foreignApis: FOREIGN_APIS,
    userAgent: "Assay/0.0.0",
  };
  const stopping = new AbortController();
  const config = { database, retentionMs: null, ownAuthority: null };
  const languages = installedLanguages();
  const nodes = nodesOf(null, null);
  const dashboard = dashboardOf({ config, store, languages, sending, nodes, stopping: stopping.signal });
  const sent = dashboard.sendTest(id, "test");
  await receiver.until(1);
  stopping.abort(new Error("the service is stopping"));
  await assert.rejects(sent, (error) => error instanceof ClientError && error.code === "shuttingDown");
  const due = () => store.deliveries.claimDue({ leaseMs: 1_000, ...deliveryBudget(1) });
  assert.deepEqual(await due(), []);
  clock.nowMs += 30_000;
  assert.equal((await due()).length, 1);
  assert.deepEqual(await nodes(), []);
  // Messages of the address check are for the user; other errors are not.
  await assert.rejects(dashboard.checkUrl("https://10.0.0.1/"), AdminError);
  assert.equal(await dashboard.checkUrl("https://8.8.8.8/"), null);
});
