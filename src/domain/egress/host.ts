/*
 * Names of hosts, in one canonical form: lower case, ASCII, without a final dot. A rule of a policy is `api.example.com`, or `*.example.org` for all
 * names below example.org, but not for example.org itself.
 */

const MAX_NAME = 253;
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** The last label of what URL parsers read as an IPv4 address, such as 127.1 or 0x7f000001. */
const NUMBER = /^(\d+|0x[0-9a-f]*)$/;
/** Names that mean the own machine by definition. A program reaches what listens there without any policy. */
const OWN = /(^|\.)localhost$/;
const WILDCARD = "*.";
/**
 * How many labels follow `*.`, at least. With one, the rule would be for everything below a top-level domain. Other domains below which anybody
 * can register names, such as co.uk, are not known here: a list of them changes each week, and a service must not depend on its age.
 */
const LABELS_AFTER_WILDCARD = 2;

/** Whether this is a name of a host in canonical form, with at least two labels. Underscores are allowed, because names of buckets have them. */
export function isHostName(name: string): boolean {
  const labels = name.split(".");
  return (
    name.length <= MAX_NAME &&
    labels.length >= 2 &&
    labels.every((label) => LABEL.test(label)) &&
    !NUMBER.test(labels.at(-1) ?? "")
  );
}

/**
 * The canonical form of the host of a rule.
 * @returns `host`, or in words why the text is not a host: the end of a sentence that begins with the text.
 */
export function parseHost(text: string): { readonly host: string } | string {
  if (text === "*")
    return 'is not a rule: no rule allows every host; name hosts, or all hosts below a domain as in "*.example.org"';
  const isWildcard = text.startsWith(WILDCARD);
  const name = isWildcard ? text.slice(WILDCARD.length) : text;
  if (name.includes("*")) return 'has a "*" that does not stand for all names below a domain, as in "*.example.org"';
  if (name.length > MAX_NAME) return `has more than ${MAX_NAME} characters`;
  const host = name.toLowerCase();
  if (/[^\x21-\x7e]/.test(name)) return `has characters outside of ASCII, or spaces${inAscii(name)}`;
  if (host.endsWith(".")) return "ends with a dot";
  if (host.includes(":") || NUMBER.test(host.split(".").at(-1) ?? ""))
    return 'is an address or has a port: use "cidr" for addresses, and "ports"';
  if (OWN.test(host)) return "means the sandbox itself";
  if (!host.includes("."))
    return isWildcard ? tooWide : "is not a name with at least two labels, such as api.example.com";
  if (host.split(".").length < LABELS_AFTER_WILDCARD) return tooWide;
  if (!isHostName(host)) return "is not the name of a host";

  return { host: isWildcard ? WILDCARD + host : host };
}

const tooWide = `would be for every name of a top-level domain: at least ${LABELS_AFTER_WILDCARD} labels must follow "*."`;

/** A hint for a name in another script. The name is not converted silently, because different characters can look the same. */
function inAscii(name: string): string {
  const url = `http://${name}/`;
  if (!/^[a-z0-9.\u00a1-\uffff-]+$/i.test(name) || !URL.canParse(url)) return "";
  return `: in ASCII, it is ${new URL(url).hostname}`;
}

export function isWildcard(host: string): boolean {
  return host.startsWith(WILDCARD);
}

/** Whether a rule for `host` is also for this name. @param name canonical. */
export function isFor(host: string, name: string): boolean {
  return isWildcard(host) ? name.endsWith(host.slice(1)) && name.length >= host.length : name === host;
}

/** Whether `outer` is for each name that `inner` is for. Both are hosts of rules. */
export function coversHost(outer: string, inner: string): boolean {
  if (outer === inner) return true;
  if (!isWildcard(inner)) return isFor(outer, inner);
  return isWildcard(outer) && isFor(outer, inner.slice(WILDCARD.length));
}

/** How many labels of a name a rule leaves open; 0 if the rule is not a wildcard. */
export function openLabels(host: string, name: string): number {
  return isWildcard(host) ? name.slice(0, -(host.length - 1)).split(".").length : 0;
}
