import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Config, ConfigError } from "../config.ts";
import type { KeyRing, Sealer } from "../domain/sealer.ts";
import type { HostPort } from "../domain/transport.ts";
import type { SecretPlace } from "../store/deliveries/endpoint-port.ts";
import type { Store } from "../store/port.ts";
import { fileSealer } from "../webhooks/seal.ts";
import type { SendOptions } from "../webhooks/send.ts";
import { trustedAuthorities } from "../webhooks/trust.ts";
import { version } from "./version.ts";

/** Which receivers are allowed and trusted beyond the usual ones. */
export interface WebhookSettings {
  readonly allow: readonly HostPort[];
  /** PEM; null for none. */
  readonly ca: string | null;
}

const settingsSchema = z.object({
  allow: z.array(z.object({ host: z.string(), port: z.number() })),
  ca: z.string().nullable(),
});

/** Those that this process was given. @throws when the file of the authority cannot be read. */
export function ownWebhookSettings({ webhooks: { allow, caPath } }: Pick<Config, "webhooks">): WebhookSettings {
  return { allow, ca: caPath === null ? null : readFileSync(caPath, "utf8") };
}

/**
 * Notes what the service was started with, so that commands judge an address as the service
 * does without being given the same flags. It loosens nothing: what counts is the service's
 * own look at each connection. Written only when it is another: a service that is started again needs no room on a disk
 * that is full.
 * @throws ConfigError when it cannot be written.
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

/** What a command goes by: its own settings, and those of the service that was started last. */
export function webhookSettings(config: Pick<Config, "webhooks" | "dataDir">): WebhookSettings {
  const own = ownWebhookSettings(config);
  const noted = readNote(config);
  return { allow: [...own.allow, ...(noted?.allow ?? [])], ca: own.ca ?? noted?.ca ?? null };
}

/** @throws ConfigError when the authority is no certificate. */
export function sendOptions(sealer: Sealer, { allow, ca }: WebhookSettings): SendOptions {
  return { sealer, allowed: allow, trust: trust(ca), userAgent: `Assay/${version()}` };
}

/**
 * The sealer of a database. A key is never made where secrets are sealed already: they were sealed with another one.
 * @throws SecretKeyError when the file cannot be used.
 */
export async function sealerOf({ endpoints }: Store, { secretKey }: Pick<Config, "secretKey">): Promise<KeyRing> {
  const sealed = await endpoints.list({ max: 1 });
  return fileSealer({ ...secretKey, make: secretKey.make && sealed.length === 0 });
}

/**
 * The same, proven on every secret that is stored, former ones too: a machine with another key file could sign nothing,
 * and would end deliveries that its neighbours can make.
 * @throws SecretKeyError, naming an endpoint whose secret cannot be opened.
 */
export async function provenSealerOf(store: Store, config: Pick<Config, "secretKey">): Promise<KeyRing> {
  const sealer = await sealerOf(store, config);
  for (let after: SecretPlace | undefined; ; ) {
    const { secrets, next } = await store.secrets.part(after);
    for (const { endpointId, sealed } of secrets) sealer.open(endpointId, sealed);
    if (next === null) return sealer;
    after = next;
  }
}

function trust(ca: string | null): SendOptions["trust"] {
  try {
    return trustedAuthorities(ca);
  } catch {
    throw new ConfigError("ASSAY_WEBHOOK_CA: there is no certificate in the file");
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

/** In the directory that belongs to the service and to nobody else. */
function notePath({ dataDir }: Pick<Config, "dataDir">): string {
  return join(dataDir, "db", "webhooks.json");
}
