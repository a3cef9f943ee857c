import type { FastifyInstance } from "fastify";
import type { Dependencies } from "./dependencies.ts";

/** GET /api/languages: canonical names of the available languages. */
export function languagesRoute(server: FastifyInstance, { engine }: Dependencies): void {
  server.get("/api/languages", async () => [...engine.languages()]);
}
