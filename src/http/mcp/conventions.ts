import type { IncomingHttpHeaders } from "node:http";

export const MCP_PATH = "/mcp";

/** The key can also be a bearer token, the one form that all clients can configure. */
export function mcpKey({ "x-api-key": key, authorization }: IncomingHttpHeaders): string | string[] | undefined {
  return key ?? /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}
