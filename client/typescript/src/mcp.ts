#!/usr/bin/env node
/**
 * assay-mcp: offers the tools of a service to an assistant that starts a command for its tools. It passes each message of the Model
 * Context Protocol from standard input to POST /mcp of the service ASSAY_URL, with the API key ASSAY_KEY, and the answers to standard
 * output. If the service has its own certificate authority, ASSAY_CA is the file with that authority.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import tls from "node:tls";
import { errorOf } from "./error.ts";
import { Timeout } from "./transport.ts";

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly name?: unknown;
    readonly requestId?: unknown;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
  readonly result?: { readonly protocolVersion?: unknown };
  readonly error?: unknown;
}

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
/** The longest time of a request. The service answers within half a minute. */
const TIMEOUT_MS = 120_000;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const SERVER_ERROR = -32_000;

const { ASSAY_URL, ASSAY_KEY, ASSAY_CA } = process.env;
if (!ASSAY_URL || !ASSAY_KEY) exit("set ASSAY_URL and ASSAY_KEY: assay serve prints them");
if (!URL.canParse(ASSAY_URL)) exit(`ASSAY_URL is not a URL: ${ASSAY_URL}`);
const address = new URL("mcp", ASSAY_URL.endsWith("/") ? ASSAY_URL : `${ASSAY_URL}/`);
if (ASSAY_CA) trust(ASSAY_CA);

/** The requests that have no answer yet, by id. */
const open = new Map<string | number, AbortController>();
/** The protocol version of the handshake. Newer assistants name the version in each message instead. */
let version: string | undefined;

const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  if (line.trim() === "") return;
  const message = parse(line);
  if (message === undefined) fail(null, PARSE_ERROR, "the line is not JSON");
  else if (message.method === "notifications/cancelled") open.get(message.params?.requestId as string)?.abort();
  else if (Array.isArray(message)) fail(null, INVALID_REQUEST, "send one message in a line, not several");
  // A message without a method is an answer, and is dropped: the service sends no requests.
  else if (message.method !== undefined) void forward(message, line);
});
// The assistant has ended. Programs that still run in the service continue.
input.on("close", () => process.exit(0));

async function forward(message: Message, body: string): Promise<void> {
  const { id } = message;
  const cancelling = new AbortController();
  if (id !== undefined) open.set(id, cancelling);
  const timeout = new Timeout(TIMEOUT_MS, cancelling.signal);
  try {
    const response = await fetch(address, {
      method: "POST",
      headers: headersOf(message),
      body,
      // A redirect would send the key to another address.
      redirect: "error",
      signal: timeout.signal,
    });
    const answered = await pass(response, message);
    if (!answered && id !== undefined) throw new Error("the connection ended before the answer");
  } catch (error) {
    if (!cancelling.signal.aborted) refuse(message, textOf(error));
  } finally {
    timeout.clear();
    if (id !== undefined) open.delete(id);
  }
}

/** Passes the messages of a response to the assistant. @returns whether one of them was the answer to `message`. */
async function pass(response: Response, message: Message): Promise<boolean> {
  const type = response.headers.get("content-type") ?? "";
  let answered = false;
  const write = (text: string) => {
    const given = parse(text);
    if (given === undefined || !("jsonrpc" in given)) return;
    if (message.method === "initialize" && typeof given.result?.protocolVersion === "string")
      version = given.result.protocolVersion;
    const isAnswer = given.method === undefined;
    if (isAnswer) answered = true;
    // The answer gets the id of the request here, because it has none if the service found an error before it read the id.
    const answer = isAnswer && message.id !== undefined ? { ...given, id: message.id } : given;
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  };
  if (response.ok && type.startsWith("text/event-stream") && response.body) {
    const lines = createInterface({ input: Readable.fromWeb(response.body as never) });
    // Each event is one line.
    for await (const line of lines) if (line.startsWith("data:")) write(line.slice(5));
    return answered;
  }
  write(await response.clone().text());
  if (answered || response.ok) return answered;
  const { message: text, retryAfterSecs } = await errorOf(response);
  throw new Error(retryAfterSecs === null ? text : `${text}; retry in ${retryAfterSecs} s`);
}

function headersOf({ method, params }: Message): Record<string, string> {
  const named = params?._meta?.[VERSION_KEY] ?? (method === "initialize" ? undefined : version);
  const { name } = params ?? {};
  return {
    Accept: "application/json, text/event-stream",
    "Content-Type": "application/json",
    "X-API-Key": String(ASSAY_KEY),
    ...(isPlain(named) && { "MCP-Protocol-Version": named }),
    ...(isPlain(method) && { "Mcp-Method": method }),
    ...(isPlain(name) && { "Mcp-Name": name }),
  };
}

/** Whether the value can be sent in a header without encoding. */
function isPlain(value: unknown): value is string {
  return typeof value === "string" && /^[!-~]{1,200}$/.test(value);
}

/** Answers a request with an error. That of a tool call is a result of the tool, which the model reads; others are for the assistant. */
function refuse({ id, method }: Message, text: string): void {
  if (id === undefined) process.stderr.write(`assay-mcp: ${text}\n`);
  else if (method === "tools/call") send({ id, result: { content: [{ type: "text", text }], isError: true } });
  else fail(id, SERVER_ERROR, text);
}

function fail(id: string | number | null, code: number, message: string): void {
  send({ id, error: { code, message } });
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function textOf(error: unknown): string {
  const { message, cause } = error as Error;
  const reason = cause instanceof Error ? `: ${cause.message}` : "";
  return cause === undefined ? message : `no answer from ${address.origin}${reason}`;
}

function parse(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined; // the caller handles text that is not JSON
  }
}

/** Makes Node trust the authority in this file, in addition to the usual ones. */
function trust(path: string): void {
  if (typeof tls.setDefaultCACertificates !== "function")
    exit("ASSAY_CA needs Node 24.5 or 22.19; with an older one, set NODE_EXTRA_CA_CERTS instead");
  try {
    tls.setDefaultCACertificates([...tls.getCACertificates("default"), readFileSync(path, "utf8")]);
  } catch (error) {
    exit(`ASSAY_CA: ${(error as Error).message}`);
  }
}

function exit(text: string): never {
  process.stderr.write(`assay-mcp: ${text}\n`);
  process.exit(2);
}
