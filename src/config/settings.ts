import { isIP } from "node:net";
import { availableParallelism, totalmem } from "node:os";
import { z } from "zod";
import { type Ceilings, parseCeilings } from "../domain/ceilings.ts";
import { type Cidr, parseCidrList } from "../domain/egress/cidr.ts";
import type { Address, HostPort } from "../domain/transport.ts";

/** Every setting: its form, range, default and description for `docs/configuration.md`. `src/config.ts` reads the settings. */

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const wholeNumber = (least: number, most: number) =>
  z.string().regex(/^\d+$/, "must be a whole number").transform(Number).pipe(z.number().min(least).max(most));

const address = z.string().transform((text, context): Address => {
  const parsed = parseAddress(text);
  if (parsed) return parsed;
  context.addIssue({ code: "custom", message: "must be HOST:PORT, [IPV6]:PORT or unix:/PATH" });
  return z.NEVER;
});

/** The address of a listener that is no Unix socket. */
const hostPort = z.string().transform((text, context): HostPort => {
  const parsed = parseAddress(text);
  if (parsed && "port" in parsed) return parsed;
  context.addIssue({ code: "custom", message: `must be HOST:PORT or [IPV6]:PORT, got '${text}'` });
  return z.NEVER;
});

const list = z.string().transform((text) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
);

const ceilings = z.string().transform((text, context): Ceilings => {
  const parsed = parseCeilings(text);
  if (typeof parsed !== "string") return parsed;
  context.addIssue({ code: "custom", message: parsed });
  return z.NEVER;
});

/** Webhook receivers. Hosts get the form that they have in a parsed URL: lower case, and IPv4 in dotted form; but IPv6 has no brackets. */
const webhookReceivers = list.transform((items, context) =>
  items.map((item): HostPort => {
    const parsed = parseAddress(item);
    const url = `https://${item}/`;
    const plain = parsed && "port" in parsed && parsed.port > 0 && /^[\w.:-]+$/.test(parsed.host); // no CIDR block or pattern
    if (plain && URL.canParse(url)) {
      return { host: new URL(url).hostname.replace(/^\[(.*)\]$/, "$1"), port: parsed.port };
    }
    context.addIssue({ code: "custom", message: `must be HOST:PORT or [IPV6]:PORT, got '${item}'` });
    return z.NEVER;
  }),
);

/** Networks in the strict notation of policies. */
const privateNetworks = z.string().transform((text, context): readonly Cidr[] => {
  const parsed = parseCidrList(text);
  if (typeof parsed !== "string") return parsed;
  context.addIssue({ code: "custom", message: parsed });
  return z.NEVER;
});

/** Addresses or CIDR blocks. A host name is rejected, because names of proxies are not resolved. */
const proxies = list.refine((items) => items.every(isBlock), "must be addresses or CIDR blocks, separated by commas");

/** The URL of a database. Its error messages do not repeat the URL, because it can contain a password. */
const databaseUrl = z
  .string()
  .refine(
    (text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text),
    "must be a URL that begins with postgres://",
  );

/** The URL of an OpenID Connect provider. It must use HTTPS, because its responses are trusted on the strength of its certificate. */
const issuer = z
  .string()
  .refine(
    (text) => URL.canParse(text) && new URL(text).protocol === "https:" && !/[?#]/.test(text),
    "must be a URL that begins with https://",
  );

/**
 * The default of ASSAY_SANDBOXES for a service that is alone with its database. Those that share one have to reach the sandboxes of each other, which their
 * operator arranges. sandboxes_at_most() in setup/instance.sh says the same to the launcher.
 */
export const SANDBOXES = 16;

/** The default of ASSAY_SANDBOX_MEMORY. */
const SANDBOX_MEMORY = Math.floor(totalmem() / 4);

/** The default of ASSAY_PARK_BYTES. */
const PARK_BYTES = Math.min(Math.floor(totalmem() / 16), 1_073_741_824);

const absolutePath = z.string().startsWith("/", "must be an absolute path");

/** What `docs/configuration.md` says about a setting, in addition to its name, range and default. */
interface SettingMeta {
  readonly description: string;
  /** The option of `assay serve` that sets it. An option without a value sets a fixed value: `--no-park` sets 0. */
  readonly flag?: string;
  /** Describes a default that depends on the machine, or that no value expresses, such as SQLite. */
  readonly defaultText?: string;
}

const setting = <S extends z.ZodType>(schema: S, meta: SettingMeta): S => schema.meta({ ...meta });

/** The settings in the order of `docs/configuration.md`. */
export const settingsSchema = z.object({
  ASSAY_DATA: setting(absolutePath.default("/var/lib/assay"), { description: "Data directory.", flag: "--data" }),
  ASSAY_DATABASE: setting(databaseUrl.optional(), {
    description: "URL of the PostgreSQL database, `postgres://…`. See [scaling](scaling.md).",
    flag: "--database",
    defaultText: "SQLite in the data directory",
  }),
  ASSAY_LISTEN: setting(address.prefault("127.0.0.1:8443"), {
    description: "Address for clients: `HOST:PORT`, `[IPV6]:PORT` or `unix:/PATH`.",
    flag: "--listen",
  }),
  ASSAY_LANGUAGES: setting(z.string().default("none"), {
    description:
      "Language packs that are installed in addition to the eight languages: `all`, `none`, or names separated by commas ([languages](languages.md)).",
    flag: "--languages",
    defaultText: "the last choice",
  }),
  ASSAY_WORKERS: setting(wholeNumber(1, 1024).prefault(String(availableParallelism())), {
    description:
      "Number of submissions that this process may run at the same time. It does not count workers, in spite of its name.",
    flag: "--workers",
    defaultText: "number of CPUs",
  }),
  ASSAY_CEILINGS: setting(ceilings.prefault(""), {
    description:
      "The highest limits that problems may state, where they are not those of [limits](limits.md#limits-of-judgements): `NAME=VALUE`, separated by commas, for example `cpu_time_secs=60,wall_time_secs=90,memory_bytes=4294967296`. The names are those of the limits of a request, such a name after `compile_`, and `source_bytes`. Set it equally for services, workers, and the commands `judge` and `problems`.",
    defaultText: "those of the document",
  }),
  ASSAY_ARTIFACT_BYTES: setting(wholeNumber(0, 1_073_741_824).prefault("134217728"), {
    description:
      "Memory in which a worker keeps compiled programs. If an account submits the same source again, the worker need not compile it again. An account may use at most a quarter of this memory. `0` keeps none.",
  }),
  ASSAY_IMAGE_BYTES: setting(wholeNumber(0, 1_099_511_627_776).prefault(String(Math.floor(totalmem() / 4))), {
    description:
      "Memory in which the launcher of a service or worker keeps the files of the image (about 1.7 GiB, and those of language packs), so that [no program is charged for them](security.md#what-is-not-promised). If the files are larger than this, none of them stays in memory, and the log and `assay doctor` report it. With `0`, none of them stays in memory.",
    defaultText: "a quarter of the memory",
  }),
  ASSAY_PARK_BYTES: setting(wholeNumber(0, 1_099_511_627_776).prefault(String(PARK_BYTES)), {
    description:
      "Memory that a worker may use for language runtimes that it starts in advance. It first starts one for each language that was submitted in the last minutes, then more for those that are submitted most. With `0`, it starts none.",
    flag: "--no-park",
    defaultText: "a sixteenth of the memory, at most 1 GiB",
  }),
  ASSAY_SANDBOXES: setting(wholeNumber(0, 4_096).optional(), {
    description:
      "Largest number of [sandboxes](sandboxes.md) on this machine at the same time. With `0`, it has none. If the setting is absent and the machine can have no sandboxes, the launcher starts all the same, its log says why, and requests for sandboxes are refused; with a number, it does not start. A service with `--no-worker` ignores it: it uses the sandboxes of [other machines](scaling.md#sandboxes-on-several-machines).",
    defaultText: `${SANDBOXES} with SQLite, 0 with PostgreSQL`,
  }),
  ASSAY_SANDBOX_MEMORY: setting(wholeNumber(0, 17_592_186_044_416).prefault(String(SANDBOX_MEMORY)), {
    description:
      "Memory of all sandboxes of this machine together, in bytes. A new sandbox starts only if the memory limits of all of them together stay within it, and the kernel enforces it as well. An account may hold as much as stays free; one without sandboxes may take all that is free.",
    defaultText: "a quarter of the memory",
  }),
  ASSAY_SANDBOX_DISK: setting(wholeNumber(0, 17_592_186_044_416).prefault("0"), {
    description:
      "Disk space for [sandboxes with a disk](sandboxes.md#a-disk) on this machine together, in bytes, in the directory `sandbox-disks` of the data directory. A sandbox has all of its space from its start, and the launcher enforces the sum as well. With `0`, the files of all sandboxes are in memory. It needs loop devices, `mke2fs` of the package `e2fsprogs`, and ext4 or XFS, best mounted without `discard`; nothing bounds how much of the [time of the disk](security.md#sandboxes) a sandbox takes.",
  }),
  ASSAY_SANDBOX_CPUS: setting(wholeNumber(1, 64).prefault("1"), {
    description:
      "Largest number of CPUs that a sandbox may ask for in `limits.cpus`. Each execution is bound to that many CPUs, namely those with the fewest boxes of submissions, and of these the ones with the fewest executions. Above 1, programs that wake each other on several CPUs can [slow down neighbours](security.md#time).",
  }),
  ASSAY_SANDBOX_LOOPBACK: setting(z.enum(["yes", "no"]).prefault("yes"), {
    description:
      "With `yes`, programs of a sandbox have sockets of TCP and UDP on its loopback interface, where the kernel lets the launcher [bound them](security.md#sandboxes). With `no`, they have only Unix sockets, and the launcher needs no `CAP_NET_ADMIN`.",
  }),
  ASSAY_EGRESS: setting(z.enum(["yes", "no"]).prefault("yes"), {
    description:
      "With `yes`, sandboxes of this machine can have a [network](sandboxes.md#network), as far as the operator opens it for an account: without a bound for the account, nothing can be reached. With `no`, none can have one. It needs `ASSAY_SANDBOX_LOOPBACK`.",
  }),
  ASSAY_EGRESS_PRIVATE: setting(privateNetworks.prefault(""), {
    description:
      "Networks that sandboxes may reach although they are not public, such as those of a private package registry: `10.20.0.0/16` or `fd12:3456::/48`, separated by commas. A policy must allow each host of them as well. All other private, local and reserved addresses, and those of this machine, are refused, whatever a policy says.",
    defaultText: "none",
  }),
  ASSAY_SNAPSHOT_DIRECTORY: setting(z.string().min(1).optional(), {
    description:
      "Directory for the [snapshots](sandboxes.md#snapshots) of sandboxes, to which the user of the service can write. Machines with the same database can share it, by a network file system, and then share their snapshots: a sandbox can begin with one on [any of them](scaling.md#sandboxes-on-several-machines), also when the machine that has taken it is lost.",
    defaultText: "`db/snapshots` in the data directory",
  }),
  ASSAY_SNAPSHOT_BYTES: setting(wholeNumber(0, 1_125_899_906_842_624).prefault("21474836480"), {
    description:
      "Disk space for all snapshots in `ASSAY_SNAPSHOT_DIRECTORY` together, in bytes. An account may use as much as stays free. With `0`, no snapshot can be taken. Machines that share the directory need the same value; snapshots that they take at the same moment can exceed it together.",
  }),
  ASSAY_SNAPSHOT_DAYS: setting(wholeNumber(0, 36_500).prefault("30"), {
    description: "Number of days for which a snapshot is kept after it was taken. With `0`, none is deleted.",
  }),
  ASSAY_LINK_LISTEN: setting(hostPort.optional(), {
    description:
      "Address for [links](scaling.md#sandboxes-on-several-machines) with services and workers of the same PostgreSQL database, which use the sandboxes of each other: `HOST:PORT` or `[IPV6]:PORT`. Without it, this process only connects to others.",
    defaultText: "none",
  }),
  ASSAY_LINK_ADDRESS: setting(hostPort.optional(), {
    description:
      "Address at which other machines reach `ASSAY_LINK_LISTEN`. Set it if that listens on all addresses, or if addresses are translated.",
    defaultText: "that of `ASSAY_LINK_LISTEN`",
  }),
  ASSAY_TLS_CERT: setting(absolutePath.optional(), {
    description:
      "Certificate file (PEM), which the user `assay` must be able to read. Set it together with `ASSAY_TLS_KEY`. After you have renewed the certificate, send SIGHUP (`systemctl reload assay`), and the service reads it again.",
    defaultText: "the certificate that set-up makes",
  }),
  ASSAY_TLS_KEY: setting(absolutePath.optional(), {
    description: "Private key file of the certificate (PEM).",
    defaultText: "the key of that certificate",
  }),
  ASSAY_TRUSTED_PROXY: setting(proxies.prefault(""), {
    description:
      "Addresses or CIDR blocks of reverse proxies, separated by commas. With this setting, the service speaks plain HTTP, accepts connections only from these proxies, and serves only requests with the header `X-Forwarded-Proto: https`. If it listens on `unix:/PATH`, it accepts connections from every process that can open the file.",
  }),
  ASSAY_PLAIN_HTTP: setting(z.enum(["yes", "no"]).default("no"), {
    description: "`yes` disables TLS. It is allowed only if the service listens on a loopback address or `unix:/PATH`.",
    flag: "--plain-http",
  }),
  ASSAY_OPERATOR_LISTEN: setting(address.optional(), {
    description:
      "Address of the [operator listener](operations.md#operator-listener): a loopback address or `unix:/PATH`.",
    flag: "--operator-listen",
    defaultText: "a Unix socket that the command `assay` creates",
  }),
  ASSAY_MAX_CONNECTIONS: setting(wholeNumber(10, 100_000).prefault("2000"), {
    description:
      "Largest number of client connections at the same time. An account may have at most as many connections as are still free. If it is the only one with connections, it can therefore use half of them. When all are used and another client connects, the service looks for the address with the most connections without a valid key, and closes the oldest of these. If every connection has a key or a session, it closes the longest-idle connection of the account or person with the most connections, among those that have an idle one. If none is idle, it refuses the new connection.",
  }),
  ASSAY_MAX_CONNECTIONS_PER_ADDRESS: setting(wholeNumber(1, 100_000).prefault("1000"), {
    description:
      "Largest number of connections without a valid key or session that one address (in IPv6, a /64) may have. At this limit, a new connection of the address replaces its oldest one. Behind a trusted proxy, this limit and `ASSAY_MAX_CONNECTIONS` count requests in progress instead of connections, by the address that the proxy names. On `unix:/PATH` without a trusted proxy, neither limit applies.",
  }),
  ASSAY_MAX_PENDING: setting(wholeNumber(1, 1_000_000).prefault("2000"), {
    description:
      "Largest number of pending submissions. A submission gets 503 if its account already has as many pending submissions as the queue has free places. If only one account submits, it can therefore fill half of the queue; if two accounts submit, each can fill a third. An account without pending submissions can always add one, so the number can be exceeded by one for each account, and by the runs of judgements.",
  }),
  ASSAY_LEASE_MS: setting(wholeNumber(1_000, 3_600_000).prefault("15000"), {
    description:
      "Time after the last heartbeat of a worker until its submissions are taken from it. Submissions with the profile `judge` return to the queue, but end with IE after their third attempt; submissions with the profile `agent` end with IE. Use the same value on all machines.",
  }),
  ASSAY_DRAIN_MS: setting(wholeNumber(0, 3_600_000).prefault("20000"), {
    description:
      "Time after SIGTERM in which running submissions may finish. Of those that have not finished then, submissions with the profile `judge` return to the queue, and submissions with the profile `agent` end with status `error`. A process that has not exited 15 s after this time is killed.",
  }),
  ASSAY_RETENTION_DAYS: setting(wholeNumber(0, 36_500).prefault("30"), {
    description:
      "Number of days for which a submission is kept after its end. Then it is deleted, with its program, input, output, evidence and deliveries. With `0`, nothing is deleted.",
  }),
  ASSAY_OTLP_ENDPOINT: setting(
    z
      .string()
      .refine(
        (text) => /^https?:\/\//.test(text) && URL.canParse(text),
        "must be a URL that begins with http:// or https://",
      )
      .optional(),
    {
      description:
        "Address of the OpenTelemetry collector that receives [traces](operations.md#traces), such as `http://HOST:4318`.",
    },
  ),
  ASSAY_LOG_LEVEL: setting(z.enum(LOG_LEVELS).default("info"), {
    description:
      "Lowest level that is written to the [log](operations.md#logs): `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`. On a terminal, the default is `warn`.",
  }),
  ASSAY_WEBHOOK_ALLOW: setting(webhookReceivers.prefault(""), {
    description:
      "Webhook receivers that may have any address, for example a private one: `HOST:PORT` or `[IPV6]:PORT`, separated by commas. Give the host as in the URL of the webhook, and always the port, even if it is 443. Like all receivers, they must use HTTPS with a valid certificate, and must not redirect.",
    flag: "--webhook-allow",
  }),
  ASSAY_WEBHOOK_CA: setting(absolutePath.optional(), {
    description: "File (PEM) with an additional certificate authority for webhook receivers.",
    flag: "--webhook-ca",
  }),
  ASSAY_SECRET_KEY_FILE: setting(absolutePath.optional(), {
    description:
      "File with the keys that encrypt webhook secrets: 1 to 16 keys of 32 bytes. The first key encrypts; all keys decrypt. The default file is created if it is missing. A file that you name must exist, and its content must be the same for all services that share a database. A machine that only has workers does not need it. The file must belong to the user `assay`, with mode 0600, in a directory that this user can enter.",
    defaultText: "`keys/webhook.key` in the data directory",
  }),
  ASSAY_LAUNCHER_SOCKET: setting(z.string().optional(), {
    description: "Socket of the launcher.",
    flag: "--launcher-socket",
    defaultText: "set by the command `assay`",
  }),
  ASSAY_EGRESS_DIRECTORY: setting(absolutePath.optional(), {
    description:
      "Directory of the socket on which this process serves the network of its sandboxes. The launcher has the same directory in its option `--egress`. Without it, no sandbox has a network.",
    flag: "--egress-directory",
    defaultText: "set by the command `assay`",
  }),
  ASSAY_DASHBOARD: setting(absolutePath.optional(), {
    description: "Directory of the built dashboard. Without it, the service has no dashboard.",
    flag: "--dashboard",
    defaultText: "set by the command `assay`",
  }),
  ASSAY_OIDC_ISSUER: setting(issuer.optional(), {
    description:
      "OpenID Connect provider (`https://…`) for [sign-in to the dashboard](dashboard.md#sign-in). It also needs `ASSAY_OIDC_CLIENT_ID`, and either `ASSAY_OIDC_CLIENT_SECRET` or `ASSAY_OIDC_CLIENT_SECRET_FILE`.",
  }),
  ASSAY_OIDC_CLIENT_ID: setting(z.string().min(1).optional(), {
    description: "Client id of this service at the provider.",
  }),
  ASSAY_OIDC_CLIENT_SECRET: setting(z.string().min(1).optional(), {
    description: "Client secret of this service at the provider.",
  }),
  ASSAY_OIDC_CLIENT_SECRET_FILE: setting(absolutePath.optional(), {
    description: "File with the client secret, which the user `assay` must be able to read.",
  }),
  ASSAY_OIDC_CA: setting(absolutePath.optional(), {
    description:
      "File (PEM) with an additional certificate authority for the provider, which the user `assay` must be able to read.",
  }),
});

function parseAddress(text: string): Address | undefined {
  if (text.startsWith("unix:/")) return { path: text.slice("unix:".length) };
  const match = /^(?:\[(?<six>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]]+)):(?<port>\d{1,5})$/.exec(text);
  const port = Number(match?.groups?.port);
  const host = match?.groups?.six ?? match?.groups?.host;
  return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}

function isBlock(text: string): boolean {
  const [address = "", prefix, ...more] = text.split("/");
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (bits < 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}
