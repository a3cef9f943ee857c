import { Command, Option } from "commander";
import {
  type DeliveryView,
  deliveryView,
  printable,
  replayDelivery,
  replayFailed,
  testEndpoint,
} from "../admin/deliveries.ts";
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
import { AdminError } from "../admin/error.ts";
import type { Config } from "../config.ts";
import type { KeyRing } from "../domain/sealer.ts";
import { SIGNINGS, type Signing } from "../domain/webhook.ts";
import type { SecretCursor } from "../store/deliveries/types.ts";
import type { Store } from "../store/store.ts";
import { addKey, forgetOldKeys } from "../webhooks/key-file.ts";
import { checkUrl } from "../webhooks/permitted-addresses.ts";
import { sendTest } from "../webhooks/send-test.ts";
import { answer, table } from "./answer.ts";
import { type ListOptions, listing, noteMore } from "./listing.ts";
import { append, DEFAULT_OVERLAP, duration, wholeNumber } from "./option-values.ts";
import { provenSealerOf, sealerOf, sendOptions, webhookSettings } from "./webhook-settings.ts";
import { ACTOR, commandOnStore, type StoreCommandOptions, withStore } from "./with-store.ts";

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
    .action((options: StoreCommandOptions & { project: string; url: string; signing: Signing }) =>
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
        answer(options.json, all, () => table(["ID", "PROJECT", "URL", "SIGNING", "STATE"], all.map(endpointRow)));
      }),
    );

  for (const { verb, active, about } of [
    { verb: "enable", active: true, about: "Resume deliveries to an endpoint." },
    { verb: "disable", active: false, about: "Stop deliveries to an endpoint. Pending deliveries end as failed." },
  ]) {
    changing(webhooks, verb, about).action((id: string, options: StoreCommandOptions) =>
      withStore(options, async (store) => {
        const endpoint = await setEndpointActive(store, id, active, ACTOR);
        answer(options.json, endpoint, () => `${verb}d ${endpoint.url}`);
      }),
    );
  }

  changing(
    webhooks,
    "set-signing",
    "Change how messages are signed: with the decoded secret (standard) or with its characters (raw).",
  )
    .addArgument(new Command().createArgument("<form>").choices(SIGNINGS))
    .action((id: string, signing: Signing, options: StoreCommandOptions) =>
      withStore(options, async (store) => {
        const endpoint = await setEndpointSigning(store, id, signing, ACTOR);
        answer(options.json, endpoint, () => `messages to ${endpoint.url} are signed as ${endpoint.signing}`);
      }),
    );

  changing(
    webhooks,
    "rotate",
    "Replace the secret and print the new one. The new secret is shown only once. Deliveries are also signed with the old secret until the overlap ends. At most three old secrets are in use.",
  )
    .alias("rotate-secret")
    .option(
      "--overlap <time>",
      `how long deliveries are also signed with the old secret: 90s, 15m, 7d (default: ${DEFAULT_OVERLAP})`,
      duration,
    )
    .addOption(new Option("--now", "end all old secrets immediately").conflicts("overlap"))
    .action((id: string, options: StoreCommandOptions & { overlap?: number; now?: true }) =>
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
    (id: string, options: StoreCommandOptions) =>
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

/** Prints the secret alone, so that a script can pass it to a receiver. With `--json`, the id is printed as well. */
function showMade({ json }: StoreCommandOptions, endpoint: MadeEndpoint): void {
  answer(json, endpoint, () => endpoint.secret);
}

function endpointRow({ id, project, url, signing, active }: EndpointView): string[] {
  return [id, project, url, signing, active ? "active" : "disabled"];
}

interface DeliveriesOptions extends StoreCommandOptions {
  readonly endpoint?: string;
  readonly submission?: string;
  readonly limit: number;
}

/** `assay webhooks deliveries`: deliveries and responses. */
function deliveriesVerb(webhooks: Command): void {
  commandOnStore(
    webhooks,
    "deliveries",
    "List deliveries and responses, newest first. --json has every attempt: time, status, latency, error and the start of the response.",
  )
    .option("--endpoint <id>", "deliveries to this endpoint only")
    .option("--submission <id>", "deliveries of this submission only")
    .option("--limit <number>", "maximum number of deliveries", wholeNumber, 50)
    .action((options: DeliveriesOptions) =>
      withStore(options, async (store) => {
        const { limit: max, endpoint: endpointId, submission: submissionId } = options;
        const all = (await store.deliveries.list({ max, endpointId, submissionId })).map(deliveryView);
        answer(options.json, all, () =>
          table(["ID", "AT", "KIND", "STATE", "ATTEMPTS", "LAST", "SUBMISSION", "URL"], all.map(deliveryRow)),
        );
      }),
    );
}

/** The result of the last attempt, or the reason why there was none. */
function summaryOf({ attempts, reason }: DeliveryView): string {
  const last = attempts.at(-1);
  if (reason !== null || last === undefined) return reason ?? "not tried yet";
  return last.status === null ? printable(last.error ?? "") : `${last.status} in ${last.latencyMs} ms`;
}

function deliveryRow(view: DeliveryView): string[] {
  const { id, createdAt, kind, state, attempts, submission, url } = view;
  return [id, createdAt, kind, state, String(attempts.length), summaryOf(view), submission ?? "-", url];
}

interface ReplayOptions {
  readonly failed?: true;
  readonly endpoint?: string;
  readonly since?: string;
}

/** `assay webhooks replay`: adds deliveries, which the service sends by the rules for all deliveries. */
function replayVerb(webhooks: Command): void {
  commandOnStore(
    webhooks,
    "replay",
    "Send the message of a delivery again with its webhook-id, or all failed results with --failed. The service sends it within seconds. With --failed, a result that is already being sent again is skipped, so the command can be repeated.",
  )
    .argument("[delivery]", "id of a delivery")
    .option("--failed", "every result whose newest delivery to an active endpoint failed, oldest first, 500 at a time")
    .option("--endpoint <id>", "with --failed: to this endpoint only")
    .option("--since <time>", "with --failed: deliveries since this time only, such as 2026-01-31T12:00:00Z")
    .action((replays: string | undefined, options: StoreCommandOptions & ReplayOptions) =>
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

/** `assay webhooks test`: sends a test message itself, in one attempt. The exit code is 0 only if the message was delivered. */
function testVerb(webhooks: Command): void {
  commandOnStore(
    webhooks,
    "test",
    "Send one test message now, from this command, and print the response. The exit code is 0 only if the message was delivered.",
  )
    .argument("<endpoint>", "id, as listed; a disabled endpoint is allowed")
    .option("--webhook-allow <host:port>", "receiver that may have any address, as for serve; repeatable", append, [])
    .option("--webhook-ca <file>", "additional certificate authority for receivers, as for serve")
    .action((endpoint: string, options: StoreCommandOptions) =>
      withStore(options, (store, config) => showTest(store, config, endpoint, options)),
    );
}

async function showTest(
  store: Store,
  config: Config,
  endpointId: string,
  { json }: StoreCommandOptions,
): Promise<void> {
  const options = sendOptions(await sealerOf(store, config), webhookSettings(config));
  const view = await testEndpoint((id, actor) => sendTest(store, options, id, actor), endpointId, ACTOR);
  const began = printable(view.attempts[0]?.answer ?? "");
  answer(json, view, () => `${view.state}: ${summaryOf(view)}${began && `\n${began}`}`);
  if (view.state !== "delivered") process.exitCode = 1;
}

interface ResealOptions {
  readonly newKey?: true;
  readonly forgetOld?: true;
  readonly oneMachine?: true;
}

export interface Resealed {
  readonly secrets: number;
  readonly resealed: number;
  readonly forgotten: number;
}

/**
 * `assay webhooks reseal`: encrypts stored secrets again with the first key of the key file, which is the newest, while services
 * run.
 */
function resealVerb(webhooks: Command): void {
  commandOnStore(
    webhooks,
    "reseal",
    "Encrypt every stored secret again with the first key of the key file, in small batches, while services run. Repeat the command if it is interrupted. For several machines, follow docs/operations.md.",
  )
    .option("--new-key", "first insert a new key at the front of the key file")
    .option("--forget-old", "then remove the other keys, unless a secret still needs one")
    .option("--one-machine", "required with --new-key and PostgreSQL: confirms that all services use this key file")
    .action((options: StoreCommandOptions & ResealOptions) =>
      withStore(options, async (store, config) => {
        const done = await reseal(store, config, options);
        const { secrets, resealed, forgotten } = done;
        const rest = options.forgetOld ? `; ${forgotten} old keys removed` : "";
        answer(options.json, done, () => `${resealed} of ${secrets} secrets sealed again${rest}`);
      }),
    );
}

/**
 * Seals all stored secrets with the newest key.
 * @param maxPerPart the most secrets of one transaction; 500 if undefined.
 * @throws SecretKeyError if the key file cannot be used or does not open every secret, and AdminError if `--one-machine` is
 * missing; nothing was changed then. AdminError if an old key is still needed; the secrets are sealed again then.
 */
export async function reseal(
  store: Store,
  config: Pick<Config, "secretKey" | "database">,
  { newKey, forgetOld, oneMachine }: ResealOptions,
  maxPerPart?: number,
): Promise<Resealed> {
  const { path } = config.secretKey;
  if (newKey && config.database.kind === "postgres" && !oneMachine) {
    // A service with another copy of the file would meet secrets that it cannot open.
    throw new AdminError(
      "services on other machines have key files of their own: follow docs/operations.md, or pass --one-machine if there are none",
    );
  }
  const sealer = await provenSealerOf(store, { secretKey: { path, make: false } });
  if (newKey) addKey(path);
  let secrets = 0;
  let resealed = 0;
  for (let after: SecretCursor | undefined; ; ) {
    const part = await store.secrets.reseal(sealer.renew, ACTOR, after, maxPerPart);
    secrets += part.read;
    resealed += part.resealed;
    if (part.next === null) break;
    after = part.next;
  }
  return { secrets, resealed, forgotten: forgetOld ? await forget(store, sealer, path) : 0 };
}

/**
 * Removes the old keys from the key file, after a proof that no secret needs them. No secret can be stored between the proof and
 * the removal.
 * @returns how many keys were removed. @throws AdminError if a secret needs an old key.
 */
function forget(store: Store, sealer: KeyRing, path: string): Promise<number> {
  const newest = sealer.newest();
  const prove = (endpointId: string, sealed: Buffer) => {
    if (sealer.renew(endpointId, sealed) === null) return;
    throw new AdminError(
      `the secret of endpoint ${endpointId} is sealed with an old key, which stays: repeat the command when every machine has the new key in front`,
    );
  };
  return store.secrets.proven(prove, () => forgetOldKeys(path, newest));
}
