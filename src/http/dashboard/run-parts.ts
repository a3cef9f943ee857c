import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { MAX_PATH_BYTES } from "../../domain/program-options.ts";
import type { ReadSubmission } from "../../store/search/types.ts";
import { sendBytes } from "../api/result.ts";
import { RUN_FILES } from "./api/submissions.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { deliveriesOf, otherFiles, sourceName, sourceOf } from "./submission-detail.ts";
import { findOwn, readOwn } from "./submissions.ts";

const fileName = z.enum(RUN_FILES);
const fileQuery = z.strictObject({ path: z.string().max(MAX_PATH_BYTES) });

/** Parts of a submission: its deliveries, and downloads of source, input, outputs and files with their exact bytes. */
export const runPartRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/submissions/{id}/deliveries",
    session: "member",
    handler:
      ({ dependencies }) =>
      async ({ request }) => {
        const { id } = await findOwn(dependencies.store, request);
        return await deliveriesOf(dependencies.store, id);
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/submissions/{id}/files/{name}",
    session: "member",
    handler:
      ({ dependencies, answers }) =>
      async ({ request, reply, path }) => {
        const name = fileName.safeParse(path.name).data;
        if (!name) throw clientError("notFound", []);
        const read = await readOwn(dependencies.store, answers, request, reply);
        const bytes = bytesOf(read, name);
        if (!bytes) throw clientError("noOutput", []);
        const { submission, program } = read;
        const source = sourceName(program, submission.language, dependencies.languages);
        reply.header("content-disposition", attachment(name === "source" ? source : `${submission.id}-${name}.txt`));
        return sendBytes(answers, request, reply, bytes);
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/submissions/{id}/file",
    session: "member",
    query: fileQuery,
    handler:
      ({ dependencies, answers }) =>
      async ({ request, reply, query: { path } }) => {
        const { program } = await readOwn(dependencies.store, answers, request, reply);
        const file = otherFiles(program).find(({ name }) => name === path);
        if (!file) throw clientError("notFound", []);
        reply.header("content-disposition", attachment(path));
        return sendBytes(answers, request, reply, file.data);
      },
  }),
];

/**
 * The header by which a browser stores a file under the last name of its path. Headers are ASCII, so another name is sent in the encoding
 * of RFC 8187, after a replacement for programs that do not know this encoding.
 */
export function attachment(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const ascii = name.replaceAll(/[^ -~]|["\\]/g, "_");
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"${ascii === name ? "" : `; filename*=UTF-8''${encoded}`}`;
}

function bytesOf({ submission, program }: ReadSubmission, name: (typeof RUN_FILES)[number]): Buffer | undefined {
  if (name === "source") return sourceOf(program);
  return name === "stdin" ? program.stdin : submission.outcome?.output?.[name];
}
