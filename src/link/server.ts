import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Logger } from "pino";
import { z } from "zod";
import { Budget } from "../fairness/budget.ts";
import { encodeFailure, RemoteFailure } from "./failures.ts";
import { CutOff, MessageReader, MessageWriter, ProtocolViolation } from "./messages.ts";
import { BYTES, type LinkedHost, METHODS, type Method, VALUE_BYTES } from "./methods.ts";
import { id } from "./values.ts";

type AnyMethod = Method<z.ZodType, z.ZodType, z.ZodType>;

/** Memory for arguments of one service that are read at the same time. */
const VALUES_BYTES = 33_554_432;
/** How long a call may take to send its arguments. */
const ARGUMENTS_MS = 20_000;
/** The envelope of a call besides its arguments. */
const ENVELOPE_BYTES = 1_024;

/** Serves the calls of a service over a session, until that ends. */
export function serveLink(session: ServerHttp2Session, host: LinkedHost, log: Logger): void {
  const values = new Budget({ total: VALUES_BYTES, inAnyCase: VALUES_BYTES, waitMs: ARGUMENTS_MS });
  session.on("stream", (stream, headers) => {
    stream.on("error", () => {}); // the reader and the writer get it
    void serve(stream, headers, host, values).catch((error: unknown) => {
      if (error instanceof ProtocolViolation) {
        log.error({ err: error }, "a service violated the protocol of links");
        session.destroy();
      } else log.error({ err: error, call: headers[":path"] }, "a call over a link failed");
    });
  });
}

/** Serves one call. @throws what the log should have. */
async function serve(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  host: LinkedHost,
  values: Budget,
): Promise<void> {
  const over = new AbortController();
  stream.once("close", () => over.abort());
  const name = String(headers[":path"]).slice(1);
  const writer = new MessageWriter(stream);
  if (!Object.hasOwn(METHODS, name)) {
    stream.respond({ ":status": 404 });
    writer.fail(encodeFailure(new RemoteFailure("there is no such method")).value);
    return;
  }
  const method = METHODS[name as keyof typeof METHODS] as unknown as AnyMethod;
  const reader = new MessageReader(stream, async (bytes) => {
    const release = await values.takeInTime("link", bytes, over.signal);
    if (!release) throw new CutOff("there was no memory for arguments in time");
    return release;
  });
  let items: AsyncIterable<unknown> | undefined;
  let done = () => {};
  try {
    const { uses, ...call } = await readCall(stream, reader, method);
    if (uses) done = (await host.find(call.id, call.accountId)).use();
    const upload = method.uploads ? reader.pieces() : noUpload();
    const answer = await method.run({ host, ...call, upload, over: over.signal });
    items = answer.items;
    if (over.signal.aborted) return;
    stream.respond({ ":status": 200 });
    await writer.value(method.result.encode(answer.result));
    if (items) await sendItems(writer, items, method);
    writer.end();
  } catch (error) {
    if (error instanceof ProtocolViolation) throw error;
    const { value, isKnown } = encodeFailure(error);
    if (!stream.destroyed && !stream.headersSent) stream.respond({ ":status": 200 });
    writer.fail(value);
    if (!isKnown && !over.signal.aborted) throw error;
  } finally {
    done();
    // Without an effect on an iteration that is over. It can be one that has not begun, because the caller was gone.
    await items?.[Symbol.asyncIterator]()
      .return?.()
      .catch(() => {});
    // A caller that still sends is told that nobody reads it.
    if (!stream.readableEnded && !stream.destroyed && stream.writableEnded)
      stream.once("finish", () => stream.close(constants.NGHTTP2_NO_ERROR));
  }
}

async function readCall(stream: ServerHttp2Stream, reader: MessageReader, method: AnyMethod) {
  const late = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), ARGUMENTS_MS);
  try {
    const message = await reader.next((method.most?.args ?? VALUE_BYTES) + ENVELOPE_BYTES);
    if (message.kind !== "value") throw new ProtocolViolation("a call without arguments");
    const parsed = z.strictObject({ id, accountId: id, uses: z.boolean(), args: method.args }).safeParse(message.value);
    if (!parsed.success) throw new ProtocolViolation("arguments of a wrong form", { cause: parsed.error });
    if (!method.uploads && (await reader.next(0)).kind !== "end") throw new ProtocolViolation("more than arguments");
    return parsed.data;
  } finally {
    clearTimeout(late);
  }
}

async function sendItems(
  writer: MessageWriter,
  items: AsyncIterable<unknown>,
  { items: form }: AnyMethod,
): Promise<void> {
  for await (const item of items) {
    if (form === BYTES) await writer.bytes(item as Buffer);
    else await writer.value((form as z.ZodType).encode(item));
  }
}

async function* noUpload(): AsyncGenerator<Buffer, void, undefined> {}
