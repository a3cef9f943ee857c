import assert from "node:assert/strict";
import { test } from "node:test";
import { PORTS } from "../../support/egress/internet/messages.ts";
import { EgressProduct, inReverse } from "../../support/egress/internet/product.ts";
import { RACE } from "./programs.ts";

/*
 * Two services with launchers of their own, and one PostgreSQL database: what the sandboxes of an account may send and receive together on one day holds for both.
 */

const HOST = { host: "api.example.com", ports: [PORTS.bulk, PORTS.sink] };
const PER_DAY = 5_000_001;
/** Each sandbox alone may have less than the day, and both together more. */
const PER_SANDBOX = 4_000_000;

test("sandboxes of two services never use more than the bytes that their account has for the day, and no byte is left", {
  timeout: 300_000,
}, async (t) => {
  const scope = inReverse(t);
  const product = await EgressProduct.start(scope, { database: "postgres", sandboxes: 2 });
  const second = await product.another();
  await product.internet.setZone({ "api.example.com": { a: ["23.1.1.1"] } });
  const network = { allow: [HOST], bytes_up: PER_SANDBOX, bytes_down: PER_SANDBOX };
  await product.permit({ policy: network, bytes_up_per_day: PER_DAY, bytes_down_per_day: PER_DAY });
  const sandboxes = [await product.sandbox(scope, network), await product.sandbox(scope, network, second)];
  const race = (...args: readonly string[]) =>
    Promise.all(sandboxes.map(async (sandbox) => (await sandbox.python(RACE, ["api.example.com", ...args])).egress));
  const downloads = await race(String(PORTS.bulk), "16", "100000000\n", "receive");
  const sum = (bytes: readonly number[]) => bytes.reduce((all, one) => all + one, 0);
  assert.equal(sum(downloads.map((one) => one.bytes_down)), PER_DAY);
  const uploads = await race(String(PORTS.sink), "16", "", "send");
  const up = [...downloads, ...uploads].map((one) => one.bytes_up);
  assert.equal(sum(up), PER_DAY);
  for (const { bytes_up, bytes_down } of await Promise.all(sandboxes.map((sandbox) => sandbox.egress())))
    assert.ok(bytes_up <= PER_SANDBOX && bytes_down <= PER_SANDBOX, `${bytes_up}, ${bytes_down}`);
  const reasons = uploads.flatMap(({ connections }) => connections.map(({ reason }) => reason));
  assert.ok(
    reasons.some((reason) => /sandboxes of this project or account may send in a day is used up/.test(reason ?? "")),
    reasons.join("; "),
  );
  const { connections } = await product.internet.observed();
  assert.ok(sum(connections.map(({ received }) => received)) <= PER_DAY);
});
