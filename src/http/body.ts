import type { FastifyInstance } from "fastify";
import { clientError } from "../domain/error.ts";
import { MAX_CODE_BYTES, MAX_STDIN_BYTES } from "../domain/submission.ts";

/** JSON may write one byte of text as six: \u0001. */
const LONGEST_ESCAPE = 6;
/** Room for names, short fields and white space around the two long texts. */
const AROUND_BYTES = 131_072;

/** No valid body is larger: 2 MiB. */
export const MAX_BODY_BYTES = LONGEST_ESCAPE * (MAX_CODE_BYTES + MAX_STDIN_BYTES) + AROUND_BYTES;

/** JSON is the only body that the service reads; anything else is 415. */
export function readJsonOnly(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    "application/json",
    { parseAs: "buffer", bodyLimit: MAX_BODY_BYTES },
    async (_request: unknown, bytes: Buffer) => parseJson(bytes),
  );
}

/** UTF-8 is checked, because a replacement character would change the program silently. */
function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw clientError("malformedJson", []);
  }
}
