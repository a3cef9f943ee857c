import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { newWebhookSecret } from "../../../src/domain/webhook.ts";
import { sign } from "../../../src/webhooks/sign.ts";

const now = () => Date.now();

test("the official library verifies every body, byte for byte", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
      const secret = newWebhookSecret();
      const body = Buffer.from(text, "utf8");
      const headers = await sign({ id: randomUUID(), atMs: now(), body: [body], owner: "a" }, [secret], "standard");
      new Webhook(secret).verify(body, { ...headers }, { jsonParse: false });
    }),
  );
});

test("the official library verifies signatures of raw secrets", async () => {
  const secret = newWebhookSecret();
  const body = Buffer.from('{"a":"\u00e9"}');
  const headers = { ...(await sign({ id: "m", atMs: now(), body: [body], owner: "a" }, [secret], "raw")) };
  new Webhook(secret, { format: "raw" }).verify(body, headers);
  assert.throws(() => new Webhook(secret).verify(body, headers), WebhookVerificationError);
});

test("another body, id, timestamp or secret fails verification", async () => {
  const secret = newWebhookSecret();
  const body = Buffer.from('{"verdict":"AC"}');
  const headers = { ...(await sign({ id: "m", atMs: now(), body: [body], owner: "a" }, [secret], "standard")) };
  const receiver = new Webhook(secret);
  receiver.verify(body, headers);
  const later = String(Number(headers["webhook-timestamp"]) + 1);
  for (const [what, changed] of [
    [Buffer.from('{"verdict":"RE"}'), headers],
    [body, { ...headers, "webhook-id": "n" }],
    [body, { ...headers, "webhook-timestamp": later }],
    [body, { ...headers, "webhook-signature": "v1," }],
  ] as const) {
    assert.throws(() => receiver.verify(what, changed), WebhookVerificationError);
  }
  assert.throws(() => new Webhook(newWebhookSecret()).verify(body, headers), WebhookVerificationError);
});

test("a known secret gives the known signature", async () => {
  const message = {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    atMs: 1_614_265_330_000,
    body: [Buffer.from('{"test": '), Buffer.from("2432232314}")],
    owner: "a",
  };
  const signed = await sign(message, ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], "standard");
  assert.equal(signed["webhook-timestamp"], "1614265330");
  assert.equal(signed["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test("rejects an empty or truncated secret", async () => {
  for (const secret of ["", "whsec_", "whsec_%%%", "whsec_abc", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]) {
    await assert.rejects(sign({ id: "m", atMs: 0, body: [], owner: "a" }, [secret], "standard"), /whsec_/, secret);
  }
});
