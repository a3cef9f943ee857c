import { Worker } from "node:worker_threads";
import { ClientError, clientError } from "../../domain/error.ts";
import { Joined } from "./long-texts.ts";
import type { Following, Parsed } from "./parse-thread.ts";

const MEMORY_MIB = 512;

/** Parses a large body in a thread that is started for it. @throws ClientError as for smaller bodies. */
export async function parseInThread(bytes: Buffer, maxValues: number | undefined): Promise<unknown> {
  // The bytes are moved to the thread, not copied. Only a buffer that shares its memory with other buffers is copied first.
  const ownBytes = bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
  const thread = new Worker(new URL("./parse-thread.ts", import.meta.url), {
    workerData: { bytes: ownBytes, maxValues },
    transferList: [ownBytes.buffer as ArrayBuffer],
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
  });
  // The thread fails if the body does not fit into its memory. There is no time limit: it would refuse valid bodies on a busy machine,
  // and is not needed, because after checkShape(), JSON.parse takes time in proportion to the length of the body.
  const failed = new Promise<never>((_, reject) => {
    const fail = () => reject(clientError("malformedJson", []));
    thread.on("error", fail).once("exit", fail);
  });
  failed.catch(() => {}); // It is also rejected when the thread has ended normally.
  const next = async <T>(): Promise<T> =>
    await Promise.race([new Promise<T>((resolve) => thread.once("message", resolve)), failed]);
  try {
    const parsed = await next<Parsed>();
    if (!("rest" in parsed)) throw new ClientError(parsed.code, parsed.error, {}, {});
    const joined = new Joined(parsed.rest);
    // The pieces are requested one at a time. Receiving a message takes time in proportion to its length, and the event loop would do
    // nothing else between two messages that have both arrived.
    const ask = async () => {
      const following = next<Following>();
      thread.postMessage(null);
      return await following;
    };
    for (let piece = await ask(); piece; piece = await ask()) joined.add(piece);
    return joined.value;
  } finally {
    await thread.terminate();
  }
}
