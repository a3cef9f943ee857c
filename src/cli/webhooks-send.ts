import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { AdminError } from "../admin/error.ts";
import type { Config } from "../config.ts";
import type { Store } from "../store/port.ts";
import { deliver } from "../webhooks/deliver.ts";
import { testBody } from "../webhooks/test-body.ts";
import { answer } from "./answer.ts";
import { append } from "./option-values.ts";
import { sealerOf, sendOptions, webhookSettings } from "./webhook-settings.ts";
import { deliveryView, lastWords, printable } from "./webhooks-log.ts";
import { commandOnStore, type StoreOptions, withStore } from "./with-store.ts";

/** Longer than an attempt can take; after it, a service that sees the test takes it over. */
const LEASE_MS = 30_000;

/** `assay webhooks replay`: the service sends it, by the same rules as the first time. */
export function replayVerb(webhooks: Command): void {
  commandOnStore(
    webhooks,
    "replay",
    "send the same message again, with the same webhook-id; the service does it within seconds",
  )
    .argument("<delivery>", "its id, as the deliveries show it")
    .action((replays: string, options: StoreOptions) =>
      withStore(options, async (store) => {
        const id = await store.deliveries.replay(replays);
        if (id === undefined) throw new AdminError("there is no such delivery to an endpoint that is active");
        answer(options.json, { id, replays }, () => `will be sent again as delivery ${id}`);
      }),
    );
}

/** `assay webhooks test`: one attempt by this command itself. Exit status 0 only if it was delivered. */
export function testVerb(webhooks: Command): void {
  commandOnStore(
    webhooks,
    "test",
    "send a test message now, once, and show what came back; exit code 0 only if it was delivered",
  )
    .argument("<endpoint>", "its id, as the list shows it; it need not be active")
    .option("--webhook-allow <host:port>", "a receiver that may have any address, as for serve", append, [])
    .option("--webhook-ca <file>", "an authority of receivers, as for serve")
    .action((endpoint: string, options: StoreOptions) =>
      withStore(options, (store, config) => sendTest(store, config, endpoint, options)),
    );
}

async function sendTest(store: Store, config: Config, endpointId: string, { json }: StoreOptions): Promise<void> {
  const options = sendOptions(await sealerOf(store, config), webhookSettings(config));
  const messageId = randomUUID();
  const body = testBody(messageId, Date.now());
  const claim = await store.deliveries.addTest(endpointId, { messageId, body, leaseMs: LEASE_MS });
  if (!claim) throw new AdminError("there is no such endpoint");
  const sent = await deliver(claim, store, options, new AbortController().signal);
  const [delivery] = await store.deliveries.list({ max: 1, id: claim.id });
  if (!sent || !delivery) throw new AdminError("the endpoint was removed meanwhile");
  const view = deliveryView(delivery);
  const began = printable(view.attempts[0]?.answer ?? "");
  answer(json, view, () => `${view.state}: ${lastWords(view)}${began && `\n${began}`}`);
  if (sent.ending !== "delivered") process.exitCode = 1;
}
