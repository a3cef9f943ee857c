import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { FOREIGN_APIS } from "../compat/apis.ts";
import { type Config, ConfigError } from "../config.ts";
import type { KeyRing, Sealer } from "../domain/sealer.ts";
import type { HostPort } from "../domain/transport.ts";
import { VERSION } from "../http/responses/version.ts";
import type { SecretCursor } from "../store/deliveries/types.ts";
import type { Store } from "../store/store.ts";
import { fileSealer } from "../webhooks/seal.ts";
import type { SendOptions } from "../webhooks/send.ts";
import { threadedPost } from "../webhooks/threaded-post.ts";
import { checkAuthority } from "../webhooks/trust.ts";

/** The settings of webhooks that decide which receivers are allowed and trusted. */
export interface WebhookSettings {
  /** Receivers that may have any address. */
  readonly allow: readonly HostPort[];
  /** An additional certificate authority for receivers, in PEM; null for none. */
  readonly ca: string | null;
}

const settingsSchema = z.object({
  allow: z.array(z.object({ host: z.string(), port: z.number() })),
  ca: z.string().nullable(),
});

/** The settings of this process. @throws if the file of the authority cannot be read. */
export function ownWebhookSettings({ webhooks: { allow, caPath } }: Pick<Config, "webhooks">): WebhookSettings {
  return { allow, ca: caPath === null ? null : readFileSync(caPath, "utf8") };
}

/**
 * Stores the settings of the service in a file, so that commands check addresses by the rules of the service without its flags.
 * The service itself checks each connection. The file is written only if the settings have changed, so that a service can be
 * restarted on a full disk.
 * @throws ConfigError if the file cannot be written.
 */
export function noteWebhookSettings(config: Pick<Config, "dataDir">, settings: WebhookSettings): void {
  const path = notePath(config);
  const text = JSON.stringify(settings);
  if (existsSync(path) && readFileSync(path, "utf8") === text) return;
  try {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  } catch (error) {
    throw new ConfigError(`cannot write to the data directory: ${(error as Error).message}`);
  }
}

/**
 * The settings of a command together with those of the service that was started last. If both have an authority, that of the
 * command counts.
 */
export function webhookSettings(config: Pick<Config, "webhooks" | "dataDir">): WebhookSettings {
  const own = ownWebhookSettings(config);
  const noted = readNote(config);
  return { allow: [...own.allow, ...(noted?.allow ?? [])], ca: own.ca ?? noted?.ca ?? null };
}

/** @throws ConfigError if the authority is not a certificate. */
export function sendOptions(sealer: Sealer, { allow, ca }: WebhookSettings): SendOptions {
  try {
    if (ca !== null) checkAuthority(ca);
  } catch {
    throw new ConfigError("ASSAY_WEBHOOK_CA: there is no certificate in the file");
  }
  return {
    sealer,
    allowed: allow,
    post: threadedPost({ ca }),
    foreignApis: FOREIGN_APIS,
    userAgent: `Assay/${VERSION}`,
  };
}

/**
 * The sealer for the webhook secrets of a database. No key is created if the database already has secrets, because these need the
 * key with which they were sealed.
 * @throws SecretKeyError if the file cannot be used.
 */
export async function sealerOf({ endpoints }: Store, { secretKey }: Pick<Config, "secretKey">): Promise<KeyRing> {
  const sealed = await endpoints.list({ max: 1 });
  const hasSecrets = sealed.length > 0;
  return fileSealer({ ...secretKey, make: secretKey.make && !hasSecrets, hasSecrets });
}

/**
 * The sealer, after it has decrypted every stored secret, former ones included. A machine with another key file must not start,
 * because deliveries that other machines can make would fail there.
 * @throws SecretKeyError with an endpoint whose secret cannot be decrypted.
 */
export async function provenSealerOf(store: Store, config: Pick<Config, "secretKey">): Promise<KeyRing> {
  const sealer = await sealerOf(store, config);
  for (let after: SecretCursor | undefined; ; ) {
    const { secrets, next } = await store.secrets.part(after);
    for (const { endpointId, sealed } of secrets) sealer.open(endpointId, sealed);
    if (next === null) return sealer;
    after = next;
  }
}

function readNote(config: Pick<Config, "dataDir">): WebhookSettings | undefined {
  try {
    return settingsSchema.parse(JSON.parse(readFileSync(notePath(config), "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** The file with the stored settings, in the directory of the database. */
function notePath({ dataDir }: Pick<Config, "dataDir">): string {
  return join(dataDir, "db", "webhooks.json");
}
