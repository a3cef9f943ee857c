import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { resolvePublic } from "../network/resolve.ts";
import { type HttpResponse, type Post, post } from "./post.ts";
import { BlockedError, type WebhookTarget } from "./target.ts";
import { trustedAuthorities } from "./trust.ts";

/*
 * The program of the threads that send webhooks (threaded-post.ts). A receiver decides how much CPU time a TLS handshake takes, for
 * example by the sizes of its certificates, and OpenSSL computes it without a pause. In such a thread, that delays other requests of the
 * same account, but no request to the service.
 */

/** What the thread gets when it starts. */
export interface ThreadSettings {
  /** The certificate of the additional authority, in PEM; null if there is none. */
  readonly ca: string | null;
}

export type ThreadRequest =
  | {
      readonly kind: "post";
      readonly id: number;
      readonly request: Omit<Post, "target" | "body"> & {
        readonly target: Omit<WebhookTarget, "url"> & { readonly url: string };
        readonly body: readonly Uint8Array[];
      };
    }
  /** `reason` is the message of the error that the post ends with. */
  | { readonly kind: "abort"; readonly id: number; readonly reason: string };

/** An error as a message between threads. */
export interface ThreadError {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  /** Whether it is a BlockedError. */
  readonly isBlocked: boolean;
}

export type PostReply =
  | {
      readonly kind: "response";
      readonly id: number;
      readonly response: Omit<HttpResponse, "begin" | "broken"> & {
        readonly begin: Uint8Array;
        readonly broken: ThreadError | null;
      };
    }
  | { readonly kind: "failed"; readonly id: number; readonly error: ThreadError };

/**
 * While all these threads are busy with handshakes, the thread of the event loop still gets most of a CPU that they share. With a lower
 * priority, deliveries would be late next to busy boxes.
 */
const NICENESS = 5;
// On Linux, each thread has a priority of its own, and this sets that of the calling one.
setPriority(NICENESS);

const { ca } = workerData as ThreadSettings;
const trust = trustedAuthorities(ca);
/** The posts in progress. */
const aborts = new Map<number, AbortController>();

parentPort?.on("message", (request: ThreadRequest) => {
  if (request.kind === "abort") aborts.get(request.id)?.abort(new Error(request.reason));
  else void answer(request);
});

async function answer({ id, request }: Extract<ThreadRequest, { kind: "post" }>): Promise<void> {
  const abort = new AbortController();
  aborts.set(id, abort);
  const { target, body } = request;
  try {
    const response = await post(
      { ...request, target: { ...target, url: new URL(target.url) }, body: body.map((piece) => Buffer.from(piece)) },
      { trust, resolve: resolvePublic, signal: abort.signal },
    );
    const { begin, broken } = response;
    reply({
      kind: "response",
      id,
      response: { ...response, begin: new Uint8Array(begin), broken: broken === null ? null : asMessage(broken) },
    });
  } catch (error) {
    reply({ kind: "failed", id, error: asMessage(error) });
  } finally {
    aborts.delete(id);
  }
}

function reply(message: PostReply): void {
  parentPort?.postMessage(message);
}

/** If a connection was tried with several addresses, the error of the first address counts. */
function asMessage(error: unknown): ThreadError {
  if (error instanceof AggregateError && error.errors.length > 0) return asMessage(error.errors[0]);
  if (!(error instanceof Error)) return { name: "Error", message: String(error), code: undefined, isBlocked: false };
  const { code } = error as NodeJS.ErrnoException;
  return { name: error.name, message: error.message, code, isBlocked: error instanceof BlockedError };
}
