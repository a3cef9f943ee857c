import { parentPort, workerData } from "node:worker_threads";
import { ClientError } from "../../domain/error.ts";
import { parseJson } from "./json-body.ts";
import { checkShape } from "./json-shape.ts";
import { inPieces, type Piece } from "./long-texts.ts";

/** What the thread gets when it starts. */
export interface Unparsed {
  readonly bytes: Uint8Array;
  readonly maxValues: number | undefined;
}

/** The first message of the thread: the value without its long texts, or the error for the client. */
export type Parsed = { readonly rest: unknown } | { readonly code: ClientError["code"]; readonly error: string };
/** The answer of the thread to each further message: the next piece of the long texts; null if there is none. */
export type Following = Piece | null;

function parse({ bytes, maxValues }: Unparsed): void {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const { rest, pieces } = inPieces(parseJson(body, checkShape(body, maxValues)));
    parentPort?.on("message", () => parentPort?.postMessage((pieces.next().value ?? null) satisfies Following));
    parentPort?.postMessage({ rest } satisfies Parsed);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    parentPort?.postMessage({ code: error.code, error: error.body.error } satisfies Parsed);
  }
}

parse(workerData as Unparsed);
