import type { FastifyInstance } from "fastify";
import { clientError } from "../domain/error.ts";
import { toLongRecord } from "../domain/record.ts";
import { callerOf } from "./caller.ts";
import type { Dependencies } from "./dependencies.ts";
import type { LongAnswers } from "./long-answers.ts";
import { ownerOf } from "./owner.ts";

/** GET /api/result/{id}: the current record. An id of another account gets the same response as an unknown id. */
export function resultRoute(server: FastifyInstance, { store }: Dependencies, answers: LongAnswers): void {
  server.get<{ Params: { id: string } }>("/api/result/:id", async (request, reply) => {
    const id = request.params.id.toLowerCase();
    const owner = ownerOf(request);
    const admit = answers.admitFor(owner, request, reply);
    const submission = await store.submissions.get(id, callerOf(request).accountId, admit);
    if (!submission) throw clientError("submissionNotFound", []);
    request.submissionId = submission.id;
    return answers.send(owner, reply, toLongRecord(submission));
  });
}
