import assert from "node:assert/strict";
import { test } from "node:test";
import { deliveryView, printable, replayDelivery, testEndpoint } from "../../../src/admin/deliveries.ts";
import { AdminError } from "../../../src/admin/error.ts";
import type { Delivery } from "../../../src/store/deliveries/types.ts";
import { temporaryStore } from "../../support/store/temporary.ts";
import { ACTOR, addEndpoint, addProject, endOne } from "../../support/webhooks/project.ts";

test("shows a delivery with times as text, attempts in order and responses as valid UTF-8", () => {
  const attempt = { atMs: 0, latencyMs: 5, status: 200, error: null, answer: Buffer.from([0x68, 0xff]) };
  const silent = { ...attempt, atMs: 1_000, status: null, error: "no answer", answer: null };
  const delivery: Delivery = {
    ...{
      id: "d",
      seq: 1,
      endpointId: "e",
      url: "https://r.example/",
      accountId: "a",
      submissionId: null,
      messageId: "m",
      kind: "test",
    },
    ...{ state: "failed", createdAtMs: 0, nextAtMs: null, endedAtMs: 2_000, reason: null },
    attempts: [silent, attempt],
  };
  const { attempts, ...view } = deliveryView(delivery);
  assert.deepEqual(view, {
    ...{
      id: "d",
      endpoint: "e",
      url: "https://r.example/",
      submission: null,
      webhookId: "m",
      kind: "test",
      state: "failed",
      reason: null,
    },
    ...{ createdAt: "1970-01-01T00:00:00.000Z", nextAt: null, endedAt: "1970-01-01T00:00:02.000Z" },
  });
  assert.deepEqual(
    attempts.map(({ number, at, status, error, answer }) => [number, at, status, error, answer]),
    [
      [1, "1970-01-01T00:00:01.000Z", null, "no answer", null],
      [2, "1970-01-01T00:00:00.000Z", 200, null, "h\ufffd"],
    ],
  );
});

test("escapes control characters of a receiver's response", () => {
  assert.equal(printable("a\tb\nc\r\u001b[31m\u202e\u0000é"), "a\tb\nc\ufffd\ufffd[31m\ufffd\ufffdé");
});

test("gives the reason for not sending again in one sentence", async (t) => {
  const { store } = await temporaryStore(t);
  const project = await addProject(store);
  const { id } = await addEndpoint(store, project);
  await endOne(store, project);
  const [delivery] = await store.deliveries.list({ max: 1 });
  assert.notEqual(await replayDelivery(store, delivery?.id ?? "", ACTOR), delivery?.id);
  await store.endpoints.setActive(id, false, ACTOR);
  const off = new AdminError("its endpoint is disabled or was removed");
  await assert.rejects(replayDelivery(store, delivery?.id ?? "", ACTOR), off);
  await assert.rejects(replayDelivery(store, "none", ACTOR), new AdminError("there is no such delivery"));
  await assert.rejects(
    testEndpoint(async () => undefined, "none", ACTOR),
    new AdminError("there is no webhook endpoint none"),
  );
});
