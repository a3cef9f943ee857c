import { readFileSync } from "node:fs";
import type { FastifyInstance, FastifyReply } from "fastify";
import { guidePage, searchPage } from "./docs/guide-page.ts";
import { readGuides, search } from "./docs/guides.ts";
import { renderPage } from "./docs/page.ts";
import { openApi } from "./openapi.ts";

/** The page loads from and connects to its own origin only, and has no inline script or style. */
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

/** GET /openapi.json, the reference page at /docs, the documents below it and their search. They need no key. */
export function documentationRoutes(server: FastifyInstance): void {
  const document = openApi();
  const json = JSON.stringify(document);
  const guides = readGuides();
  const page = renderPage(document, guides);
  const config = { open: true };
  server.get("/openapi.json", { config }, async (_request, reply) =>
    reply.type("application/json; charset=utf-8").send(json),
  );
  const send = (reply: FastifyReply, text: string) =>
    reply.type("text/html; charset=utf-8").header("content-security-policy", PAGE_POLICY).send(text);
  for (const path of ["/docs", "/docs/"]) server.get(path, { config }, async (_request, reply) => send(reply, page));
  for (const guide of guides) {
    const text = guidePage(guides, guide);
    server.get(guide.path, { config }, async (_request, reply) => send(reply, text));
  }
  server.get("/docs/search", { config }, async (request, reply) => {
    const { q } = request.query as Readonly<Record<string, unknown>>;
    const query = typeof q === "string" ? q : "";
    return send(reply, searchPage(guides, query, search(guides, query)));
  });
  for (const { path, type } of FILES) {
    const text = readFileSync(new URL(`.${path}`, import.meta.url), "utf8");
    server.get(path, { config }, async (_request, reply) => reply.type(type).send(text));
  }
}
