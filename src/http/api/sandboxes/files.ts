import type { FastifyReply } from "fastify";
import { z } from "zod";
import { clientError } from "../../../domain/error.ts";
import {
  FileError,
  type FileInfo,
  type FileRange,
  MAX_LIST_ENTRIES,
  SANDBOX_HOME,
} from "../../../domain/sandboxes/files.ts";
import { isStillValid } from "../../access/auth.ts";
import { streamedBody } from "../../body/streamed-body.ts";
import { disconnected } from "../../responses/client-disconnect.ts";
import { route } from "../../route.ts";
import { SANDBOX_ID } from "../parameters.ts";
import { FILE_EVENTS, fileBody, filesBody, moveBody, pathBody, toFile, unpackedBody } from "./bodies.ts";
import { checking, sendTexts } from "./execution-events.ts";
import { ofSandbox } from "./of-sandbox.ts";
import { FILE_REQUEST_ERRORS } from "./refused.ts";
import { checked } from "./requests.ts";
import { checkStillValid } from "./sandboxes.ts";

const ID = { id: SANDBOX_ID } as const;
const PATH = { description: `Path, absolute or relative to ${SANDBOX_HOME}`, schema: z.string() } as const;
const DIRECTORY = {
  description: `Path of a directory, by default ${SANDBOX_HOME}`,
  schema: z.string().default(SANDBOX_HOME),
} as const;
const flag = (description: string) => ({ description, schema: z.enum(["true", "false"]).default("false") }) as const;

const OF_FILE = { ofSandbox: true } as const;
const STREAMED = { ofSandbox: true, streams: true } as const;

const tag = (description: string) => ({ description, schema: z.string().optional() }) as const;
const IF_MATCH = tag("An ETag: the file is only replaced if it has this one; `*`: only if there is a file");
const IF_NONE_MATCH = tag("An ETag: the file is only replaced if it has another one; `*`: only if there is no file");

/** The ETag in a header, without quotation marks. @throws ClientError invalidRequest. */
function etagOf(name: string, value: string | undefined): string | undefined {
  if (value === undefined || value === "*") return value;
  const [, etag] = /^"([\x21\x23-\x7e]{1,200})"$/.exec(value) ?? [];
  if (etag === undefined) throw clientError("invalidRequest", [name, "must be one ETag in quotation marks, or *"]);
  return etag;
}

function rangeOf(header: string | undefined): FileRange | null {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (first === "") return last === "" ? null : { last: Number(last) };
  if (last === "") return { from: Number(first), to: null };
  return Number(last) < Number(first) ? null : { from: Number(first), to: Number(last) + 1 };
}

/** A file, or a range, with at most so many bytes is sent at once: a stream would take several times as long. */
const SHORT_BYTES = 16_384;

const FILE_HEADERS = {
  ETag: "Changes with the content",
  "Last-Modified": "When the content was last changed",
} as const;

function describe(reply: FastifyReply, { etag, modifiedAtMs }: FileInfo): FastifyReply {
  const date = new Date(modifiedAtMs);
  return reply
    .header("etag", `"${etag}"`)
    .header("accept-ranges", "bytes")
    .headers(Number.isNaN(date.getTime()) ? {} : { "last-modified": date.toUTCString() });
}

/**
 * Makes an iterable end when the response does, even if nobody has begun to read it: until then, it occupies a program in the sandbox.
 */
export function untilClosed<T>(iterable: AsyncIterable<T>, reply: FastifyReply): AsyncIterable<T> {
  const iterator = iterable[Symbol.asyncIterator]();
  const end = () => void iterator.return?.()?.catch(() => {});
  const gone = disconnected(reply);
  if (gone.aborted) end();
  else gone.addEventListener("abort", end, { once: true });
  return { [Symbol.asyncIterator]: () => iterator };
}

export const readFile = route({
  id: "readFile",
  method: "get",
  path: "/api/sandboxes/{id}/files",
  summary: "Read a file",
  description:
    "Returns the bytes of a file. A request with `Range` gets a part of them, with status 206. A request with `If-None-Match` gets 304 if the file has that " +
    "ETag. HEAD returns the headers alone.",
  parameters: {
    path: ID,
    query: { path: PATH },
    headers: {
      "If-None-Match": tag("An ETag: if the file has it, the response is 304"),
      "If-Range": tag("An ETag: `Range` only holds if the file has it"),
    },
  },
  successes: {
    200: { description: "All bytes", media: "application/octet-stream", headers: FILE_HEADERS },
    206: { description: "The requested range", media: "application/octet-stream", headers: FILE_HEADERS },
    304: { description: "The file has the given ETag", headers: FILE_HEADERS },
  },
  errors: FILE_REQUEST_ERRORS,
  config: OF_FILE,
  handler: (services) => async (call) => {
    const { request, reply, owner, query, headers } = call;
    return await ofSandbox(call, services, async ({ files }) => {
      const unwanted = etagOf("If-None-Match", headers["If-None-Match"]);
      const same = etagOf("If-Range", headers["If-Range"]);
      const isHead = request.method === "HEAD";
      if (isHead || unwanted !== undefined || same !== undefined) {
        const info = await files.stat(query.path, true);
        if (unwanted === info.etag || unwanted === "*") return await describe(reply, info).code(304).send();
        if (isHead) {
          if (info.type !== "file")
            throw new FileError(info.type === "directory" ? "isDirectory" : "notRegular", info.path);
          describe(reply, info).type("application/octet-stream").header("content-length", info.bytes);
          // Fastify would send the length of an empty body.
          return services.answers.sendPieces(owner, reply, []);
        }
        if (same !== undefined && same !== info.etag) request.headers.range = undefined;
      }
      const range = rangeOf(request.headers.range);
      const { info, from, bytes, body } = await files.read(query.path, range);
      describe(reply, info).type("application/octet-stream").header("content-length", bytes);
      if (range) reply.code(206).header("content-range", `bytes ${from}-${from + bytes - 1}/${info.bytes}`);
      if (bytes > SHORT_BYTES) return services.answers.sendPieces(owner, reply, untilClosed(body, reply));
      const pieces: Buffer[] = [];
      for await (const piece of body) pieces.push(piece);
      return await reply.send(Buffer.concat(pieces));
    });
  },
});

export const writeFile = route({
  id: "writeFile",
  method: "put",
  path: "/api/sandboxes/{id}/files",
  summary: "Write a file",
  description:
    "Replaces or creates a file with the body as it is. Programs see the old content or the new one, never a part. The body is passed on while it arrives, and may " +
    "have any length that fits on the disk of the sandbox.",
  parameters: {
    path: ID,
    query: {
      path: PATH,
      mode: {
        description: "Permissions as an octal number, such as 755. By default, those of the replaced file, or 644",
        schema: z
          .string()
          .regex(/^0?[0-7]{3}$/, "must be an octal number of three digits")
          .optional(),
      },
      parents: flag("With `true`, missing directories are made"),
    },
    headers: { "If-Match": IF_MATCH, "If-None-Match": IF_NONE_MATCH },
  },
  body: { media: "application/octet-stream" },
  successes: { 200: { description: "The file", body: fileBody, headers: { ETag: FILE_HEADERS.ETag } } },
  errors: FILE_REQUEST_ERRORS,
  config: STREAMED,
  handler: (services) => async (call) => {
    const { request, reply, query, headers } = call;
    return await ofSandbox(call, services, async ({ files }) => {
      const ifMatch = etagOf("If-Match", headers["If-Match"]);
      const ifNoneMatch = etagOf("If-None-Match", headers["If-None-Match"]);
      const body = streamedBody(request, services.answers.eventLoop);
      const info = await files.write(query.path, body, {
        ...(query.mode !== undefined && { mode: Number.parseInt(query.mode, 8) }),
        ...(ifMatch !== undefined && { ifMatch }),
        ...(ifNoneMatch !== undefined && { ifNoneMatch }),
        createParents: query.parents === "true",
      });
      reply.header("etag", `"${info.etag}"`);
      return toFile(info);
    });
  },
});

export const removeFile = route({
  id: "removeFile",
  method: "delete",
  path: "/api/sandboxes/{id}/files",
  summary: "Remove a file or directory",
  description:
    "Removes a file, a link or an empty directory; with `recursive`, also a directory with everything in it.",
  parameters: { path: ID, query: { path: PATH, recursive: flag("With `true`, a directory may have content") } },
  successes: { 200: { description: "The path, which is removed", body: pathBody } },
  errors: FILE_REQUEST_ERRORS,
  config: { ...OF_FILE, bodyless: true },
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async ({ files }) => {
      const { path, recursive } = call.query;
      await files.remove(path, recursive === "true");
      return { path };
    }),
});

export const fileInfo = route({
  id: "fileInfo",
  method: "get",
  path: "/api/sandboxes/{id}/files/info",
  summary: "Describe a file",
  description: "Returns what a file, directory or link is.",
  parameters: {
    path: ID,
    query: {
      path: PATH,
      follow: {
        description: "With `false`, a link itself is described",
        schema: z.enum(["true", "false"]).default("true"),
      },
    },
  },
  successes: { 200: { description: "The file", body: fileBody } },
  errors: FILE_REQUEST_ERRORS,
  config: OF_FILE,
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async ({ files }) =>
      toFile(await files.stat(call.query.path, call.query.follow === "true")),
    ),
});

export const listFiles = route({
  id: "listFiles",
  method: "get",
  path: "/api/sandboxes/{id}/files/list",
  summary: "List a directory",
  description: "Lists the entries of a directory by name. A page can be short although there is a next one.",
  parameters: {
    path: ID,
    query: {
      path: DIRECTORY,
      after: { description: "The value of `next` from the previous page", schema: z.string().optional() },
      limit: {
        description: `The most entries of a page, from 1 to ${MAX_LIST_ENTRIES}`,
        schema: z
          .codec(
            z.string().regex(/^([1-9]\d{0,2}|1000)$/, `must be 1 to ${MAX_LIST_ENTRIES}`),
            z.int().min(1).max(MAX_LIST_ENTRIES),
            {
              decode: Number,
              encode: String,
            },
          )
          .default(MAX_LIST_ENTRIES),
      },
    },
  },
  successes: { 200: { description: "A page of entries", body: filesBody } },
  errors: [...FILE_REQUEST_ERRORS, "noRoom"],
  config: OF_FILE,
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async ({ files }) => {
      const { path, after = null, limit } = call.query;
      const { entries, next } = await files.list(path, after, limit);
      return await services.answers.send(call.owner, call.reply, { entries: entries.map(toFile), next });
    }),
});

export const makeDirectory = route({
  id: "makeDirectory",
  method: "post",
  path: "/api/sandboxes/{id}/files/directories",
  summary: "Make a directory",
  description: "Makes a directory, and missing ones above it. A directory that exists does not change.",
  parameters: { path: ID },
  body: pathBody,
  successes: { 200: { description: "The directory", body: fileBody } },
  errors: [...FILE_REQUEST_ERRORS, "bodyNotObject", "invalidRequest"],
  config: OF_FILE,
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async ({ files }) => {
      const { path } = checked(pathBody, call.request.body);
      await checkStillValid(call, services);
      return toFile(await files.makeDirectory(path));
    }),
});

export const moveFile = route({
  id: "moveFile",
  method: "post",
  path: "/api/sandboxes/{id}/files/move",
  summary: "Move a file or directory",
  description: "Renames a file, directory or link. A file, or an empty directory, that has the new name is replaced.",
  parameters: { path: ID },
  body: moveBody,
  successes: { 200: { description: "The file under its new name", body: fileBody } },
  errors: [...FILE_REQUEST_ERRORS, "bodyNotObject", "invalidRequest"],
  config: OF_FILE,
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async ({ files }) => {
      const { path, to } = checked(moveBody, call.request.body);
      await checkStillValid(call, services);
      return toFile(await files.move(path, to));
    }),
});

export const readArchive = route({
  id: "readArchive",
  method: "get",
  path: "/api/sandboxes/{id}/files/archive",
  summary: "Read a directory as an archive",
  description:
    "Returns a tar archive of what is in a directory, or of one file. Sockets, pipes and devices are left out. If the files change meanwhile so that the archive " +
    "cannot be completed, the connection is closed early.",
  parameters: { path: ID, query: { path: DIRECTORY } },
  successes: { 200: { description: "The archive", media: "application/x-tar" } },
  errors: FILE_REQUEST_ERRORS,
  config: OF_FILE,
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async ({ files }) => {
      const { request, reply, owner, query } = call;
      reply.type("application/x-tar");
      if (request.method === "HEAD") {
        await files.stat(query.path, true);
        return await reply.send();
      }
      return services.answers.sendPieces(owner, reply, untilClosed(await files.archive(query.path), reply));
    }),
});

export const writeArchive = route({
  id: "writeArchive",
  method: "put",
  path: "/api/sandboxes/{id}/files/archive",
  summary: "Unpack an archive",
  description:
    "Unpacks a tar archive into a directory, which is made if it is missing. It keeps permissions, times and links. After an error, the entries before it remain.",
  parameters: { path: ID, query: { path: DIRECTORY } },
  body: { media: "application/x-tar" },
  successes: { 200: { description: "How much was unpacked", body: unpackedBody } },
  errors: FILE_REQUEST_ERRORS,
  config: STREAMED,
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async ({ files }) => {
      const { files: amount, bytes } = await files.unpack(
        call.query.path,
        streamedBody(call.request, services.answers.eventLoop),
      );
      return { files: amount, bytes };
    }),
});

export const fileEvents = route({
  id: "fileEvents",
  method: "get",
  path: "/api/sandboxes/{id}/files/events",
  summary: "Watch a directory",
  description:
    "Sends server-sent events about changes in a directory: `created`, `changed` and `removed` with `{path}`, `moved` with `{path, from}`, and `overflow` if " +
    "events are missing, because the client read too slowly. The first event is `start`: later changes are reported. A stream occupies one of the executions of " +
    "the sandbox.",
  parameters: {
    path: ID,
    query: { path: DIRECTORY, recursive: flag("With `true`, directories in it are watched as well") },
  },
  successes: { 200: { description: "The changes in the directory", events: FILE_EVENTS } },
  errors: FILE_REQUEST_ERRORS,
  config: OF_FILE,
  handler: (services) => async (call) =>
    await ofSandbox(call, services, async ({ files }) => {
      const { request, reply, query } = call;
      const gone = AbortSignal.any([disconnected(reply), services.stopping]);
      if (request.method === "HEAD") {
        await files.stat(query.path, true);
        return await reply.type("text/event-stream; charset=utf-8").send();
      }
      const events = untilClosed(await files.watch(query.path, query.recursive === "true", gone), reply);
      const isAllowed = () => isStillValid(request, services.dependencies.store.keys);
      return sendTexts(services, request, reply, async function* (over) {
        yield "event: start\ndata: {}\n\n";
        for await (const event of checking(events, isAllowed, over)) {
          if (event === null) yield ": alive\n\n";
          else {
            const { type, ...data } = event;
            yield `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
          }
        }
      });
    }),
});
