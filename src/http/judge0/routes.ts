import type { FastifyInstance } from "fastify";
import type { Dependencies } from "../dependencies.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { infoRoutes } from "./info.ts";
import { judge0SubmissionRoutes } from "./submissions.ts";

/** The routes of Judge0 CE below /judge0, for existing clients of Judge0. docs/judge0.md lists the differences. */
export function judge0Routes(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  judge0SubmissionRoutes(server, dependencies, answers, stopping);
  infoRoutes(server, dependencies);
}
