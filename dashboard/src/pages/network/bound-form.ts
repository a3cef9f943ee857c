import type { NetworkBound } from "../../../../src/http/dashboard/api/network.ts";
import { ruleName } from "../../egress/rule-name.ts";
import { bytesIn, bytesText } from "./bytes-text.ts";

/** A rule as a person writes it. */
export interface WrittenRule {
  /** Identifies the row while others are added and removed. */
  readonly key: number;
  readonly destination: string;
  readonly ports: string;
}

/** The fields with one value each: their names in the API. */
export const BYTE_FIELDS = ["bytes_up", "bytes_down", "bytes_up_per_day", "bytes_down_per_day"] as const;
export const COUNT_FIELDS = ["connections", "connections_per_minute"] as const;
export type BoundField = (typeof BYTE_FIELDS)[number] | (typeof COUNT_FIELDS)[number];

/** What is no host, but a network, or an address that lacks the length of its prefix. */
const MEANS_NETWORK = /\/|^\d+(\.\d+)*$|:.*:/;

export type Written = Readonly<Record<BoundField, string>>;

/** What is wrong, and where: the name of a field, `destination0` or `ports0` for the first rule; null for the whole form. */
export interface Mistake {
  readonly field: string | null;
  readonly text: string;
}

class MistakeError extends Error {
  readonly field: string;

  constructor(field: string, text: string) {
    super(text);
    this.field = field;
  }
}

/** The values of the fields for a bound; for one that allows nothing, those that a policy has if it states none. */
export function writtenOf(bound: NetworkBound): Written {
  const policy = bound.policy === "none" ? null : bound.policy;
  const perDay = (bytes: number | null) => (bytes === null ? "" : bytesText(bytes));
  return {
    bytes_up: bytesText(policy?.bytes_up ?? 2 ** 20),
    bytes_down: bytesText(policy?.bytes_down ?? 2 ** 30),
    connections: String(policy?.connections ?? 64),
    connections_per_minute: String(policy?.connections_per_minute ?? 600),
    bytes_up_per_day: perDay(bound.bytes_up_per_day),
    bytes_down_per_day: perDay(bound.bytes_down_per_day),
  };
}

export function rulesOf(bound: NetworkBound): readonly WrittenRule[] {
  if (bound.policy === "none") return [{ key: 0, destination: "", ports: "443" }];
  return bound.policy.allow.map((rule, key) => ({ key, destination: ruleName(rule), ports: rule.ports.join(", ") }));
}

/** The bound that a person has written. The service checks it; here is only what has no form as JSON. @param rules null: nothing is allowed. */
export function boundIn(written: Written, rules: readonly WrittenRule[] | null): NetworkBound {
  const bytes = (field: BoundField) => {
    try {
      return bytesIn(written[field]);
    } catch (error) {
      throw new MistakeError(field, (error as Error).message);
    }
  };
  const perDay = (field: BoundField) => (written[field].trim() === "" ? null : bytes(field));
  const count = (field: BoundField) => {
    if (!/^\d{1,9}$/.test(written[field].trim())) throw new MistakeError(field, "must be a whole number");
    return Number(written[field]);
  };
  const days = { bytes_up_per_day: perDay("bytes_up_per_day"), bytes_down_per_day: perDay("bytes_down_per_day") };
  if (rules === null) return { policy: "none", ...days };
  const allow = rules.map(({ destination, ports }, at) => {
    const name = destination.trim();
    const rule = { ports: portsIn(ports, at) };
    return MEANS_NETWORK.test(name) ? { cidr: name, ...rule } : { host: name, ...rule };
  });
  const policy = {
    allow,
    bytes_up: bytes("bytes_up"),
    bytes_down: bytes("bytes_down"),
    connections: count("connections"),
    connections_per_minute: count("connections_per_minute"),
  };
  return { policy, ...days };
}

function portsIn(text: string, at: number): number[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  if (parts.length === 0 || !parts.every((part) => /^\d{1,5}$/.test(part)))
    throw new MistakeError(`ports${at}`, "must be ports with commas between them, such as 80, 443");
  return parts.map(Number);
}

/** Where in the form a message of the service belongs, which begins with the place in the JSON, or names a rule. */
export function mistakeIn(error: Error, rules: readonly WrittenRule[]): Mistake {
  if (error instanceof MistakeError) return { field: error.field, text: error.message };
  const { message } = error;
  const [, path = "", reason = message] = /^((?:policy\.)?[a-z_]+(?:\[\d+\])?[\w.[\]]*): (.+)$/s.exec(message) ?? [];
  const [, at, part] = /^policy\.allow\[(\d+)\](?:\.(\w+))?/.exec(path) ?? [];
  if (at !== undefined) return { field: `${part === "ports" ? "ports" : "destination"}${at}`, text: reason };
  const field = fieldNamed(path.replace(/^policy\./, ""));
  if (field) return { field, text: reason };
  const [, beyond] = /account: (.+)$/s.exec(message) ?? [];
  const budget = fieldNamed(/^(\w+) is above/.exec(beyond ?? "")?.[1] ?? "");
  if (budget) return { field: budget, text: message };
  const rule = /^port \d+ of (\S+) is not within/.exec(beyond ?? "")?.[1];
  const row = rules.findIndex(({ destination }) => destination.trim().toLowerCase() === rule);
  return { field: rule !== undefined && row >= 0 ? `destination${row}` : null, text: message };
}

function fieldNamed(name: string): BoundField | undefined {
  return [...BYTE_FIELDS, ...COUNT_FIELDS].find((field) => field === name);
}
