import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import { Deliverer } from "../../../src/webhooks/deliverer.ts";
import { threadedPost } from "../../../src/webhooks/threaded-post.ts";
import { endOne, sealer } from "../../support/webhooks/project.ts";
import { makeCertificates, startReceiver } from "../../support/webhooks/receiver.ts";
import { inside } from "./inside.ts";
import { looksGood } from "./page-actions.ts";

/** Escapes, HTML and a change of direction, which pages must show as text. */
const HOSTILE = "\u001b[31m<img src=x onerror=alert(1)>\u202e";

test("an endpoint, from its first failure to the replay of what failed", async (t) => {
  const certificates = makeCertificates();
  let status = 200;
  const receiver = await startReceiver(t, certificates, (response) => {
    response.writeHead(status, { "x-request": "a-1", "x-hostile": "<b>bold</b>", "set-cookie": "session=secret" });
    response.end(`${status} ${HOSTILE}`);
  });
  const receivers = { ports: [receiver.port], ca: certificates.ca };
  const { page, club, go, origin, complaints } = await inside(t, { receivers });
  const { running, ada, projectId, accountId } = club;
  const { store, clock } = running;
  clock.nowMs = Date.now();
  const { key } = (await ada("POST", "/keys", { name: "grader", projectId })).json;
  const project = { id: projectId, key: { keyId: key.id, accountId } };
  const { endpoint } = (await ada("POST", "/endpoints", { projectId, url: receiver.url })).json;
  const allowed = [{ host: "127.0.0.1", port: receiver.port }];
  const post = threadedPost({ ca: certificates.ca });
  const log = pino({ level: "silent" });
  const sending = {
    store,
    log,
    drainMs: 100,
    sealer,
    allowed,
    post,
    foreignApis: FOREIGN_APIS,
    userAgent: "Assay/1.2.3",
  };
  const deliverer = Deliverer.start(sending);
  t.after(() => deliverer.stop());
  const settled = async () => {
    while ((await store.deliveries.list({ max: 50 })).some(({ state }) => state === "pending")) {
      clock.nowMs = Date.now();
      await sleep(50);
    }
  };
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const navigation = page.getByRole("navigation", { name: "Pages" }).first();
  await endOne(store, project);
  await settled();

  await t.test("while it works, no page has an alert", async () => {
    await go(`/projects/${projectId}`);
    await page.getByText("1 delivered").waitFor();
    assert.equal(await navigation.getByText("failing").count(), 0);
    assert.equal(await page.getByText("endpoint fails").count(), 0);
  });

  const failed: string[] = [];
  await t.test("when it fails, the navigation and the pages of its project have an alert", async () => {
    status = 410;
    for (let at = 0; at < 2; at++) failed.push(await endOne(store, project));
    await settled();
    await go(`/projects/${projectId}`);
    await page.getByText("1 endpoint fails: results are not delivered.").waitFor();
    assert.equal(await navigation.getByRole("link", { name: "Webhooks" }).textContent(), "Webhooks1 failing");
    await page.getByRole("status").getByRole("link", { name: receiver.url }).click();
    await page.getByText("Deliveries fail: the first failure was").waitFor();
    await looksGood(page, "endpoint");
  });

  await t.test("a delivery has its request and its response as they were, inert", async () => {
    const delivery = page.getByRole("listitem").filter({ hasText: "result" }).first();
    await delivery.locator("summary").first().click();
    const link = delivery.getByRole("link", { name: /^Submission / });
    assert.equal(await link.getAttribute("href"), `/dashboard/submissions/${failed[1]}`);
    const sent = receiver.received.at(-1);
    await delivery.getByText(/^Request headers/).click();
    for (const name of ["host", "user-agent", "webhook-id", "webhook-signature", "content-length"]) {
      const value = delivery.locator("dt", { hasText: new RegExp(`^${name}$`) }).locator("xpath=../dd");
      assert.equal(await value.first().textContent(), sent?.headers[name], name);
    }
    await delivery.getByText("Request body", { exact: true }).click();
    const body = delivery.getByRole("region", { name: "Request body" });
    assert.equal(await body.textContent(), String(sent?.body));
    await delivery.getByText(/^Response headers/).click();
    await delivery.getByText("<b>bold</b>").waitFor();
    await delivery.getByText("(not kept)").waitFor();
    assert.equal(await page.getByText("session=secret").count(), 0);
    const answer = delivery.getByRole("region", { name: "Response body of attempt 1" });
    assert.equal(await answer.textContent(), "410 \ufffd[31m<img src=x onerror=alert(1)>\ufffd");
    await looksGood(page, "delivery");
  });

  await t.test(
    "a receiver that works again: the alert ends, and failed deliveries of a time are replayed",
    async () => {
      status = 200;
      await button("Send test").click();
      await page.getByText("Test delivered: status 200.").waitFor();
      await page.getByText("Deliveries fail").waitFor({ state: "detached" });
      await button("Replay failed").click();
      const ranged = page.getByLabel("Deliveries created");
      await ranged.selectOption("From … until …");
      await page.locator('input[name="since"]').fill("2020-01-01T00:00");
      await page.locator('input[name="until"]').fill("2020-01-02T00:00");
      await button("Replay deliveries").click();
      await page.getByText("No failed delivery to replay.").waitFor();
      await button("Replay failed").click();
      await ranged.selectOption("Last hour");
      const before = receiver.received.length;
      await button("Replay deliveries").click();
      await page.getByText("Replaying 2 deliveries.").waitFor();
      await settled();
      const again = receiver.received.slice(before).map(({ headers }) => headers["webhook-id"]);
      assert.deepEqual(again.toSorted(), failed.toSorted());
    },
  );

  await t.test(
    "pausing, signing, rotating and removing ask first, in one menu, with the name of the action",
    async () => {
      const choose = async (item: string) => {
        await button("Actions for the endpoint").click();
        await page.getByRole("menuitem", { name: item }).click();
      };
      await choose("Pause endpoint");
      await page.getByRole("dialog").getByText("neither now nor later").waitFor();
      assert.equal((await store.endpoints.get(endpoint.id))?.active, true);
      await button("Pause endpoint").click();
      await page.getByText("Endpoint paused.").waitFor();
      assert.equal((await store.endpoints.get(endpoint.id))?.active, false);
      await choose("Resume endpoint");
      await button("Resume endpoint").click();
      await page.getByText("Endpoint resumed.").waitFor();
      await choose("Change signing");
      await page.getByLabel("Signing", { exact: true }).selectOption("raw");
      assert.equal((await store.endpoints.get(endpoint.id))?.signing, "standard");
      await button("Change signing").click();
      await page.getByText("Signing changed to raw.").waitFor();
      await choose("Rotate secret");
      await button("Cancel").click();
      await choose("Remove endpoint");
      // The deliveries stay, as after a removal by a command.
      await page.getByRole("dialog").getByText("Deliveries stay on record").waitFor();
      await button("Remove endpoint").click();
      await page.getByText("Endpoint removed.").waitFor();
      assert.equal(await store.endpoints.get(endpoint.id), undefined);
      await go(`/submissions/${failed[0]}`);
      await page.getByRole("tab", { name: "Deliveries" }).click();
      await page.getByText("delivered").first().waitFor();
      await page.goto(`${origin}/dashboard/webhooks`);
      await page.getByText("No endpoint yet").waitFor();
      await button("Create an endpoint").click();
      await page.getByRole("dialog", { name: "New endpoint" }).waitFor();
    },
  );

  await t.test("an endpoint whose host is unknown has this reason in each row, also on a phone", async () => {
    const unknown = (await ada("POST", "/endpoints", { projectId, url: "https://graderesults.example.invalid/" })).json;
    await endOne(store, project);
    await go(`/webhooks/${unknown.endpoint.id}`);
    await page.getByText("DNS: graderesults.example.invalid not found").first().waitFor();
    await looksGood(page, "unknown-host");
  });

  assert.deepEqual(complaints, []);
});
