import type { FastifyInstance } from "fastify";
import { clientError } from "../domain/error.ts";
import { toRecord } from "../domain/record.ts";
import { callerOf } from "./caller.ts";
import type { Dependencies } from "./dependencies.ts";

/** GET /api/result/{id}: the record as it stands; another account's id is as unknown as any. */
export function resultRoute(server: FastifyInstance, { store }: Dependencies): void {
  server.get<{ Params: { id: string } }>("/api/result/:id", async (request) => {
    const id = request.params.id.toLowerCase();
    const submission = await store.submissions.get(id, callerOf(request).accountId);
    if (!submission) throw clientError("submissionNotFound", []);
    request.submissionId = submission.id;
    return toRecord(submission);
  });
}
