import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { ReadSubmission } from "../../store/search/types.ts";
import { sendBytes } from "../api/result.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { RUN_FILES } from "./api/submissions.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { queryOf } from "./parse.ts";
import { deliveriesOf, otherFiles, sourceName, sourceOf } from "./submission-detail.ts";
import { findOwn, readOwn, SUBMISSIONS } from "./submissions.ts";

const fileName = z.enum(RUN_FILES);
const fileQuery = z.strictObject({ path: z.string().max(200) });

/** Parts of a submission: its deliveries, and downloads of source, input, outputs and files with their exact bytes. */
export function runPartRoutes(server: FastifyInstance, d: DashboardDependencies, answers: LongAnswers): void {
  server.get(`${SUBMISSIONS}/:id/deliveries`, { config: { session: "member" } }, async (request) => {
    const { id } = await findOwn(d.store, request);
    return await deliveriesOf(d.store, id);
  });

  server.get(`${SUBMISSIONS}/:id/files/:name`, { config: { session: "member" } }, async (request, reply) => {
    const name = fileName.safeParse((request.params as { name: string }).name).data;
    if (!name) throw clientError("notFound", []);
    const read = await readOwn(d.store, answers, request, reply);
    const bytes = bytesOf(read, name);
    if (!bytes) throw clientError("noOutput", []);
    const { submission, program } = read;
    // The name needs no quoting: a path that a client chose has only letters, digits and . _ - + $ in each name.
    const source = sourceName(program, submission.language, d.languages).split("/").at(-1);
    const file = name === "source" ? source : `${submission.id}-${name}.txt`;
    reply.header("content-disposition", `attachment; filename="${file}"`);
    return sendBytes(answers, request, reply, bytes);
  });

  server.get(`${SUBMISSIONS}/:id/file`, { config: { session: "member" } }, async (request, reply) => {
    const { path } = queryOf(request, fileQuery);
    const { program } = await readOwn(d.store, answers, request, reply);
    const file = otherFiles(program).find(({ name }) => name === path);
    if (!file) throw clientError("notFound", []);
    reply.header("content-disposition", `attachment; filename="${path.split("/").at(-1)}"`);
    return sendBytes(answers, request, reply, file.data);
  });
}

function bytesOf({ submission, program }: ReadSubmission, name: (typeof RUN_FILES)[number]): Buffer | undefined {
  if (name === "source") return sourceOf(program);
  return name === "stdin" ? program.stdin : submission.outcome?.output?.[name];
}
