import type { FastifyInstance } from "fastify";
import type { Dependencies } from "./dependencies.ts";

/** GET /api/languages: canonical names of what can be run now. */
export function languagesRoute(server: FastifyInstance, { engine }: Dependencies): void {
  server.get("/api/languages", async () => [...engine.languages()]);
}
