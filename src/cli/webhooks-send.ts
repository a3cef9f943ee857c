import type { Command } from "commander";
import { printable, replayDelivery, testEndpoint } from "../admin/deliveries.ts";
import type { Config } from "../config.ts";
import type { Store } from "../store/port.ts";
import { sendTest } from "../webhooks/send-test.ts";
import { answer } from "./answer.ts";
import { append } from "./option-values.ts";
import { sealerOf, sendOptions, webhookSettings } from "./webhook-settings.ts";
import { lastWords } from "./webhooks-log.ts";
import { commandOnStore, type StoreOptions, withStore } from "./with-store.ts";

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
        const id = await replayDelivery(store, replays);
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
      withStore(options, (store, config) => showTest(store, config, endpoint, options)),
    );
}

async function showTest(store: Store, config: Config, endpointId: string, { json }: StoreOptions): Promise<void> {
  const options = sendOptions(await sealerOf(store, config), webhookSettings(config));
  const view = await testEndpoint((id) => sendTest(store, options, id), endpointId);
  const began = printable(view.attempts[0]?.answer ?? "");
  answer(json, view, () => `${view.state}: ${lastWords(view)}${began && `\n${began}`}`);
  if (view.state !== "delivered") process.exitCode = 1;
}
