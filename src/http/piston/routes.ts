import type { FastifyInstance } from "fastify";
import type { Dependencies } from "../dependencies.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { connectRoute } from "./connect.ts";
import { executeRoute } from "./execute.ts";
import { runtimesRoutes } from "./runtimes.ts";

/** Piston's API, version 2, for existing clients of Piston. docs/piston.md lists the differences. */
export function pistonRoutes(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  executeRoute(server, dependencies, answers, stopping);
  connectRoute(server, dependencies, answers, stopping);
  runtimesRoutes(server, dependencies);
}
