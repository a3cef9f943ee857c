import { join, resolve } from "node:path";
import type { z } from "zod";
import { type LogLevel, settingsSchema } from "./config/settings.ts";
import type { Database } from "./domain/database.ts";
import type { Address, HostPort, Transport } from "./domain/transport.ts";

/**
 * All settings, read once at start. The only file that reads the environment; every setting
 * is `ASSAY_*` and a flag of the same meaning wins over it.
 */
export interface Config {
  readonly dataDir: string;
  readonly database: Database;
  readonly listen: Address;
  readonly transport: Transport;
  /** Liveness and readiness without a key, for the machine's own operator; null for none. */
  readonly operatorListen: Address | null;
  /** Whether the service runs submissions itself; if not, workers in other processes do. */
  readonly ownWorker: boolean;
  /** Submissions that this process runs at once. */
  readonly workers: number;
  readonly launcherSocket: string;
  /** Pending submissions that the queue holds before it answers 503. */
  readonly maxPending: number;
  /** Of clients, open at once: in all, and of one address without a valid key. */
  readonly connections: { readonly maxConnections: number; readonly maxConnectionsPerAddress: number };
  /** How long a worker may be silent before its work is given to another. */
  readonly leaseMs: number;
  /** How long running submissions may go on after SIGTERM before they are given back. */
  readonly drainMs: number;
  /** How long a record is kept after its end; null: for ever. */
  readonly retentionMs: number | null;
  /** What webhook secrets are sealed with. It is made when it is missing, unless somebody named it. */
  readonly secretKey: { readonly path: string; readonly make: boolean };
  readonly webhooks: {
    /** Receivers that are allowed whatever their address is. */
    readonly allow: readonly HostPort[];
    /** A file with an authority that receivers' certificates may come from, besides the usual ones. */
    readonly caPath: string | null;
  };
  /** The built dashboard; null: there is none. */
  readonly dashboardDir: string | null;
  /** Who else may say who somebody is; null: passwords alone. */
  readonly oidc: OidcSettings | null;
  readonly logLevel: LogLevel;
  /** Where a collector takes spans, OTLP over HTTP; null: none are made. */
  readonly otlpEndpoint: string | null;
  /** Names of ASSAY_* settings that mean nothing: most likely a typing mistake. */
  readonly unknownSettings: readonly string[];
}

/** An OpenID Connect provider, and who we are to it. */
export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: { readonly text: string } | { readonly path: string };
  /** A file with an authority that the provider's certificate may come from, besides the usual ones. */
  readonly caPath: string | null;
}

const DAY_MS = 86_400_000;

/** What the command line may set; undefined means "not given". */
export interface Flags {
  readonly data?: string | undefined;
  readonly database?: string | undefined;
  readonly listen?: string | undefined;
  /** False for `--no-worker`. */
  readonly worker?: boolean | undefined;
  readonly workers?: string | undefined;
  readonly launcherSocket?: string | undefined;
  readonly operatorListen?: string | undefined;
  readonly plainHttp?: boolean | undefined;
  readonly webhookAllow?: readonly string[] | undefined;
  readonly webhookCa?: string | undefined;
  readonly dashboard?: string | undefined;
}

/** A setting that cannot be used; the message is for the person who made it. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** @throws ConfigError naming the setting. */
export function loadConfig(flags: Flags = {}, environment: NodeJS.ProcessEnv = process.env): Config {
  const given = { ...ourSettings(environment), ...fromFlags(flags) };
  const parsed = settingsSchema.safeParse(given);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new ConfigError(`${issue?.path.join(".")}: ${issue?.message}`);
  }
  const settings = parsed.data;
  const dataDir = settings.ASSAY_DATA;
  return {
    dataDir,
    database: databaseOf(settings.ASSAY_DATABASE, dataDir),
    listen: settings.ASSAY_LISTEN,
    transport: transportOf(settings),
    operatorListen: operatorAddress(settings.ASSAY_OPERATOR_LISTEN),
    ownWorker: flags.worker ?? true,
    workers: settings.ASSAY_WORKERS,
    launcherSocket: settings.ASSAY_LAUNCHER_SOCKET ?? join(dataDir, "run", "serve", "launcher.sock"),
    maxPending: settings.ASSAY_MAX_PENDING,
    connections: {
      maxConnections: settings.ASSAY_MAX_CONNECTIONS,
      maxConnectionsPerAddress: settings.ASSAY_MAX_CONNECTIONS_PER_ADDRESS,
    },
    leaseMs: settings.ASSAY_LEASE_MS,
    drainMs: settings.ASSAY_DRAIN_MS,
    retentionMs: settings.ASSAY_RETENTION_DAYS === 0 ? null : settings.ASSAY_RETENTION_DAYS * DAY_MS,
    secretKey: {
      path: settings.ASSAY_SECRET_KEY_FILE ?? join(dataDir, "keys", "webhook.key"),
      make: settings.ASSAY_SECRET_KEY_FILE === undefined,
    },
    webhooks: { allow: settings.ASSAY_WEBHOOK_ALLOW, caPath: settings.ASSAY_WEBHOOK_CA ?? null },
    dashboardDir: settings.ASSAY_DASHBOARD ?? null,
    oidc: oidcOf(settings),
    logLevel: settings.ASSAY_LOG_LEVEL,
    otlpEndpoint: settings.ASSAY_OTLP_ENDPOINT ?? null,
    unknownSettings: Object.keys(given).filter((name) => !(name in settingsSchema.shape)),
  };
}

function ourSettings(environment: NodeJS.ProcessEnv): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith("ASSAY_")));
}

function fromFlags(flags: Flags): Record<string, string> {
  const named = {
    ASSAY_DATA: flags.data,
    ASSAY_DATABASE: flags.database,
    ASSAY_LISTEN: flags.listen,
    ASSAY_WORKERS: flags.workers,
    ASSAY_LAUNCHER_SOCKET: flags.launcherSocket,
    ASSAY_OPERATOR_LISTEN: flags.operatorListen,
    ASSAY_PLAIN_HTTP: flags.plainHttp ? "yes" : undefined,
    ASSAY_WEBHOOK_ALLOW: flags.webhookAllow?.length ? flags.webhookAllow.join(",") : undefined,
    ASSAY_WEBHOOK_CA: flags.webhookCa && resolve(flags.webhookCa),
    ASSAY_DASHBOARD: flags.dashboard && resolve(flags.dashboard),
  };
  return Object.fromEntries(Object.entries(named).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function databaseOf(url: string | undefined, dataDir: string): Database {
  return url === undefined ? { kind: "sqlite", path: join(dataDir, "db", "assay.sqlite") } : { kind: "postgres", url };
}

function transportOf(settings: z.output<typeof settingsSchema>): Transport {
  const { ASSAY_TLS_CERT: cert, ASSAY_TLS_KEY: key, ASSAY_TRUSTED_PROXY: proxies, ASSAY_LISTEN: listen } = settings;
  if (proxies.length > 0) return { kind: "proxied", proxies };
  if (settings.ASSAY_PLAIN_HTTP === "yes") {
    if (isLoopback(listen)) return { kind: "loopback" };
    throw new ConfigError("plain HTTP is only for loopback addresses; name a trusted proxy, or use HTTPS");
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError("ASSAY_TLS_CERT and ASSAY_TLS_KEY belong together: give both or none");
  }
  const directory = join(settings.ASSAY_DATA, "tls");
  return {
    kind: "https",
    certPath: cert ?? join(directory, "server.pem"),
    keyPath: key ?? join(directory, "server.key"),
  };
}

function oidcOf(settings: z.output<typeof settingsSchema>): OidcSettings | null {
  const { ASSAY_OIDC_ISSUER: issuer, ASSAY_OIDC_CLIENT_ID: clientId, ASSAY_OIDC_CA: caPath = null } = settings;
  const { ASSAY_OIDC_CLIENT_SECRET: text, ASSAY_OIDC_CLIENT_SECRET_FILE: path } = settings;
  if ([issuer, clientId, text, path, caPath ?? undefined].every((value) => value === undefined)) return null;
  const clientSecret = text === undefined ? path && { path } : { text };
  if (issuer === undefined || clientId === undefined || !clientSecret || (text !== undefined && path !== undefined)) {
    throw new ConfigError(
      "ASSAY_OIDC_ISSUER, ASSAY_OIDC_CLIENT_ID and one of ASSAY_OIDC_CLIENT_SECRET and ASSAY_OIDC_CLIENT_SECRET_FILE belong together",
    );
  }
  return { issuer, clientId, clientSecret, caPath };
}

function operatorAddress(listen: Address | undefined): Address | null {
  if (listen && !isLoopback(listen)) {
    throw new ConfigError("ASSAY_OPERATOR_LISTEN: has no keys, so it must be a loopback address or unix:/PATH");
  }
  return listen ?? null;
}

/** Only numbers and the one name that is loopback by definition: nothing is looked up. */
function isLoopback(listen: Address): boolean {
  if ("path" in listen) return true;
  return listen.host === "localhost" || listen.host === "::1" || /^127(\.\d{1,3}){3}$/.test(listen.host);
}
