import { parentPort, workerData } from "node:worker_threads";
import { ClientError } from "../domain/error.ts";
import { parseJson } from "./json-body.ts";
import { checkShape } from "./json-shape.ts";

/** Input of the thread. */
export interface Unparsed {
  readonly bytes: Uint8Array;
  readonly maxValues: number | undefined;
}

/** The value, or the error for the client. */
export type Parsed = { readonly value: unknown } | { readonly code: ClientError["code"]; readonly error: string };

function parse({ bytes, maxValues }: Unparsed): Parsed {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return { value: parseJson(body, checkShape(body, maxValues)) };
  } catch (error) {
    if (error instanceof ClientError) return { code: error.code, error: error.body.error };
    throw error;
  }
}

parentPort?.postMessage(parse(workerData as Unparsed));
