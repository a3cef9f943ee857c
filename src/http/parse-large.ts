import { Worker } from "node:worker_threads";
import { ClientError, clientError } from "../domain/error.ts";
import type { Parsed } from "./parse-thread.ts";

const MOST_MS = 10_000;
const MEMORY_MIB = 512;

/** Parses a large body in a thread of its own, which ends afterwards. @throws ClientError as for smaller bodies. */
export async function parseInThread(bytes: Buffer, maxValues: number | undefined): Promise<unknown> {
  // Moved instead of copied; the copy is for a body that shares its memory.
  const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
  const thread = new Worker(new URL("./parse-thread.ts", import.meta.url), {
    workerData: { bytes: own, maxValues },
    transferList: [own.buffer as ArrayBuffer],
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
  });
  const parsed = await new Promise<Parsed>((resolve, reject) => {
    const fail = () => reject(clientError("malformedJson", []));
    const timer = setTimeout(fail, MOST_MS);
    thread.once("exit", () => clearTimeout(timer));
    // A body that does not fit into the memory of the thread.
    thread.on("error", fail).once("exit", fail).once("message", resolve);
  }).finally(() => thread.terminate());
  if ("value" in parsed) return parsed.value;
  throw new ClientError(parsed.code, parsed.error, {}, {});
}
