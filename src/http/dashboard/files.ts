import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { type BuiltFile, readBuilt } from "./built.ts";

/** Where Vite puts what has a hash of its content in its name. */
const HASHED = "assets/";

/**
 * Nothing but files of this origin, neither script nor style within the page: text of a submission that ever became markup would do
 * nothing. The editor makes its style sheet by the DOM, in a shadow root; what sets the style of one element goes that way, too, and
 * no policy forbids it.
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

/** The page and its files below /dashboard/, as set-up has built them. They are read once: no path of a request becomes one of a file. */
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
    // What looks like a file, or like the API, is none of the page's own paths.
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
