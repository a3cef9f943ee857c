import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Agent, fetch as undiciFetch } from "undici";
import { NOBODY } from "../cli/processes.ts";
import { ROOT } from "../repo/documents.ts";

export interface Where {
  readonly url: string;
  readonly key: string;
  /** A file that any user can read. */
  readonly caPath: string;
}

/** A result of a tool. */
export interface Called {
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape
  readonly structuredContent?: any;
  readonly isError?: boolean | undefined;
  readonly text: string;
  /** The blocks of text. */
  readonly texts: readonly string[];
}

export interface Connected {
  readonly client: Client;
  readonly call: (
    name: string,
    args?: Record<string, unknown>,
    options?: Parameters<Client["callTool"]>[1],
  ) => Promise<Called>;
}

/** The ways in which assistants reach the tools: the official client over each transport, in each form of the protocol. */
export const WAYS: Readonly<Record<string, (t: Pick<TestContext, "after">, where: Where) => Promise<Connected>>> = {
  "HTTP with a handshake": (t, where) => connected(t, overHttp(t, where), "legacy"),
  "HTTP without a handshake": (t, where) => connected(t, overHttp(t, where), "auto"),
  "stdio with a handshake": (t, where) => connected(t, overStdio(where), "legacy"),
  "stdio without a handshake": (t, where) => connected(t, overStdio(where), "auto"),
};

async function connected(
  t: Pick<TestContext, "after">,
  transport: StreamableHTTPClientTransport | StdioClientTransport,
  mode: "legacy" | "auto",
): Promise<Connected> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  t.after(() => client.close());
  // From then on, the client checks structured content against the schema of each tool.
  await client.listTools();
  const call: Connected["call"] = async (name, args = {}, options) => {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: args }, options);
    const texts = content.map((block) => (block.type === "text" ? block.text : ""));
    return { structuredContent, isError, text: texts.join("\n"), texts };
  };
  return { client, call };
}

function overHttp(t: Pick<TestContext, "after">, { url, key, caPath }: Where): StreamableHTTPClientTransport {
  const agent = new Agent({ connect: { ca: readFileSync(caPath) } });
  t.after(() => agent.close());
  const trusting = (input: unknown, init?: object) => undiciFetch(input as URL, { ...init, dispatcher: agent });
  return new StreamableHTTPClientTransport(new URL("/mcp", url), {
    fetch: trusting as unknown as typeof fetch,
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
  });
}

/** The command runs as a user without privileges. */
function overStdio({ url, key, caPath }: Where): StdioClientTransport {
  const user = process.getuid?.() === 0 ? ["--reuid", `${NOBODY}`, "--regid", `${NOBODY}`, "--clear-groups"] : [];
  return new StdioClientTransport({
    command: "setpriv",
    args: [...user, "--no-new-privs", join(ROOT, "assay"), "mcp"],
    env: { PATH: process.env.PATH ?? "", ASSAY_URL: url, ASSAY_KEY: key, ASSAY_CA: caPath },
    stderr: "inherit",
  });
}
