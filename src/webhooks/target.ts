import { isIP } from "node:net";
import { OperatorError } from "../domain/operator-error.ts";
import type { HostPort } from "../domain/transport.ts";

/** The URL or one of its addresses is not allowed; the message is for the user who configured it. */
export class BlockedError extends OperatorError {
  override readonly name = "BlockedError";
}

/** The target of a webhook: a URL that passed all checks that need no name resolution. */
export interface WebhookTarget {
  readonly url: URL;
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Whether the operator allowed this receiver: it may then have any name, address and port. All other rules apply. */
  readonly allowed: boolean;
}

const MAX_LENGTH = 2_048;
const HTTPS_PORT = 443;
/** Lower ports belong to system services; of these, only HTTPS is a plausible webhook receiver. */
const FIRST_FREE_PORT = 1_024;

/** Names of this machine or the local network, regardless of their addresses. */
const LOCAL_NAMES = /(^|\.)(localhost|local|localdomain|internal|home\.arpa)$/;

/**
 * Parses a URL with the same parser that the connection uses. It turns all forms of numbers (decimal, octal, hexadecimal, full-width) into
 * plain addresses. Characters that the parser silently ignores or converts (tabs, line ends, backslashes) are rejected.
 * @param allowed receivers that the operator allowed (see WebhookTarget).
 * @throws BlockedError
 */
export function parseTarget(text: string, allowed: readonly HostPort[]): WebhookTarget {
  if (text.length > MAX_LENGTH) throw new BlockedError(`the URL must have at most ${MAX_LENGTH} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for them
  if (/[\u0000- \u007f-\u00a0\\]/.test(text))
    throw new BlockedError("the URL has a space, a control character or a backslash");
  if (!URL.canParse(text)) throw new BlockedError("this is not a URL");
  const url = new URL(text);
  if (url.protocol !== "https:") throw new BlockedError("the URL must begin with https://");
  if (url.username !== "" || url.password !== "") throw new BlockedError("the URL must not have a user or a password");
  if (text.includes("#")) throw new BlockedError("the URL must not have a fragment: it would not be sent");
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? HTTPS_PORT : Number(url.port);
  const target = { url, host, port, allowed: allowed.some((other) => other.host === host && other.port === port) };
  if (!target.allowed) checkPublic(host, port);
  return target;
}

function checkPublic(host: string, port: number): void {
  if (port !== HTTPS_PORT && port < FIRST_FREE_PORT) {
    throw new BlockedError(`port ${port} is not allowed: it must be ${HTTPS_PORT}, or ${FIRST_FREE_PORT} and above`);
  }
  if (isIP(host) !== 0) return;
  if (host.endsWith(".")) throw new BlockedError("the name must not end with a dot");
  if (!host.includes(".") || LOCAL_NAMES.test(host)) throw new BlockedError(`${host} is not a public name`);
}
