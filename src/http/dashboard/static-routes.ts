import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { type BuiltFile, readBuilt } from "./static-assets.ts";

/** The directory in which Vite puts files with a content hash in their name. */
const HASHED = "assets/";

/**
 * The page may use only files of this origin, and no inline scripts or styles. So if text of a submission ever became markup, it could
 * do nothing. The editor creates its style sheet through the DOM, in a shadow root, and the terminal constructs its own. Styles of single
 * elements are set through the DOM as well. No policy forbids any of this.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * The page and its files below /dashboard/, as set-up built them. They are read once at the start, so the path of a request never
 * becomes the path of a file.
 */
export function fileRoutes(server: FastifyInstance, dashboardDir: string | null): void {
  const config = { session: "page" } as const;
  const files = dashboardDir === null ? null : readBuilt(dashboardDir);
  const page = files?.get("index.html");

  const toPage = async (_request: FastifyRequest, reply: FastifyReply) => reply.redirect("/dashboard/", 308);
  server.get("/", { config }, toPage);
  server.get("/dashboard", { config }, toPage);

  server.get("/dashboard/*", { config }, async (request, reply) => {
    const { "*": path } = request.params as { "*": string };
    if (!files || !page) throw clientError("noDashboard", []);
    const file = files.get(path);
    if (file && file !== page) return sendFile(request, reply, file, path.startsWith(HASHED));
    // A path of the API, or one that ends like the name of a file, is not a path of the page.
    if (/^api(\/|$)|^assets(\/|$)|\.[^/]*$/.test(path) && file !== page) throw clientError("routeNotFound", []);
    return sendFile(request, reply.header("content-security-policy", POLICY), page, false);
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
