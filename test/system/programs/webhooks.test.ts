import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { assay } from "../../support/cli/processes.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";
import { makeCertificates, type Receiver, startReceiver } from "../../support/webhooks/receiver.ts";

const LIMIT = { timeout: 60_000 };

let receiver: Receiver;
let closing = async () => {};
/** The status that the receiver answers; tests change it. */
let status = 200;

const product = useProduct({
  project: "shop",
  prepare: async (data) => {
    const certificates = makeCertificates();
    const context = { after: (close: () => Promise<void>) => (closing = close) } as Parameters<typeof startReceiver>[0];
    receiver = await startReceiver(context, certificates, (response) => response.writeHead(status).end());
    const ca = join(data, "receivers.pem");
    writeFileSync(ca, certificates.ca);
    return ["--webhook-allow", `127.0.0.1:${receiver.port}`, "--webhook-ca", ca];
  },
});
after(() => closing());

const webhooks = async (...args: string[]) => {
  const { code, stdout, stderr } = await assay("webhooks", ...args, "--json", "--data", product().data);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
};

let made: Promise<{ secret: string }> | undefined;

/** The project's endpoint; the first test creates it. */
const endpoint = () => (made ??= webhooks("create", "--project", "shop", "--url", receiver.url));

/** The message with this number, verified by the official library. */
async function delivered(count: number) {
  await receiver.until(count);
  const { body, headers } = receiver.received[count - 1] ?? assert.fail();
  const record = new Webhook((await endpoint()).secret).verify(body, headers as Record<string, string>);
  return { record, headers };
}

test("a project's submission is delivered as the record that the API returns", LIMIT, async () => {
  await endpoint();
  const run = await product().run("python", "print(6 * 7)");
  const { record, headers } = await delivered(1);
  assert.deepEqual(record, run);
  const { id, output } = checked(run) as ReturnType<typeof checked> & { id: string };
  assert.deepEqual([headers["webhook-id"], output.stdout], [id, "42\n"]);
  const { json } = await product().ask("GET", `/api/result/${id}`);
  assert.deepEqual(json, record);
});

test("a failed delivery does not affect the submitter and is repeated", LIMIT, async () => {
  await endpoint();
  const before = receiver.received.length;
  status = 503;
  const run = (await product().run("python", "raise SystemExit(7)")) as { id: string; status: string };
  assert.equal(run.status, "completed");
  await receiver.until(before + 1);
  status = 200;
  const { headers } = await delivered(before + 2);
  assert.equal(headers["webhook-id"], run.id);
  for (;;) {
    const [delivery] = await webhooks("deliveries", "--submission", run.id);
    if (delivery.state !== "pending") {
      assert.deepEqual([delivery.state, delivery.attempts.length], ["delivered", 2]);
      assert.deepEqual([delivery.attempts[0].status, delivery.attempts[1].status], [503, 200]);
      break;
    }
    await sleep(50);
  }
});
