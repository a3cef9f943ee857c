import assert from "node:assert/strict";
import { test } from "node:test";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import { toRecord } from "../../../src/domain/record.ts";
import { newWebhookSecret } from "../../../src/domain/webhook.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { bodyOf } from "../../../src/webhooks/body.ts";
import { sign } from "../../../src/webhooks/sign.ts";
import { watchTurns } from "../../support/bounds/measured.ts";
import { temporaryStore } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";
import { addEndpoint, addProject, deliveryBudget, endOne } from "../../support/webhooks/project.ts";

const MIB = 1_048_576;
const AT_ONCE = 6;
const MOST_MS = 20;

test("building and signing bodies of 12 MB at once does not block the event loop", { timeout: 60_000 }, async (t) => {
  const { store } = await temporaryStore(t);
  const project = await addProject(store);
  for (let n = 0; n < 2; n++) await addEndpoint(store, project);
  const full = Buffer.alloc(MIB, 1);
  const id = await endOne(store, project, buildOutcome({ execute: report({ stdout: full, stderr: full }) }));
  const [claim] = await store.deliveries.claimDue({ leaseMs: 60_000, ...deliveryBudget(1) });
  assert.ok(claim);
  const message = await store.deliveries.message(claim);
  assert.ok(message);
  const turns = watchTurns();
  const bodies = await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, n) => {
      const body = await bodyOf(message, `${n % 2}`, FOREIGN_APIS);
      await sign({ id, atMs: 0, body, owner: `${n % 2}` }, [newWebhookSecret(), newWebhookSecret()], "standard");
      return body;
    }),
  );
  const { p999Ms, mostMs } = turns();
  t.diagnostic(`p99.9 ${p999Ms.toFixed(1)} ms, maximum ${mostMs.toFixed(1)} ms`);
  const submission = await store.submissions.get(id, project.key.accountId);
  assert.ok(submission);
  const expected = Buffer.from(JSON.stringify(toRecord(submission)));
  for (const body of bodies) {
    assert.ok(Buffer.concat(body).equals(expected));
    assert.ok(body.every(({ length }) => length <= 65_536));
    assert.ok(expected.length <= claim.bodyBytes, "larger than the counted size");
  }
  assert.ok(p999Ms <= MOST_MS, `p99.9 ${p999Ms} ms`);
  assert.ok(mostMs <= 2 * MOST_MS, `maximum ${mostMs} ms`);
});
