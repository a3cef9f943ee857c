import { Command, Option } from "commander";
import {
  createEndpoint,
  type EndpointView,
  listEndpoints,
  type MadeEndpoint,
  removeEndpoint,
  rotateEndpointSecret,
  setEndpointActive,
  setEndpointSigning,
} from "../admin/endpoints.ts";
import { SIGNINGS, type Signing } from "../domain/webhook.ts";
import { checkUrl } from "../webhooks/permitted-addresses.ts";
import { answer, table } from "./answer.ts";
import { type ListOptions, listing, noteMore } from "./listing.ts";
import { append, DEFAULT_OVERLAP, duration } from "./option-values.ts";
import { provenSealerOf, sealerOf, webhookSettings } from "./webhook-settings.ts";
import { deliveriesVerb } from "./webhooks-log.ts";
import { resealVerb } from "./webhooks-reseal.ts";
import { replayVerb, testVerb } from "./webhooks-send.ts";
import { ACTOR, commandOnStore, type StoreOptions, withStore } from "./with-store.ts";

/** `assay webhooks`: where the results of a project are sent. */
export function webhooksCommand(): Command {
  const webhooks = new Command("webhooks").description(
    "Create, list, change and remove webhook endpoints, and inspect and replay deliveries.",
  );

  commandOnStore(webhooks, "create", "Create an endpoint and print its secret. The secret is shown only once.")
    .requiredOption("--project <project>", "project, by name or id, whose results are sent")
    .requiredOption("--url <url>", "address of the receiver, https://…")
    .option("--webhook-allow <host:port>", "receiver that may have any address, as for serve; repeatable", append, [])
    .addOption(
      new Option(
        "--signing <form>",
        "how the receiver reads the secret: standard decodes it, raw takes its characters as the HMAC key",
      )
        .choices(SIGNINGS)
        .default("standard"),
    )
    .action((options: StoreOptions & { project: string; url: string; signing: Signing }) =>
      withStore(options, async (store, config) => {
        const { allow } = webhookSettings(config);
        const checked = (url: string) => checkUrl(url, allow);
        const needs = { store, sealer: await provenSealerOf(store, config), checkUrl: checked };
        const { made, caution } = await createEndpoint(needs, options, ACTOR);
        if (caution !== null) process.stderr.write(`note: ${caution}\n`);
        showMade(options, made);
      }),
    );

  listing(webhooks, "List endpoints, newest first.")
    .option("--project <project>", "endpoints of this project only, by name or id")
    .action((options: ListOptions & { project?: string }) =>
      withStore(options, async (store) => {
        const all = await listEndpoints(store, options);
        noteMore(all, options.limit);
        answer(options.json, all, () => table(["ID", "PROJECT", "URL", "SIGNING", "STATE"], all.map(row)));
      }),
    );

  for (const { verb, active, about } of [
    { verb: "enable", active: true, about: "Resume deliveries to an endpoint." },
    { verb: "disable", active: false, about: "Stop deliveries to an endpoint. Pending deliveries end as failed." },
  ]) {
    changing(webhooks, verb, about).action((id: string, options: StoreOptions) =>
      withStore(options, async (store) => {
        const endpoint = await setEndpointActive(store, id, active, ACTOR);
        answer(options.json, endpoint, () => `${verb}d ${endpoint.url}`);
      }),
    );
  }

  changing(webhooks, "set-signing", "Change how the receiver reads the secret.")
    .addArgument(new Command().createArgument("<form>").choices(SIGNINGS))
    .action((id: string, signing: Signing, options: StoreOptions) =>
      withStore(options, async (store) => {
        const endpoint = await setEndpointSigning(store, id, signing, ACTOR);
        answer(options.json, endpoint, () => `${endpoint.url} is signed for as ${endpoint.signing}`);
      }),
    );

  changing(
    webhooks,
    "rotate",
    "Replace the secret and print the new one. It is shown only once. Deliveries are also signed with the old secret until the overlap ends. At most three old secrets are in use.",
  )
    .alias("rotate-secret")
    .option(
      "--overlap <time>",
      `how long deliveries are also signed with the old secret: 90s, 15m, 7d (default: ${DEFAULT_OVERLAP})`,
      duration,
    )
    .addOption(new Option("--now", "end all old secrets immediately").conflicts("overlap"))
    .action((id: string, options: StoreOptions & { overlap?: number; now?: true }) =>
      withStore(options, async (store, config) => {
        const needs = { store, sealer: await sealerOf(store, config) };
        const overlapMs = options.now ? 0 : (options.overlap ?? duration(DEFAULT_OVERLAP));
        const made = await rotateEndpointSecret(needs, id, overlapMs, ACTOR);
        showMade(options, made);
        if (!options.json && overlapMs > 0)
          process.stderr.write(`deliveries are signed with the old secret too until ${made.formerEndsAt}\n`);
      }),
    );

  changing(webhooks, "remove", "Remove an endpoint. Its deliveries stay on record.").action(
    (id: string, options: StoreOptions) =>
      withStore(options, async (store) => {
        await removeEndpoint(store, id, ACTOR);
        answer(options.json, { id, removed: true }, () => `removed ${id}`);
      }),
  );

  resealVerb(webhooks);
  deliveriesVerb(webhooks);
  replayVerb(webhooks);
  testVerb(webhooks);
  return webhooks;
}

function changing(webhooks: Command, verb: string, about: string): Command {
  return commandOnStore(webhooks, verb, about).argument("<id>", "id, as listed");
}

/** The secret alone can be put into a receiver by a script; the id comes with --json and the list. */
function showMade({ json }: StoreOptions, endpoint: MadeEndpoint): void {
  answer(json, endpoint, () => endpoint.secret);
}

function row({ id, project, url, signing, active }: EndpointView): string[] {
  return [id, project, url, signing, active ? "active" : "disabled"];
}
