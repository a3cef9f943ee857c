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
  server.addContentTypeParser("application/json", { parseAs: "buffer" }, async (_request: unknown, bytes: Buffer) =>
    parseJson(bytes),
  );
}

/** UTF-8 is checked, because a replacement character would change the program silently. */
function parseJson(bytes: Buffer): unknown {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw clientError("malformedJson", []);
  }
  if (isObject(value) && countMembers(text) !== Object.keys(value).length) throw clientError("duplicateField", []);
  return value;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Members of the outermost object, those of the same name counted each. JSON.parse keeps the last of
 * them, another reader on the way the first: what one has checked, the other would run.
 * @param json valid JSON of an object.
 */
function countMembers(json: string): number {
  let members = 0;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (character === '"') at = endOfString(json, at);
    else if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    else if (character === ":" && depth === 1) members++;
  }
  return members;
}

/** @returns where the string that begins at `start` has its closing quote. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at;
}
