import { isUtf8 } from "node:buffer";
import { clientError } from "../../domain/error.ts";
import { checkName, MAX_VALUES } from "./json-shape.ts";

const AND = "&".charCodeAt(0);
const EQUALS = "=".charCodeAt(0);
const PLUS = "+".charCodeAt(0);
const PERCENT = "%".charCodeAt(0);
const SPACE = 0x20;

/**
 * The fields of a URL-encoded form. As for JSON, text that is not UTF-8 and repeated fields are errors. The bytes are read in
 * one pass, which takes 20 ms for 4 MiB. Replacing the `+` of a string of 4 MiB would take 200 ms.
 * @throws ClientError
 */
export function parseForm(bytes: Buffer): Readonly<Record<string, string>> {
  const fields = new Map<string, string>();
  for (let at = 0, pairs = 0; at < bytes.length; ) {
    if (++pairs > MAX_VALUES) throw clientError("tooManyValues", [MAX_VALUES]);
    const and = bytes.indexOf(AND, at);
    const pair = bytes.subarray(at, and < 0 ? bytes.length : and);
    at += pair.length + 1;
    if (pair.length === 0) continue;
    const equals = pair.indexOf(EQUALS);
    const [name, value] = equals < 0 ? [pair, ""] : [pair.subarray(0, equals), decoded(pair.subarray(equals + 1))];
    checkName(name.length);
    const field = decoded(name);
    if (fields.has(field)) throw clientError("duplicateField", []);
    fields.set(field, value);
  }
  return Object.fromEntries(fields);
}

function decoded(encoded: Buffer): string {
  const bytes = Buffer.allocUnsafe(encoded.length);
  let length = 0;
  for (let at = 0; at < encoded.length; at++) {
    let byte = encoded[at] as number;
    if (byte === PLUS) byte = SPACE;
    else if (byte === PERCENT) {
      byte = digit(encoded[at + 1]) * 16 + digit(encoded[at + 2]);
      at += 2;
    }
    bytes[length++] = byte;
  }
  const text = bytes.subarray(0, length);
  if (!isUtf8(text)) throw malformed();
  return text.toString("utf8");
}

function digit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  if (letter >= 0x61 && letter <= 0x66) return letter - 0x57;
  throw malformed();
}

function malformed() {
  return clientError("invalidRequest", ["the body", "is not a form in UTF-8"]);
}
