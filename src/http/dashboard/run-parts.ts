import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { ReadSubmission } from "../../store/search/types.ts";
import { sendBytes } from "../api/result.ts";
import { RUN_FILES } from "./api/submissions.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { deliveriesOf, otherFiles, sourceName, sourceOf } from "./submission-detail.ts";
import { findOwn, readOwn } from "./submissions.ts";

const fileName = z.enum(RUN_FILES);
const fileQuery = z.strictObject({ path: z.string().max(200) });

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
        // The name needs no quoting: a path that a client chose has only letters, digits and . _ - + $ in each name.
        const source = sourceName(program, submission.language, dependencies.languages).split("/").at(-1);
        const file = name === "source" ? source : `${submission.id}-${name}.txt`;
        reply.header("content-disposition", `attachment; filename="${file}"`);
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
        reply.header("content-disposition", `attachment; filename="${path.split("/").at(-1)}"`);
        return sendBytes(answers, request, reply, file.data);
      },
  }),
];

function bytesOf({ submission, program }: ReadSubmission, name: (typeof RUN_FILES)[number]): Buffer | undefined {
  if (name === "source") return sourceOf(program);
  return name === "stdin" ? program.stdin : submission.outcome?.output?.[name];
}
