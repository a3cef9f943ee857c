import type { Http2Session } from "node:http2";

/** How often a link is tested, and how long an answer may take. A process that is busy answers late, one that is gone never. */
const EVERY_MS = 5_000;
const WITHIN_MS = 15_000;

/** Destroys a session whose other end does not answer any more, as after the loss of a machine or of a network. */
export function keepAlive(session: Http2Session, everyMs = EVERY_MS, withinMs = WITHIN_MS): void {
  let askedAt: number | null = null;
  const timer = setInterval(() => {
    if (session.destroyed) return clearInterval(timer);
    if (askedAt !== null) {
      if (performance.now() - askedAt >= withinMs) session.destroy(new Error("the other end does not answer"));
      return;
    }
    askedAt = performance.now();
    session.ping((error) => {
      if (!error) askedAt = null;
    });
  }, everyMs);
  timer.unref();
  session.once("close", () => clearInterval(timer));
}
