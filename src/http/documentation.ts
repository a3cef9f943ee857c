import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
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
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const FILES = [
  { path: "/docs/page.js", type: "text/javascript; charset=utf-8" },
  { path: "/docs/page.css", type: "text/css; charset=utf-8" },
  { path: "/docs/icon.svg", type: "image/svg+xml" },
] as const;

/** GET /openapi.json and the reference page at /docs. Both need no key. */
export function documentationRoutes(server: FastifyInstance): void {
  const document = openApi();
  const json = JSON.stringify(document);
  const page = renderPage(document);
  const config = { open: true };
  server.get("/openapi.json", { config }, async (_request, reply) =>
    reply.type("application/json; charset=utf-8").send(json),
  );
  for (const path of ["/docs", "/docs/"]) {
    server.get(path, { config }, async (_request, reply) =>
      reply.type("text/html; charset=utf-8").header("content-security-policy", PAGE_POLICY).send(page),
    );
  }
  for (const { path, type } of FILES) {
    const text = readFileSync(new URL(`.${path}`, import.meta.url), "utf8");
    server.get(path, { config }, async (_request, reply) => reply.type(type).send(text));
  }
}
