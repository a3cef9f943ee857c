import { readFileSync } from "node:fs";
import type { FastifyInstance, FastifyReply } from "fastify";
import { GUIDES } from "../docs/names.ts";
import { bodySchemas, openApi } from "./openapi.ts";

/** The pages load files from their own origin, send requests only to it, and have no inline scripts or styles. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const FILES = [
  { path: "/docs/page.js", type: "text/javascript; charset=utf-8" },
  { path: "/docs/page.css", type: "text/css; charset=utf-8" },
  { path: "/docs/icon.svg", type: "image/svg+xml" },
] as const;

/** GET /openapi.json, the reference page at /docs, the documents below /docs/, and their search. They need no key. */
export function documentationRoutes(server: FastifyInstance): void {
  // Made at the first request, because describing all schemas takes longer than everything else at the start of a service.
  const json = once(() => JSON.stringify(openApi()));
  // Loaded with the first request for a page, so that a service without readers does not hold the renderer in memory.
  const pages = once(async () => {
    const { renderPages } = await import("../docs/pages.ts");
    const document = openApi();
    // These schemas have no references to each other, so the page shows all fields of a body in one place.
    return renderPages({ ...document, components: { ...document.components, schemas: bodySchemas() } });
  });
  const config = { open: true };
  server.get("/openapi.json", { config }, async (_request, reply) =>
    reply.type("application/json; charset=utf-8").send(json()),
  );
  const send = (reply: FastifyReply, text: string) =>
    reply.type("text/html; charset=utf-8").header("content-security-policy", PAGE_POLICY).send(text);
  for (const path of ["/docs", "/docs/", ...GUIDES.map((name) => `/docs/${name}`)]) {
    server.get(path, { config }, async (_request, reply) => send(reply, (await pages()).at(path)));
  }
  server.get("/docs/search", { config }, async (request, reply) => {
    const { q } = request.query as Readonly<Record<string, unknown>>;
    return send(reply, (await pages()).search(typeof q === "string" ? q : ""));
  });
  for (const { path, type } of FILES) {
    const text = readFileSync(new URL(`..${path}`, import.meta.url), "utf8");
    server.get(path, { config }, async (_request, reply) => reply.type(type).send(text));
  }
}

function once<T>(load: () => T): () => T {
  let loaded: T | undefined;
  return () => {
    loaded ??= load();
    return loaded;
  };
}
