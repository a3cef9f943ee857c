import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createProject } from "../../../src/admin/projects.ts";
import { startProxy } from "../../support/client/cutting-proxy.ts";
import { BROKEN } from "../../support/http/dashboard/two-tenants.ts";
import { runPending } from "../../support/http/running.ts";
import { enqueue } from "../../support/store/temporary.ts";
import { addEndpoint, DONE } from "../../support/webhooks/project.ts";
import { inside, onEachDatabase } from "./inside.ts";

/** Long enough for the service to search for changes several times. */
const IDLE_MS = 6_000;
/** The most connections that a browser opens to one host. */
const CONNECTIONS = 6;

onEachDatabase("pages follow the service without asking", async (t, open) => {
  const { page, club, go, asked, complaints, origin } = await inside(t, { open });
  const { running, ada, projectId, accountId } = club;
  const { store, engine, clock } = running;
  // Another process of the same database, which sends the service no notification on SQLite.
  const other = await running.another();
  const { key } = (await ada("POST", "/keys", { name: "grader", projectId })).json;
  const accept = () => enqueue(other, { keyId: key.id, accountId, projectId });
  const text = (what: string | RegExp) => page.getByText(what).first().waitFor();

  await t.test("an idle page sends no request", async () => {
    for (const path of ["/", "/nodes", "/webhooks"]) {
      await go(path);
      await sleep(3_000); // once, for changes before the stream
      const before = asked.length;
      await sleep(IDLE_MS);
      assert.deepEqual(asked.slice(before), [], path);
    }
  });

  await t.test("the overview shows the queue and the first steps", async () => {
    await go("/");
    await text("Run a first program");
    await accept();
    await page.locator("dl > div").filter({ hasText: "Waiting1longest wait" }).waitFor();
    await runPending(store);
  });

  await t.test("nodes, keys and projects show changes of others", async () => {
    await go("/nodes");
    await text("0 of 3 slots");
    await accept();
    const claims = await other.submissions.claim("node 1", 60_000);
    await text("1 of 3 slots");
    for (const { lease } of claims) await other.submissions.finish(lease, DONE);
    await text("0 of 3 slots");
    engine.workers = 5;
    await text("0 of 5 slots");
    await go(`/keys/${key.id}`);
    await accept();
    await page.getByRole("table", { name: "Latest runs" }).getByRole("row").nth(3).waitFor();
    await text(/1 waiting/);
    await go("/projects");
    await createProject(other, { name: "late", account: "club" }, "test");
    await page.getByRole("link", { name: "late" }).waitFor();
  });

  await t.test("an endpoint that fails is shown on every page", async () => {
    const endpoint = await addEndpoint(store, { id: projectId, key: { keyId: key.id, accountId } });
    await go(`/webhooks/${endpoint.id}`);
    await runPending(store);
    await page.getByRole("listitem").filter({ hasText: "result" }).first().waitFor();
    const [claim] = await other.deliveries.claimDue({
      ...{ leaseMs: 60_000, attempts: 8, perEndpoint: 8 },
      bodies: { budgetBytes: Number.POSITIVE_INFINITY, heldBytes: new Map() },
    });
    assert.ok(claim);
    const attempt = { atMs: clock.nowMs, latencyMs: 1, status: 500, error: "status 500", answer: null };
    await other.deliveries.recordAttempt(claim, attempt, { state: "failed" });
    await text("Deliveries fail: the first failure was");
    await page.getByRole("link", { name: "Webhooks 1 failing" }).first().waitFor();
  });

  await t.test(
    "hidden pages of open runs leave the browser its connections, and continue when they are visible",
    async () => {
      const accepted = await accept();
      assert.ok(accepted.kind === "enqueued");
      const { id } = accepted.submission;
      const hidden = await Promise.all(
        Array.from({ length: CONNECTIONS }, async () => {
          const one = await page.context().newPage();
          await one.addInitScript(
            `Object.defineProperty(document, "visibilityState", { value: "hidden", writable: true })`,
          );
          return one;
        }),
      );
      for (const one of hidden) {
        await one.goto(`${origin}/dashboard/submissions/${id}`);
        await one.getByRole("heading", { name: "Waiting in the queue" }).waitFor();
      }
      await go("/nodes");
      await runPending(store);
      for (const one of hidden.slice(1)) await one.close();
      await hidden[0]?.evaluate(
        `document.visibilityState = "visible"; document.dispatchEvent(new Event("visibilitychange"))`,
      );
      await hidden[0]?.getByRole("heading", { name: "Accepted" }).waitFor();
      await hidden[0]?.close();
    },
  );

  await t.test("after a cut, the page shows what has changed meanwhile", async () => {
    assert.deepEqual(complaints, []);
    const proxy = await startProxy(t, running.port);
    const [cookie] = await page.context().cookies(origin);
    assert.ok(cookie);
    await page.goto(`https://127.0.0.1:${proxy.port}/dashboard/nodes`);
    await text("0 of 5 slots");
    await sleep(3_000);
    proxy.refuse();
    await text("No answer from the service since");
    engine.workers = 7;
    engine.ready = BROKEN;
    proxy.restore();
    await text("0 of 7 slots");
    await text("not ready");
    complaints.splice(0);
  });
});
