import type { IncomingHttpHeaders } from "node:http";

export const MCP_PATH = "/mcp";

/** The API key of a request. It can also be a bearer token, because that is the only form that all clients can configure. */
export function mcpKey({ "x-api-key": key, authorization }: IncomingHttpHeaders): string | string[] | undefined {
  return key ?? /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}
