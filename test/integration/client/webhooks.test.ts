import assert from "node:assert/strict";
import { test } from "node:test";
import { newWebhookSecret, type Signing } from "../../../src/domain/webhook.ts";
import { sign } from "../../../src/webhooks/sign.ts";
import { CLIENTS } from "../../support/client/drive.ts";

const BODY = Buffer.from('{"id":"7", "output":{"stdout":"é\\n"}}');

async function message(secrets: readonly string[], signing: Signing = "standard", atMs = Date.now()) {
  const signed = await sign({ id: "id 1", atMs, body: [BODY], owner: "" }, secrets, signing);
  return { body: BODY, headers: { ...signed } };
}

for (const [name, { verify }] of Object.entries(CLIENTS)) {
  test(`${name}: accepts a message with the signature of a secret, also during a rotation`, async () => {
    const [secret, next] = [newWebhookSecret(), newWebhookSecret()];
    const expected = { type: "submission", id: "id 1", record: JSON.parse(BODY.toString()) };
    assert.deepEqual((await verify({ ...(await message([secret])), secret })).value, expected);
    assert.deepEqual((await verify({ ...(await message([next, secret])), secret })).value, expected);
    assert.deepEqual((await verify({ ...(await message([next])), secret: [secret, next] })).value, expected);
    const raw = await message([secret], "raw");
    assert.deepEqual((await verify({ ...raw, secret, signing: "raw" })).value, expected);
    assert.match((await verify({ ...raw, secret })).error?.message ?? "", /signature/);
  });

  test(`${name}: rejects a changed message, another secret, an old message and one without a signature`, async () => {
    const secret = newWebhookSecret();
    const signed = await message([secret]);
    const fails = async (changed: Partial<typeof signed> & { secret?: string }, why: RegExp) =>
      assert.match((await verify({ ...signed, secret, ...changed })).error?.message ?? "", why);
    await fails({ body: Buffer.from(BODY.toString().replace("7", "8")) }, /signature/);
    await fails({ headers: { ...signed.headers, "webhook-id": "id 2" } }, /signature/);
    await fails({ headers: { ...signed.headers, "webhook-signature": "v1, v1,AAAA v2,x" } }, /signature/);
    await fails({ secret: newWebhookSecret() }, /signature/);
    for (const ageMs of [301_000, -302_000])
      await fails(await message([secret], "standard", Date.now() - ageMs), /time/);
    for (const timestamp of ["", "-1", "1e9", "9".repeat(5_000)])
      await fails({ headers: { ...signed.headers, "webhook-timestamp": timestamp } }, /time/);
    const { "webhook-signature": _, ...unsigned } = signed.headers;
    await fails({ headers: unsigned as typeof signed.headers }, /webhook-signature/);
  });
}
