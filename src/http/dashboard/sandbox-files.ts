import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { FileError, MAX_PATH_BYTES, type SandboxFiles } from "../../domain/sandboxes/files.ts";
import { untilClosed } from "../api/sandboxes/files.ts";
import { useMeanwhile } from "../api/sandboxes/of-sandbox.ts";
import { streamedBody } from "../body/streamed-body.ts";
import type { FileList, FileText } from "./api/sandboxes.ts";
import { type DashboardCall, type DashboardRoute, type DashboardServices, dashboardRoute } from "./route.ts";
import { attachment } from "./run-parts.ts";
import { mayStillSee } from "./sandbox-live.ts";
import { inOwn, noteSandboxChange, readOwn } from "./sandboxes.ts";

/** The most entries of a page of a directory. */
const ENTRIES = 200;
/** How much of a file a page shows. */
const SHOWN_BYTES = 262_144;
/** Interval of the checks whether the person who uploads or downloads still has access. */
const CHECK_MS = 1_000;
/** The most characters of a path in the audit trail. */
const NOTED = 500;

const path = z.string().min(1).max(MAX_PATH_BYTES);
const ofPath = z.strictObject({ path });
const listQuery = z.strictObject({ path, after: z.string().max(MAX_PATH_BYTES).optional() });
const writeQuery = z.strictObject({ path, replace: z.enum(["true", "false"]).default("false") });

type FileChange = "sandbox.write-file" | "sandbox.make-directory" | "sandbox.move-file" | "sandbox.remove-file";

/**
 * /dashboard/api/sandboxes/:id/files: directories and files of a sandbox, by the same program in it that serves the API. The content of a
 * file can be a hostile page, so it is only sent as a download that no browser shows, or as text in JSON.
 */
export const sandboxFileRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/files",
    session: "member",
    query: listQuery,
    handler: (services) => async (call) =>
      await reading(services, call, async (files) => {
        const { path, after = null } = call.query;
        const listed: FileList = await files.list(path, after, ENTRIES);
        return await services.answers.send(call.owner, call.reply, listed);
      }),
  }),
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/files/text",
    session: "member",
    query: ofPath,
    handler: (services) => async (call) =>
      await reading(services, call, async (files) => {
        const { request, reply, owner } = call;
        await services.answers.admitFor(owner, request, reply)(2 * SHOWN_BYTES);
        return await services.answers.send(owner, reply, await textOf(files, call.query.path));
      }),
  }),
  dashboardRoute({
    method: "get",
    path: "/sandboxes/{id}/files/content",
    session: "member",
    query: ofPath,
    handler: (services) => async (call) =>
      await reading(services, call, async (files, isAllowed) => {
        const { reply, owner } = call;
        const { info, bytes, body } = await files.read(call.query.path, null);
        // The headers of every response have nosniff, and a policy that permits nothing.
        reply
          .type("application/octet-stream")
          .header("content-length", bytes)
          .header("content-disposition", attachment(info.path));
        return services.answers.sendPieces(owner, reply, untilClosed(whileAllowed(body, isAllowed), reply));
      }),
  }),
  dashboardRoute({
    method: "put",
    path: "/sandboxes/{id}/files/content",
    session: "member",
    query: writeQuery,
    config: { streams: true },
    handler: (services) => async (call) =>
      await changing(services, call, "sandbox.write-file", { path: call.query.path }, async (files, accountId) => {
        const { path, replace } = call.query;
        // A second check, by the file program, because another program can make the file meanwhile.
        if (replace === "false" && (await exists(files, path))) throw new FileError("exists", path);
        const chunks = streamedBody(call.request, services.answers.eventLoop);
        const body = whileAllowed(chunks, () => mayStillSee(services.dependencies.store, call.request, accountId));
        return await files.write(path, body, replace === "true" ? {} : { ifNoneMatch: "*" });
      }),
  }),
  dashboardRoute({
    method: "post",
    path: "/sandboxes/{id}/files/directories",
    session: "member",
    body: ofPath,
    handler: (services) => async (call) =>
      await changing(services, call, "sandbox.make-directory", call.body, async (files) => {
        if (await exists(files, call.body.path)) throw new FileError("exists", call.body.path);
        return await files.makeDirectory(call.body.path);
      }),
  }),
  dashboardRoute({
    method: "post",
    path: "/sandboxes/{id}/files/move",
    session: "member",
    body: z.strictObject({ path, to: path }),
    handler: (services) => async (call) =>
      await changing(services, call, "sandbox.move-file", call.body, async (files) => {
        const { path, to } = call.body;
        // The file program would replace it. A person who types a name does not expect that.
        if (await exists(files, to)) throw new FileError("exists", to);
        return await files.move(path, to);
      }),
  }),
  dashboardRoute({
    method: "post",
    path: "/sandboxes/{id}/files/remove",
    session: "member",
    body: z.strictObject({ path, recursive: z.boolean() }),
    handler: (services) => async (call) =>
      await changing(services, call, "sandbox.remove-file", { path: call.body.path }, async (files) => {
        await files.remove(call.body.path, call.body.recursive);
        return {};
      }),
  }),
];

/** Reads files. Access by an administrator has an entry in the audit trail. */
async function reading<T>(
  services: DashboardServices,
  { request, reply }: Pick<DashboardCall, "request" | "reply">,
  read: (files: SandboxFiles, isAllowed: () => Promise<boolean>) => Promise<T>,
): Promise<T> {
  const { store } = services.dependencies;
  await readOwn(store, request);
  return await inOwn(services, request, async (handle) => {
    useMeanwhile(handle, reply);
    return await read(handle.files, () => mayStillSee(store, request, handle.sandbox.accountId));
  });
}

async function changing<T>(
  services: DashboardServices,
  { request, reply, actor }: Pick<DashboardCall, "request" | "reply" | "actor">,
  action: FileChange,
  paths: Readonly<Record<string, string>>,
  change: (files: SandboxFiles, accountId: string) => Promise<T>,
): Promise<T> {
  return await inOwn(services, request, async (handle) => {
    useMeanwhile(handle, reply);
    const noted = Object.entries(paths).map(([name, value]) => [name, value.slice(0, NOTED).toWellFormed()]);
    const detail = Object.fromEntries(noted);
    await noteSandboxChange(services.dependencies.store, actor, handle.sandbox, { action, detail });
    return await change(handle.files, handle.sandbox.accountId);
  });
}

/**
 * The bytes of an upload or a download, which can take long: it fails when the person loses access meanwhile. Nothing of such an upload is
 * written, and nothing more of such a download is sent.
 */
export async function* whileAllowed(
  chunks: AsyncIterable<Buffer>,
  isAllowed: () => Promise<boolean>,
): AsyncGenerator<Buffer> {
  const check = async () => {
    if (!(await isAllowed())) throw clientError("signInNeeded", []);
  };
  let checkedAtMs = performance.now();
  for await (const chunk of chunks) {
    if (performance.now() - checkedAtMs >= CHECK_MS) {
      await check();
      checkedAtMs = performance.now();
    }
    yield chunk;
  }
  await check();
}

/** Whether there is anything with this name, also a link that leads nowhere. */
async function exists(files: SandboxFiles, path: string): Promise<boolean> {
  try {
    await files.stat(path, false);
    return true;
  } catch (error) {
    if (error instanceof FileError && error.code === "notFound") return false;
    throw error;
  }
}

async function textOf(files: SandboxFiles, path: string): Promise<FileText> {
  const { info, body } = await files.read(path, null);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= SHOWN_BYTES) break;
  }
  const bytes = Buffer.concat(chunks).subarray(0, SHOWN_BYTES);
  const isCut = length > SHOWN_BYTES || info.bytes > bytes.length;
  // A character at the end of which a part is missing is left out.
  const text = bytes.includes(0) ? null : new TextDecoder().decode(bytes, { stream: isCut });
  return { info, text, isCut };
}
