import { z } from "zod";
import { addressValue, type Cidr, covers, isWithin, parseCidr } from "./cidr.ts";
import { coversHost, isFor, parseHost } from "./host.ts";

/*
 * What the programs of a sandbox may reach over the network, and how much. A policy is parsed strictly: a mistake is an error, and never means
 * "everything". What no rule allows is refused.
 */

/** Nothing at all, or what the rules allow. */
export type NetworkPolicy = "none" | EgressPolicy;

export interface EgressPolicy extends EgressBudgets {
  readonly allow: readonly EgressRule[];
}

/** A host is canonical, such as `api.example.com` or `*.example.org` (host.ts). */
export type EgressRule =
  | { readonly host: string; readonly ports: readonly number[] }
  | { readonly cidr: Cidr; readonly ports: readonly number[] };

/** A policy as one process hands it to another one, and as it can be replaced: a later policy of a sandbox has a higher version. */
export interface VersionedPolicy {
  readonly version: number;
  readonly network: NetworkPolicy;
}

/** The policy of a sandbox that was created without a network. */
export const NO_NETWORK: VersionedPolicy = { version: 1, network: "none" };

/**
 * Whether a sandbox has a network, which is decided when it is created. One whose policy was later replaced by "none", or narrowed to it, still has one,
 * over which nothing can be reached at present.
 */
export function hasNetwork({ version, network }: VersionedPolicy): boolean {
  return network !== "none" || version > NO_NETWORK.version;
}

/** The budgets: `field` in JSON, the lowest and highest value, and the value that a policy has if it does not say one. */
export const EGRESS_BUDGETS = {
  bytesUp: {
    field: "bytes_up",
    least: 0,
    most: 2 ** 44,
    default: 2 ** 20,
    what: "Bytes that programs may send to the network, all connections together, over the whole life of the sandbox",
  },
  bytesDown: {
    field: "bytes_down",
    least: 0,
    most: 2 ** 44,
    default: 2 ** 30,
    what: "Bytes that programs may receive, in the same way",
  },
  connections: {
    field: "connections",
    least: 1,
    most: 64,
    default: 64,
    what: "Connections that may be open at the same time",
  },
  connectionsPerMinute: {
    field: "connections_per_minute",
    least: 1,
    most: 600,
    default: 600,
    what: "Connections that may begin within a minute, with those that are refused",
  },
} as const;
export type EgressBudgetName = keyof typeof EGRESS_BUDGETS;
export type EgressBudgets = Readonly<Record<EgressBudgetName, number>>;
export const EGRESS_BUDGET_NAMES = Object.keys(EGRESS_BUDGETS) as readonly EgressBudgetName[];

/**
 * `ports`: all ports of a policy together, because something must listen on each of them in the sandbox. `prefix4`, `prefix6`: the shortest prefix of
 * a network. `bytes`: the canonical JSON, because each record of a sandbox has it, and a list has 100 records.
 */
export const EGRESS_BOUNDS = { rules: 100, ports: 16, prefix4: 8, prefix6: 16, bytes: 16_384 } as const;

/** Programs ask here for names. The sandbox answers itself, whatever the address. */
export const DNS_PORT = 53;

/** The addresses inside of a sandbox that stand for names (src/egress/names.ts). */
export const NAME_NETWORKS = { v4: network("198.18.0.0/15"), v6: network("fd00:a55a::/32") } as const;

function network(text: string): Cidr {
  const parsed = parseCidr(text);
  if (typeof parsed === "string") throw new Error(`${text} ${parsed}`);
  return parsed;
}

const ports = z
  .array(z.int().min(1).max(65_535))
  .min(1)
  .max(EGRESS_BOUNDS.ports)
  .describe(`TCP ports, at most ${EGRESS_BOUNDS.ports} different ones in a policy; not ${DNS_PORT}`);
const budget = (name: EgressBudgetName) => {
  const { least, most, default: usual, what } = EGRESS_BUDGETS[name];
  return z.int().min(least).max(most).describe(`${what}, from ${least} to ${most}; by default ${usual}`).optional();
};

/** A rule has either `host` or `cidr`, which a schema without a union cannot say; errors then name the wrong part. */
const ruleSchema = z.strictObject({
  host: z
    .string()
    .describe("A name such as `api.example.com`, or `*.example.org` for all names below example.org")
    .optional(),
  cidr: z
    .string()
    .describe(
      `Instead of \`host\`, a network, such as \`203.0.113.0/24\` with a prefix of at least ${EGRESS_BOUNDS.prefix4} bits, or ${EGRESS_BOUNDS.prefix6} (IPv6). ` +
        "It is only for connections to addresses: a name is allowed by its own rule",
    )
    .optional(),
  ports,
});

const policySchema = z.strictObject({
  allow: z.array(ruleSchema).min(1).max(EGRESS_BOUNDS.rules),
  bytes_up: budget("bytesUp"),
  bytes_down: budget("bytesDown"),
  connections: budget("connections"),
  connections_per_minute: budget("connectionsPerMinute"),
});

/** The JSON of a policy. `parseNetworkPolicy` also checks what a schema cannot say. */
export const networkPolicySchema = z
  .union([z.literal("none"), policySchema])
  .describe(
    'What programs may reach over the network: "none", or what the rules allow. What no rule allows is refused',
  );

/** A policy is not valid. `message` is for the client, and says what is wrong. */
export class PolicyError extends Error {
  override readonly name = "PolicyError";
  /** Where in the policy, such as `allow[2].host`; empty for the policy itself. */
  readonly path: string;
  /** What is wrong there. */
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(path === "" ? reason : `${path}: ${reason}`);
    this.path = path;
    this.reason = reason;
  }
}

/**
 * Parses a policy and makes it canonical.
 * @param value JSON. @param upper the bound of a request: a budget that the policy does not state is at most that of the bound. Whether the policy is
 * within the bound otherwise, `whyNotNarrower` says.
 * @throws PolicyError
 */
export function parseNetworkPolicy(value: unknown, upper: NetworkPolicy | null = null): NetworkPolicy {
  if (value === "none") return "none";
  const given = checked(value);
  const allow = given.allow.map((rule, at) => parseRule(rule, `allow[${at}]`));
  checkAll(allow);
  const budgets = EGRESS_BUDGET_NAMES.map((name) => {
    const { field, default: usual } = EGRESS_BUDGETS[name];
    return [name, given[field] ?? Math.min(usual, upper === null || upper === "none" ? usual : upper[name])];
  });
  const policy = { allow, ...(Object.fromEntries(budgets) as EgressBudgets) };
  if (JSON.stringify(toNetworkJson(policy)).length > EGRESS_BOUNDS.bytes)
    throw new PolicyError("allow", `the rules have more than ${EGRESS_BOUNDS.bytes} bytes together`);
  return policy;
}

/**
 * Reads a policy that `toNetworkJson` has written. The bounds of requests are not checked again: a policy that was narrowed can have as many rules as two
 * requested ones together, and the bounds can change with a release.
 * @throws if it is not the JSON of a policy.
 */
export function fromNetworkJson(value: unknown): NetworkPolicy {
  const json = writtenSchema.parse(value);
  if (json === "none") return "none";
  const allow = json.allow.map(({ host, cidr, ports }): EgressRule => {
    if (host !== undefined) return { host, ports };
    const parsed = parseCidr(cidr ?? "");
    if (typeof parsed === "string") throw new Error(`${shown(cidr ?? "")} ${parsed}`);
    return { cidr: parsed, ports };
  });
  const budgets = EGRESS_BUDGET_NAMES.map((name) => [name, json[EGRESS_BUDGETS[name].field]]);
  return { allow, ...(Object.fromEntries(budgets) as EgressBudgets) };
}

const writtenBudget = z.int().min(0);
const writtenSchema = z.union([
  z.literal("none"),
  z.object({
    allow: z
      .array(
        z.object({
          host: z.string().max(256).optional(),
          cidr: z.string().max(64).optional(),
          ports: z.array(z.int().min(1).max(65_535)).max(EGRESS_BOUNDS.ports),
        }),
      )
      .min(1)
      .max(2 * EGRESS_BOUNDS.rules),
    bytes_up: writtenBudget,
    bytes_down: writtenBudget,
    connections: writtenBudget,
    connections_per_minute: writtenBudget,
  }),
]);

function checked(value: unknown): z.output<typeof policySchema> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new PolicyError("", 'must be "none", or an object with the field "allow"');
  const { success, data, error } = policySchema.safeParse(value);
  if (!success) {
    const [issue] = error.issues;
    throw new PolicyError(pathOf(issue?.path ?? []), issue?.message ?? "is not valid");
  }
  return data;
}

/** `allow`, 0, `host` → `allow[0].host` */
function pathOf(path: readonly PropertyKey[]): string {
  return path
    .reduce<string>((text, part) => (typeof part === "number" ? `${text}[${part}]` : `${text}.${String(part)}`), "")
    .replace(/^\./, "");
}

function parseRule({ host, cidr, ports }: z.output<typeof ruleSchema>, path: string): EgressRule {
  if ((host === undefined) === (cidr === undefined)) throw new PolicyError(path, 'must have either "host" or "cidr"');
  const destination = host === undefined ? cidrAt(cidr as string, path) : hostAt(host, path);
  const sorted = [...new Set(ports)].sort((a, b) => a - b);
  if (sorted.length !== ports.length) throw new PolicyError(`${path}.ports`, "has a port twice");
  if (sorted.includes(DNS_PORT))
    throw new PolicyError(
      `${path}.ports`,
      `port ${DNS_PORT} cannot be allowed: the sandbox answers questions for names itself`,
    );
  return { ...destination, ports: sorted };
}

function hostAt(text: string, path: string): { readonly host: string } {
  const parsed = parseHost(text);
  if (typeof parsed === "string") throw new PolicyError(`${path}.host`, `${shown(text)} ${parsed}`);
  return parsed;
}

function cidrAt(text: string, path: string): { readonly cidr: Cidr } {
  const fail = (why: string) => new PolicyError(`${path}.cidr`, `${shown(text)} ${why}`);
  const cidr = parseCidr(text);
  if (typeof cidr === "string") throw fail(cidr);
  const least = cidr.family === 4 ? EGRESS_BOUNDS.prefix4 : EGRESS_BOUNDS.prefix6;
  if (Number(cidr.text.split("/")[1]) < least) throw fail(`is too large: its prefix must have at least ${least} bits`);
  const names = cidr.family === 4 ? NAME_NETWORKS.v4 : NAME_NETWORKS.v6;
  if (covers(names, cidr) || covers(cidr, names))
    throw fail(`has addresses that stand for names inside of a sandbox (${names.text})`);
  return { cidr };
}

/** A part of a request in an error message. */
function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

function checkAll(rules: readonly EgressRule[]): void {
  const known = new Set<string>();
  for (const [at, rule] of rules.entries()) {
    const text = ruleText(rule);
    if (known.has(text))
      throw new PolicyError(`allow[${at}]`, `${text} has another rule already: list all its ports in one rule`);
    known.add(text);
  }
  if (portsOf(rules).length > EGRESS_BOUNDS.ports)
    throw new PolicyError("allow", `has more than ${EGRESS_BOUNDS.ports} different ports`);
}

/** All ports of rules, in ascending order. */
export function portsOf(rules: readonly EgressRule[]): number[] {
  return [...new Set(rules.flatMap((rule) => rule.ports))].sort((a, b) => a - b);
}

/** How records and messages name a rule: by its host or network. A policy has only one rule with this text. */
export function ruleText(rule: EgressRule): string {
  return "host" in rule ? rule.host : rule.cidr.text;
}

/** The canonical JSON of a policy, which `parseNetworkPolicy` reads. */
export function toNetworkJson(policy: NetworkPolicy): z.output<typeof networkPolicySchema> {
  if (policy === "none") return "none";
  return {
    allow: policy.allow.map((rule) =>
      "host" in rule ? { host: rule.host, ports: [...rule.ports] } : { cidr: rule.cidr.text, ports: [...rule.ports] },
    ),
    bytes_up: policy.bytesUp,
    bytes_down: policy.bytesDown,
    connections: policy.connections,
    connections_per_minute: policy.connectionsPerMinute,
  };
}

/**
 * Why a requested policy is not within its upper bound; null if it is: whatever it allows, the bound allows, too. Each port of a rule must be allowed by
 * one rule of the bound for the whole host or network.
 */
export function whyNotNarrower(upper: NetworkPolicy, requested: NetworkPolicy): string | null {
  if (requested === "none") return null;
  if (upper === "none") return "the upper bound of the policy allows no network";
  for (const rule of requested.allow) {
    const port = rule.ports.find(
      (wanted) => !upper.allow.some((bound) => bound.ports.includes(wanted) && coversRule(bound, rule)),
    );
    if (port !== undefined) return `port ${port} of ${ruleText(rule)} is not within the upper bound of the policy`;
  }
  const name = EGRESS_BUDGET_NAMES.find((budget) => requested[budget] > upper[budget]);
  return name === undefined
    ? null
    : `${EGRESS_BUDGETS[name].field} is above the upper bound of the policy, which is ${upper[name]}`;
}

/**
 * What both policies allow: exactly the destinations that each of them allows, and the lower one of each budget.
 * @returns a policy within both, as `whyNotNarrower` says; "none" if they have no destination in common.
 */
export function narrow(upper: NetworkPolicy, policy: NetworkPolicy): NetworkPolicy {
  if (upper === "none" || policy === "none") return "none";
  // Of two hosts or two networks, either one covers the other, or they have nothing in common.
  const ports = new Map<string, { readonly rule: EgressRule; readonly ports: Set<number> }>();
  for (const rule of policy.allow)
    for (const bound of upper.allow) {
      const common = coversRule(bound, rule) ? rule : coversRule(rule, bound) ? bound : null;
      const both = rule.ports.filter((port) => bound.ports.includes(port));
      if (!common || both.length === 0) continue;
      const known = ports.get(ruleText(common)) ?? { rule: common, ports: new Set() };
      for (const port of both) known.ports.add(port);
      ports.set(ruleText(common), known);
    }
  if (ports.size === 0) return "none";
  const allow = [...ports.values()].map(({ rule, ports: all }) => ({
    ...rule,
    ports: [...all].sort((a, b) => a - b),
  }));
  const budgets = EGRESS_BUDGET_NAMES.map((name) => [name, Math.min(upper[name], policy[name])]);
  return { allow, ...(Object.fromEntries(budgets) as EgressBudgets) };
}

function coversRule(outer: EgressRule, inner: EgressRule): boolean {
  if ("host" in outer) return "host" in inner && coversHost(outer.host, inner.host);
  return "cidr" in inner && covers(outer.cidr, inner.cidr);
}

/** What a program wants to reach: a name by a rule for hosts, an address only by one for networks. */
export type Destination =
  | { readonly name: string; readonly port: number }
  | { readonly address: string; readonly port: number };

export type Decision =
  | { readonly isAllowed: true /** As `ruleText` names it. */; readonly rule: string }
  | { readonly isAllowed: false /** For the program and the record. */; readonly reason: string };

/** Whether a policy allows a destination. @param destination its name is canonical (`isHostName`). */
export function decide(policy: NetworkPolicy, destination: Destination): Decision {
  const what = "name" in destination ? destination.name : destination.address;
  const rules = policy === "none" ? [] : policy.allow.filter((rule) => isRuleFor(rule, destination));
  const rule = rules.find(({ ports }) => ports.includes(destination.port));
  if (rule) return { isAllowed: true, rule: ruleText(rule) };
  return { isAllowed: false, reason: notAllowed(rules.length === 0 ? what : `port ${destination.port} of ${what}`) };
}

/** The hosts of rules that allow a name on some port. */
export function hostsFor(policy: NetworkPolicy, name: string): readonly string[] {
  if (policy === "none") return [];
  return policy.allow.flatMap((rule) => ("host" in rule && isFor(rule.host, name) ? [rule.host] : []));
}

export function notAllowed(what: string): string {
  return `${what} is not allowed by the policy of this sandbox`;
}

function isRuleFor(rule: EgressRule, destination: Destination): boolean {
  if ("name" in destination) return "host" in rule && isFor(rule.host, destination.name);
  return "cidr" in rule && addressValue(destination.address) !== null && isWithin([rule.cidr], destination.address);
}
