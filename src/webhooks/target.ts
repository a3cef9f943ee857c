import { isIP } from "node:net";
import type { HostPort } from "../domain/transport.ts";

/** The address, the form or the answer of the look-up is not allowed; the message is for whoever configured it. */
export class BlockedError extends Error {
  override readonly name = "BlockedError";
}

/** Where a webhook goes: a URL that passed every rule which needs no look-up. */
export interface Target {
  readonly url: URL;
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Named by the operator: its addresses are not judged. All else holds for it, too. */
  readonly allowed: boolean;
}

const MAX_LENGTH = 2_048;
const HTTPS_PORT = 443;
/** Ports below belong to the services of machines; nobody receives webhooks on one but HTTPS. */
const FIRST_FREE_PORT = 1_024;

/** Names that mean this machine or this network, whatever a look-up answers. */
const LOCAL_NAMES = /(^|\.)(localhost|local|localdomain|internal|home\.arpa)$/;

/**
 * Reads the URL as the connection will. WHATWG's parser has turned numbers of every form
 * (decimal, octal, hexadecimal, full-width) into plain addresses; what it passes over in
 * silence (tabs, line ends, backslashes) is refused.
 * @param allowed receivers that the operator named: their addresses are not judged.
 * @throws BlockedError
 */
export function parseTarget(text: string, allowed: readonly HostPort[]): Target {
  if (text.length > MAX_LENGTH) throw new BlockedError(`the URL must have at most ${MAX_LENGTH} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
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
