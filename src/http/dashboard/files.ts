import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { type BuiltFile, readBuilt } from "./built.ts";

/** Where Vite puts what has a hash of its content in its name. */
const HASHED = "assets/";

/** What the page's own HTML has where the nonce of an answer belongs (Vite's `html.cspNonce`). */
const NONCE = "ASSAY_NONCE";

/**
 * Nothing but files of this origin, and no script but files: text of a submission that ever became markup would run nothing.
 * Styles too are files, or carry the nonce of this answer: the editor makes a style sheet while it runs, and takes one.
 * What sets the style of one element goes by the DOM, which no policy forbids.
 */
function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** The page and its files below /dashboard/, as set-up has built them. They are read once: no path of a request becomes one of a file. */
export function fileRoutes(server: FastifyInstance, dashboardDir: string | null): void {
  const config = { session: "page" } as const;
  const files = dashboardDir === null ? null : readBuilt(dashboardDir);
  const page = files?.get("index.html")?.bytes.toString("utf8");

  const toPage = async (_request: FastifyRequest, reply: FastifyReply) => reply.redirect("/dashboard/", 308);
  server.get("/", { config }, toPage);
  server.get("/dashboard", { config }, toPage);

  server.get("/dashboard/*", { config }, async (request, reply) => {
    const { "*": path } = request.params as { "*": string };
    if (!files || page === undefined) throw clientError("noDashboard", []);
    const file = path === "" ? undefined : files.get(path);
    if (file && path !== "index.html") return sendFile(request, reply, file, path.startsWith(HASHED));
    // What looks like a file, or like the API, is none of the page's own paths.
    if (/^api(\/|$)|^assets(\/|$)|\.[^/]*$/.test(path) && path !== "index.html") throw clientError("routeNotFound", []);
    const nonce = randomBytes(16).toString("base64url");
    return reply
      .type("text/html; charset=utf-8")
      .headers({ "content-security-policy": policy(nonce), "cache-control": "no-cache" })
      .send(page.replaceAll(NONCE, nonce));
  });
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: BuiltFile, hashed: boolean): FastifyReply {
  reply.headers({
    "cache-control": hashed ? "public, max-age=31536000, immutable" : "no-cache",
    vary: "accept-encoding",
    etag: file.tag,
  });
  if (request.headers["if-none-match"] === file.tag) return reply.code(304).send();
  const accepted = String(request.headers["accept-encoding"] ?? "");
  const packed = file.packed.find(({ encoding }) => new RegExp(`(^|[\\s,])${encoding}\\s*(,|$)`).test(accepted));
  if (packed) reply.header("content-encoding", packed.encoding);
  return reply.type(file.type).send(packed?.bytes ?? file.bytes);
}
