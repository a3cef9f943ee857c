import type { Command } from "commander";
import { printable, replayDelivery, replayFailed, testEndpoint } from "../admin/deliveries.ts";
import { AdminError } from "../admin/error.ts";
import type { Config } from "../config.ts";
import type { Store } from "../store/store.ts";
import { sendTest } from "../webhooks/send-test.ts";
import { answer } from "./answer.ts";
import { append } from "./option-values.ts";
import { sealerOf, sendOptions, webhookSettings } from "./webhook-settings.ts";
import { lastWords } from "./webhooks-log.ts";
import { ACTOR, commandOnStore, type StoreOptions, withStore } from "./with-store.ts";

interface ReplayOptions {
  readonly failed?: true;
  readonly endpoint?: string;
  readonly since?: string;
}

/** `assay webhooks replay`: the service sends it, by the same rules as the first time. */
export function replayVerb(webhooks: Command): void {
  commandOnStore(
    webhooks,
    "replay",
    "Send a message again with the same webhook-id, or all failed results with --failed. The service sends it within seconds. A result that is already being sent again is skipped, so the command can be repeated.",
  )
    .argument("[delivery]", "id of a delivery")
    .option("--failed", "every result whose newest delivery to an active endpoint failed, oldest first, 500 at a time")
    .option("--endpoint <id>", "with --failed: to this endpoint only")
    .option("--since <time>", "with --failed: deliveries since this time only, such as 2026-01-31T12:00:00Z")
    .action((replays: string | undefined, options: StoreOptions & ReplayOptions) =>
      withStore(options, async (store) => {
        const { failed = false, endpoint: endpointId, since } = options;
        if (failed === (replays !== undefined)) throw new AdminError("specify a delivery or --failed");
        if (!failed && (endpointId ?? since) !== undefined)
          throw new AdminError("--endpoint and --since go with --failed");
        if (replays === undefined) {
          const done = await replayFailed(store, { endpointId, since }, ACTOR);
          const next = done.more ? "; there may be more: repeat the command" : "";
          answer(options.json, done, () => `${done.replayed} will be sent again${next}`);
          return;
        }
        const id = await replayDelivery(store, replays, ACTOR);
        answer(options.json, { id, replays }, () => `will be sent again as delivery ${id}`);
      }),
    );
}

/** `assay webhooks test`: one attempt by this command itself. Exit status 0 only if it was delivered. */
export function testVerb(webhooks: Command): void {
  commandOnStore(
    webhooks,
    "test",
    "Send one test message now, from this command, and print the response. The exit code is 0 only if it was delivered.",
  )
    .argument("<endpoint>", "id, as listed; a disabled endpoint is allowed")
    .option("--webhook-allow <host:port>", "receiver that may have any address, as for serve; repeatable", append, [])
    .option("--webhook-ca <file>", "additional certificate authority for receivers, as for serve")
    .action((endpoint: string, options: StoreOptions) =>
      withStore(options, (store, config) => showTest(store, config, endpoint, options)),
    );
}

async function showTest(store: Store, config: Config, endpointId: string, { json }: StoreOptions): Promise<void> {
  const options = sendOptions(await sealerOf(store, config), webhookSettings(config));
  const view = await testEndpoint((id, actor) => sendTest(store, options, id, actor), endpointId, ACTOR);
  const began = printable(view.attempts[0]?.answer ?? "");
  answer(json, view, () => `${view.state}: ${lastWords(view)}${began && `\n${began}`}`);
  if (view.state !== "delivered") process.exitCode = 1;
}
