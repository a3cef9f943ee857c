import { join, resolve } from "node:path";
import type { z } from "zod";
import { type LogLevel, SANDBOXES, settingsSchema } from "./config/settings.ts";
import type { Ceilings } from "./domain/ceilings.ts";
import type { DatabaseLocation } from "./domain/database.ts";
import type { Cidr } from "./domain/egress/cidr.ts";
import { OperatorError } from "./domain/operator-error.ts";
import type { Address, HostPort, Transport } from "./domain/transport.ts";

/** All settings, read once at the start from environment variables `ASSAY_*`. An option of the command line overrides its variable. */
export interface Config {
  readonly dataDir: string;
  readonly database: DatabaseLocation;
  readonly listen: Address;
  readonly transport: Transport;
  /** File with the certificate authority that set-up made for this service; null if the service has another certificate, or none. */
  readonly ownAuthority: string | null;
  /** Address of the operator listener, which needs no key; null if there is none. */
  readonly operatorListen: Address | null;
  /** Whether the service has a worker of its own. If not, only workers in other processes run submissions. */
  readonly ownWorker: boolean;
  /** How many submissions this process may run at the same time. */
  readonly workers: number;
  readonly launcherSocket: string;
  /** The most pending submissions of all accounts together. Each account may have a part of them (ASSAY_MAX_PENDING). */
  readonly maxPending: number;
  /** The most client connections: in total, and without a valid key or session from one address. */
  readonly connections: { readonly maxConnections: number; readonly maxConnectionsPerAddress: number };
  /** Memory for compiled programs of earlier submissions; 0: none are kept. */
  readonly artifactBytes: number;
  /** Memory for runtimes that wait for submissions; 0: none wait. */
  readonly parkBytes: number;
  /** The most sandboxes of this machine; 0: it has none. */
  readonly sandboxes: number;
  /** Memory of all sandboxes together, in bytes. */
  readonly sandboxMemoryBytes: number;
  /** Bytes of the disks of all sandboxes together; 0: they have none. */
  readonly sandboxDiskBytes: number;
  readonly sandboxCpus: number;
  /** How sandboxes of this machine can have a network: the directory of the proxy's socket, and private networks that may be reached; null: they have none. */
  readonly egress: { readonly directory: string; readonly privateNetworks: readonly Cidr[] } | null;
  /** Bytes of all snapshots of this machine together, and the directory that has them. */
  readonly snapshotBytes: number;
  readonly snapshotDirectory: string;
  /** How long a snapshot is kept; null: for ever. */
  readonly snapshotMs: number | null;
  /** Whether sandboxes are left to the launcher at a stop, because the launcher stays. */
  readonly leavesSandboxes: boolean;
  /** Where processes of other machines link to this one: where it listens, and the address that it announces, if it is another one; null: nowhere. */
  readonly link: { readonly listen: HostPort; readonly address: HostPort | null } | null;
  /** After this time without a heartbeat of a worker, its submissions are taken from it. */
  readonly leaseMs: number;
  /** How long running submissions may take to finish after SIGTERM, before they are released. */
  readonly drainMs: number;
  /** How long a record is kept after the end of its submission or judgement; null for unlimited. */
  readonly retentionMs: number | null;
  /**
   * The file with the keys for webhook secrets. `make`: whether it is created if it is missing, which is done only at the default path.
   */
  readonly secretKey: { readonly path: string; readonly make: boolean };
  /** The key with which a worker without a service seals what the next process of this machine needs of its sandboxes. */
  readonly sandboxKey: { readonly path: string; readonly make: boolean };
  readonly webhooks: {
    /** Receivers that may have any address. */
    readonly allow: readonly HostPort[];
    /** A file with an additional certificate authority for receivers. */
    readonly caPath: string | null;
  };
  /** Directory of the built dashboard; null for no dashboard. */
  readonly dashboardDir: string | null;
  /** The OpenID Connect provider; null for sign-in with passwords only. */
  readonly oidc: OidcSettings | null;
  readonly logLevel: LogLevel;
  /** URL of an OTLP/HTTP collector; null for no tracing. */
  readonly otlpEndpoint: string | null;
  /** Names of unknown ASSAY_* settings, most likely typing errors. */
  readonly unknownSettings: readonly string[];
}

/** An OpenID Connect provider and the credentials of this service. */
export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: { readonly text: string } | { readonly path: string };
  /** A file with an additional certificate authority for the provider. */
  readonly caPath: string | null;
}

const DAY_MS = 86_400_000;

/** Settings that are given as options of the command line; undefined if an option is not given. */
export interface Flags {
  readonly data?: string | undefined;
  readonly database?: string | undefined;
  readonly listen?: string | undefined;
  /** False for `--no-worker`. */
  readonly worker?: boolean | undefined;
  readonly workers?: string | undefined;
  /** False for `--no-park`. */
  readonly park?: boolean | undefined;
  readonly launcherSocket?: string | undefined;
  readonly egressDirectory?: string | undefined;
  readonly keepSandboxes?: boolean | undefined;
  readonly operatorListen?: string | undefined;
  readonly plainHttp?: boolean | undefined;
  readonly webhookAllow?: readonly string[] | undefined;
  readonly webhookCa?: string | undefined;
  readonly dashboard?: string | undefined;
}

/** An invalid setting; the message is for the operator. */
export class ConfigError extends OperatorError {
  override readonly name = "ConfigError";
}

/** Reads all settings. @throws ConfigError that names the invalid setting. */
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
    ownAuthority: ownAuthorityOf(settings),
    operatorListen: operatorAddress(settings.ASSAY_OPERATOR_LISTEN),
    ownWorker: flags.worker ?? true,
    workers: settings.ASSAY_WORKERS,
    launcherSocket: settings.ASSAY_LAUNCHER_SOCKET ?? join(dataDir, "run", "serve", "launcher.sock"),
    maxPending: settings.ASSAY_MAX_PENDING,
    connections: {
      maxConnections: settings.ASSAY_MAX_CONNECTIONS,
      maxConnectionsPerAddress: settings.ASSAY_MAX_CONNECTIONS_PER_ADDRESS,
    },
    artifactBytes: settings.ASSAY_ARTIFACT_BYTES,
    parkBytes: settings.ASSAY_PARK_BYTES,
    sandboxes: settings.ASSAY_SANDBOXES ?? (settings.ASSAY_DATABASE === undefined ? SANDBOXES : 0),
    leavesSandboxes: flags.keepSandboxes ?? false,
    sandboxMemoryBytes: settings.ASSAY_SANDBOX_MEMORY,
    sandboxDiskBytes: settings.ASSAY_SANDBOX_DISK,
    sandboxCpus: settings.ASSAY_SANDBOX_CPUS,
    egress: egressOf(settings),
    snapshotBytes: settings.ASSAY_SNAPSHOT_BYTES,
    snapshotDirectory: settings.ASSAY_SNAPSHOT_DIRECTORY
      ? resolve(settings.ASSAY_SNAPSHOT_DIRECTORY)
      : join(dataDir, "db", "snapshots"),
    snapshotMs: settings.ASSAY_SNAPSHOT_DAYS === 0 ? null : settings.ASSAY_SNAPSHOT_DAYS * DAY_MS,
    link: linkOf(settings),
    leaseMs: settings.ASSAY_LEASE_MS,
    drainMs: settings.ASSAY_DRAIN_MS,
    retentionMs: settings.ASSAY_RETENTION_DAYS === 0 ? null : settings.ASSAY_RETENTION_DAYS * DAY_MS,
    secretKey: {
      path: settings.ASSAY_SECRET_KEY_FILE ?? join(dataDir, "keys", "webhook.key"),
      make: settings.ASSAY_SECRET_KEY_FILE === undefined,
    },
    sandboxKey: { path: join(dataDir, "db", "sandboxes.key"), make: true },
    webhooks: { allow: settings.ASSAY_WEBHOOK_ALLOW, caPath: settings.ASSAY_WEBHOOK_CA ?? null },
    dashboardDir: settings.ASSAY_DASHBOARD ?? null,
    oidc: oidcOf(settings),
    logLevel: settings.ASSAY_LOG_LEVEL,
    otlpEndpoint: settings.ASSAY_OTLP_ENDPOINT ?? null,
    unknownSettings: Object.keys(given).filter((name) => !(name in settingsSchema.shape)),
  };
}

/** The language packs that set-up installed, as in the setting: `all`, `none` or names. */
export function languagePacks(environment: NodeJS.ProcessEnv = process.env): string {
  return settingsSchema.shape.ASSAY_LANGUAGES.parse(environment.ASSAY_LANGUAGES);
}

/** The highest limits that problems may state, as far as the operator has set them. @throws ConfigError */
export function ceilings(environment: NodeJS.ProcessEnv = process.env): Ceilings {
  const parsed = settingsSchema.shape.ASSAY_CEILINGS.safeParse(environment.ASSAY_CEILINGS);
  if (!parsed.success) throw new ConfigError(`ASSAY_CEILINGS: ${parsed.error.issues[0]?.message}`);
  return parsed.data;
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
    ASSAY_PARK_BYTES: flags.park === false ? "0" : undefined,
    ASSAY_LAUNCHER_SOCKET: flags.launcherSocket,
    ASSAY_EGRESS_DIRECTORY: flags.egressDirectory,
    ASSAY_OPERATOR_LISTEN: flags.operatorListen,
    ASSAY_PLAIN_HTTP: flags.plainHttp ? "yes" : undefined,
    ASSAY_WEBHOOK_ALLOW: flags.webhookAllow?.length ? flags.webhookAllow.join(",") : undefined,
    ASSAY_WEBHOOK_CA: flags.webhookCa && resolve(flags.webhookCa),
    ASSAY_DASHBOARD: flags.dashboard && resolve(flags.dashboard),
  };
  return Object.fromEntries(Object.entries(named).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function databaseOf(url: string | undefined, dataDir: string): DatabaseLocation {
  return url === undefined ? { kind: "sqlite", path: join(dataDir, "db", "assay.sqlite") } : { kind: "postgres", url };
}

/** Sandboxes have a network over their loopback interface, and only if their launcher knows where the proxy is. */
function egressOf(settings: z.output<typeof settingsSchema>): Config["egress"] {
  const { ASSAY_EGRESS_DIRECTORY: directory, ASSAY_EGRESS_PRIVATE: privateNetworks } = settings;
  const isOn = settings.ASSAY_EGRESS === "yes" && settings.ASSAY_SANDBOX_LOOPBACK === "yes";
  return isOn && directory !== undefined ? { directory, privateNetworks } : null;
}

function transportOf(settings: z.output<typeof settingsSchema>): Transport {
  const { ASSAY_TLS_CERT: cert, ASSAY_TLS_KEY: key, ASSAY_TRUSTED_PROXY: proxies, ASSAY_LISTEN: listen } = settings;
  if (proxies.length > 0) return { kind: "proxied", proxies };
  if (settings.ASSAY_PLAIN_HTTP === "yes") {
    if (isLoopback(listen)) return { kind: "loopback" };
    throw new ConfigError("plain HTTP is only allowed on loopback addresses; set a trusted proxy or use HTTPS");
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError("ASSAY_TLS_CERT and ASSAY_TLS_KEY must be set together");
  }
  const directory = join(settings.ASSAY_DATA, "tls");
  return {
    kind: "https",
    certPath: cert ?? join(directory, "server.pem"),
    keyPath: key ?? join(directory, "server.key"),
  };
}

function linkOf(settings: z.output<typeof settingsSchema>): Config["link"] {
  const { ASSAY_LINK_LISTEN: listen, ASSAY_LINK_ADDRESS: address, ASSAY_DATABASE: database } = settings;
  if (!listen && address)
    throw new ConfigError("ASSAY_LINK_ADDRESS needs ASSAY_LINK_LISTEN, the address that it leads to");
  if (!listen) return null;
  if (database === undefined)
    throw new ConfigError("ASSAY_LINK_LISTEN needs a PostgreSQL database: with SQLite, there is only one process");
  if (!address && (listen.host === "0.0.0.0" || /^[0:]+$/.test(listen.host)))
    throw new ConfigError(
      "ASSAY_LINK_LISTEN listens on all addresses: set ASSAY_LINK_ADDRESS to the one that other machines can reach",
    );
  return { listen, address: address ?? null };
}

function ownAuthorityOf(settings: z.output<typeof settingsSchema>): string | null {
  const { ASSAY_DATA, ASSAY_TLS_CERT, ASSAY_PLAIN_HTTP, ASSAY_TRUSTED_PROXY } = settings;
  const isOther = ASSAY_TLS_CERT !== undefined || ASSAY_PLAIN_HTTP === "yes" || ASSAY_TRUSTED_PROXY.length > 0;
  return isOther ? null : join(ASSAY_DATA, "tls", "ca.pem");
}

function oidcOf(settings: z.output<typeof settingsSchema>): OidcSettings | null {
  const { ASSAY_OIDC_ISSUER: issuer, ASSAY_OIDC_CLIENT_ID: clientId, ASSAY_OIDC_CA: caPath = null } = settings;
  const { ASSAY_OIDC_CLIENT_SECRET: text, ASSAY_OIDC_CLIENT_SECRET_FILE: path } = settings;
  if ([issuer, clientId, text, path, caPath ?? undefined].every((value) => value === undefined)) return null;
  const clientSecret = text === undefined ? path && { path } : { text };
  if (issuer === undefined || clientId === undefined || !clientSecret || (text !== undefined && path !== undefined)) {
    throw new ConfigError(
      "ASSAY_OIDC_ISSUER, ASSAY_OIDC_CLIENT_ID and either ASSAY_OIDC_CLIENT_SECRET or ASSAY_OIDC_CLIENT_SECRET_FILE must be set together",
    );
  }
  return { issuer, clientId, clientSecret, caPath };
}

function operatorAddress(listen: Address | undefined): Address | null {
  if (listen && !isLoopback(listen)) {
    throw new ConfigError("ASSAY_OPERATOR_LISTEN: must be a loopback address or unix:/PATH, because it needs no key");
  }
  return listen ?? null;
}

/** Whether only this machine can connect: a Unix socket, a loopback address, or by definition `localhost`. No name is resolved. */
function isLoopback(listen: Address): boolean {
  if ("path" in listen) return true;
  return listen.host === "localhost" || listen.host === "::1" || /^127(\.\d{1,3}){3}$/.test(listen.host);
}
