import type { FastifyInstance, FastifyRequest } from "fastify";
import { clientError, type ErrorCode } from "../../domain/error.ts";
import { MAX_FILES_BYTES } from "../../domain/program-options.ts";
import { MAX_CODE_BYTES, MAX_STDIN_BYTES } from "../../domain/submission.ts";
import { Budget } from "../../fairness/budget.ts";
import { type EventLoopTurns, WorkTurns } from "../../fairness/turn.ts";
import { ownerOf } from "../access/caller.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import { tooLarge } from "../responses/errors.ts";
import { awaitsContinue, sayContinue } from "../responses/expect-continue.ts";
import { noRoom } from "../responses/long-answers.ts";
import { ADMISSION, type Admission, ArrivingBody } from "./arriving-body.ts";
import { parseForm } from "./form-body.ts";
import { parseJson } from "./json-body.ts";
import { checkShape } from "./json-shape.ts";
import { parseInThread } from "./parse-large.ts";
import { checkPlain, takeAnyType } from "./streamed-body.ts";

/** JSON can encode one byte of text as six: \u0001. */
const LONGEST_ESCAPE = 6;
/** Bytes for names, short fields and white space around the long texts. */
const AROUND_BYTES = 131_072;
/** Bytes for the files of a program: text with some escapes, or base64. */
const FILES_BYTES = 2 * MAX_FILES_BYTES;

/** Some 4 MiB. A valid submission is larger only if most of its files consist of escapes. */
export const MAX_BODY_BYTES = LONGEST_ESCAPE * (MAX_CODE_BYTES + MAX_STDIN_BYTES) + AROUND_BYTES + FILES_BYTES;

/** The limit of routes for many tests and for archives. JSON above MAX_BODY_BYTES is parsed in a thread. */
const MAX_LARGE_BODY_BYTES = 64 * 1_048_576;

/** Bodies above this size are processed in several turns. JSON.parse takes 1 ms for this size, and some 10 ms for 2 MiB of escapes. */
const LONG_BYTES = 262_144;

/** The limit of dashboard routes that take no program. */
const MAX_FORM_BYTES = 65_536;

/**
 * Limit on bodies that are being received or in use, for all accounts together. It also bounds the length of a turn of the event loop,
 * which reads everything that has arrived.
 */
const BODIES_BYTES = 16 * 1_048_576;
/** Limit on bodies above MAX_BODY_BYTES and on archives, for all accounts together. */
const LARGE_BODIES_BYTES = 2 * MAX_LARGE_BODY_BYTES;
/**
 * An account may always hold this much of BODIES_BYTES and of LARGE_BODIES_BYTES, whatever other accounts hold. So clients with short
 * programs never wait for clients with long ones.
 */
const SHORT_BODIES_BYTES = 65_536;
/** Limit on bodies of requests without a key or a session. The routes for them take at most MAX_FORM_BYTES. */
const STRANGERS_BYTES = 2 * 1_048_576;
/** A network may always hold this much of STRANGERS_BYTES. */
const SHORT_STRANGERS_BYTES = 16_384;
/** This many bytes must arrive in each window of a body whose announced size is not above MAX_BODY_BYTES, or is unknown. */
const SLOWEST_BYTES = 4_096;
/** How long a large body waits for memory: longer than others, because a part of it may already have arrived. */
const LARGE_WAIT_MS = 10_000;
/** The most large bodies of an account that wait to be parsed. Their number is bounded first by LARGE_BODIES_BYTES. */
const MAX_UNPARSED = 64;

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route takes no body, but some clients announce an empty one as JSON. */
    bodyless?: boolean;
    /** The most JSON values of a body; by default MAX_VALUES. */
    values?: number;
    /** The route takes bodies of up to MAX_LARGE_BODY_BYTES. */
    large?: boolean;
    /** The route takes a ZIP archive instead of JSON, as a Buffer. */
    archive?: boolean;
    /** The route also takes a URL-encoded form, which becomes an object of texts. */
    form?: boolean;
    /**
     * The error for a body above the limit; by default `bodyTooLarge`. For a submission, the status is 400, like that of source code
     * above its limit.
     */
    tooLarge?: Extract<ErrorCode, "bodyTooLarge" | "submissionTooLarge">;
  }
  interface FastifyRequest {
    /**
     * Releases the memory reserved for the body when the route no longer needs it. Unless `holdsBody` is true, the memory is released
     * at the end of the response at the latest.
     */
    forgetBody: (() => void) | null;
    /** Whether a large body is being parsed or used. Then only `forgetBody` releases its memory, even if the client has gone. */
    holdsBody: boolean;
  }
}

/** Memory for bodies, in bytes. */
export interface BodyBudgets {
  /** For the bodies of accounts, and of people who are signed in. */
  readonly bodies: Budget;
  /** For bodies above MAX_BODY_BYTES and archives, of the same owners. */
  readonly largeBodies: Budget;
  /** For the bodies of requests without a key or a session, such as a sign-in, which so take no memory from accounts. */
  readonly bodiesOfStrangers: Budget;
}

export function bodyBudgets(): BodyBudgets {
  return {
    bodies: new Budget({ total: BODIES_BYTES, perOwner: "shared", inAnyCase: SHORT_BODIES_BYTES }),
    largeBodies: new Budget({
      total: LARGE_BODIES_BYTES,
      perOwner: "shared",
      inAnyCase: SHORT_BODIES_BYTES,
      waitMs: LARGE_WAIT_MS,
    }),
    bodiesOfStrangers: new Budget({
      total: STRANGERS_BYTES,
      perOwner: "shared",
      inAnyCase: SHORT_STRANGERS_BYTES,
    }),
  };
}

/**
 * Makes routes accept only JSON; a route for archives accepts only archives, and one for forms also forms. Other media types get 415.
 * Memory for a short body is reserved before it is received, and memory for other bodies as they arrive. Each body is parsed in a
 * separate turn of the event loop.
 */
export function readJsonOnly(
  server: FastifyInstance,
  eventLoop: EventLoopTurns,
  { bodies, largeBodies, bodiesOfStrangers }: BodyBudgets = bodyBudgets(),
  admission?: Admission,
): void {
  server.decorateRequest("forgetBody", null);
  server.decorateRequest("holdsBody", false);
  server.addHook("onRoute", (route) => {
    if (route.config?.large) route.bodyLimit = MAX_LARGE_BODY_BYTES;
    if (route.config?.session && !route.config.bytes) route.bodyLimit ??= MAX_FORM_BYTES;
  });
  server.addHook("preParsing", async (request, reply, payload) => {
    const bytes = announced(request);
    const { bodyLimit } = request.routeOptions;
    if (request.routeOptions.config.streams) takeAnyType(request);
    // The body of a GET is never read.
    if (bytes === 0 || request.method === "GET" || request.method === "HEAD") return payload;
    if (request.routeOptions.config.streams) {
      checkPlain(request);
      if (awaitsContinue(request)) sayContinue(request, reply);
      return payload;
    }
    if (!isPlainUtf8(request)) throw wrongMedia(request);
    if (awaitsContinue(request) && bytes > bodyLimit && Number.isFinite(bytes)) {
      throw tooLarge(request);
    }
    // Fastify refuses this body without reading it.
    if (bytes > bodyLimit && Number.isFinite(bytes)) return payload;
    // An archive of any size counts as large, because its import can wait for other imports while it holds the archive.
    const isLarge = Math.min(bytes, bodyLimit) > MAX_BODY_BYTES || request.routeOptions.config.archive === true;
    const owner = ownerOf(request);
    const disconnection = disconnected(reply);
    let body = payload;
    let release: (() => void) | undefined;
    const isStranger = request.caller === null && request.person === null;
    const shortBodies = isStranger ? bodiesOfStrangers : bodies;
    if (isLarge || bytes > SHORT_BODIES_BYTES) {
      const budget = isLarge ? largeBodies : shortBodies;
      const { stepBytes, ...limits } = admission ?? ADMISSION;
      const steps = {
        ...limits,
        stepBytes: isLarge ? stepBytes : SHORT_BODIES_BYTES,
        ...(!(bytes > MAX_BODY_BYTES && Number.isFinite(bytes)) && { leastBytes: SLOWEST_BYTES }),
      };
      const take = (step: number) => budget.takeInTime(owner, step, disconnection);
      const arriving = new ArrivingBody(request.raw, bytes, take, () => noRoom(request), steps);
      body = arriving;
      release = () => arriving.release();
    } else {
      release = await shortBodies.takeInTime(owner, bytes, disconnection);
      if (!release) throw noRoom(request);
    }
    request.forgetBody = () => {
      release();
      request.body = null;
    };
    const onClose = () => request.holdsBody || release();
    if (reply.raw.closed) onClose();
    else reply.raw.once("close", onClose);
    if (awaitsContinue(request)) sayContinue(request, reply);
    return body;
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    "application/zip",
    { parseAs: "buffer" },
    async (request: FastifyRequest, bytes: Buffer) => {
      if (!request.routeOptions.config.archive) throw wrongMedia(request);
      return bytes;
    },
  );
  server.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "buffer" },
    async (request: FastifyRequest, bytes: Buffer) => {
      if (!request.routeOptions.config.form) throw wrongMedia(request);
      // Forms are not parsed in a thread.
      if (bytes.length > MAX_BODY_BYTES) throw clientError("bodyTooLarge", [MAX_BODY_BYTES]);
      await eventLoop.turn(ownerOf(request));
      const fields = parseForm(bytes);
      if (bytes.length > LONG_BYTES) await eventLoop.turn(ownerOf(request));
      return fields;
    },
  );
  server.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (request: FastifyRequest, bytes: Buffer) => {
      if (request.routeOptions.config.archive) throw wrongMedia(request);
      if (bytes.length === 0 && request.routeOptions.config.bodyless) return null;
      const owner = ownerOf(request);
      const isLong = bytes.length > LONG_BYTES;
      await eventLoop.turn(owner);
      if (bytes.length > MAX_BODY_BYTES) return await parseLarge(request, bytes);
      const members = checkShape(bytes, request.routeOptions.config.values);
      // The check, the parsing and the route's work on a long text take about the same time, so each gets a turn.
      if (isLong) await eventLoop.turn(owner);
      const value = parseJson(bytes, members);
      if (isLong) await eventLoop.turn(owner);
      return value;
    },
  );
}

export function wrongMedia({ routeOptions }: FastifyRequest): Error {
  return clientError(routeOptions.config?.archive ? "notZip" : "notJson", []);
}

/** JSON is UTF-8, so another charset would be decoded wrongly. A compressed body could expand to any size. */
function isPlainUtf8({ headers }: FastifyRequest): boolean {
  const encoding = headers["content-encoding"] ?? "identity";
  const [, charset = "utf-8"] = /;\s*charset="?([^\s;"]*)/i.exec(headers["content-type"] ?? "") ?? [];
  return encoding.toLowerCase() === "identity" && /^utf-?8$/i.test(charset);
}

/** @returns the announced size of the body in bytes; infinite if the request does not announce one. */
function announced({ headers }: FastifyRequest): number {
  if (headers["transfer-encoding"] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers["content-length"] ?? 0) || 0;
}

/** Parses large bodies one at a time; accounts take turns. The route must then call `forgetBody`, even if it fails. */
async function parseLarge(request: FastifyRequest, bytes: Buffer): Promise<unknown> {
  request.holdsBody = true;
  try {
    return await parsing.run(ownerOf(request), () => parseInThread(bytes, request.routeOptions.config.values));
  } catch (error) {
    request.forgetBody?.();
    throw error;
  }
}

const parsing = new WorkTurns({ atOnce: { total: 1 }, queue: { perOwner: MAX_UNPARSED, full: "queueFull" } });
