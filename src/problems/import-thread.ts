import { once } from "node:events";
import { parentPort, workerData } from "node:worker_threads";
import { fromPlain, type PlainLanguages } from "../languages/load.ts";
import { UnavailableError } from "./faults.ts";
import { PackageError } from "./files.ts";
import { type Importable, openImport, type PackageRuns, type ReadOptions } from "./import.ts";
import { packageFromZip } from "./zip.ts";

/** Input of the thread. */
export interface OpenRequest {
  readonly archive: Uint8Array;
  readonly mostBytes: number;
  readonly languages: PlainLanguages;
  readonly options: ReadOptions;
}

/** A request for a content. */
export interface ContentRequest {
  readonly test: number;
  readonly place: number;
}

/**
 * Messages of the thread. `unpacked` is the number of bytes of all files; the thread sends it before it unpacks any file, and
 * again if the package refers to an archive among its files, and each time waits for a reply. Then `opened` has the package, and
 * after that, `content` answers each request. `fault` takes the place of any of them.
 */
export type ImportReply =
  | { readonly unpacked: number }
  | { readonly opened: Importable }
  | { readonly content: Uint8Array }
  | { readonly fault: string };

function send(answer: ImportReply): void {
  parentPort?.postMessage(answer, "content" in answer ? [answer.content.buffer as ArrayBuffer] : []);
}

/** Sends a fault of the package. Any other error ends the thread. */
function sendFault(error: unknown): void {
  if (!(error instanceof PackageError)) throw error;
  send({ fault: error.message });
}

/** A service has no sandboxes for an import: programs of a package would take the slots of submissions. */
const COMMAND_ONLY: PackageRuns = {
  measure: () =>
    refuse(
      "has no time limit: give time_limit, or use the command assay problems import, which measures the submissions of the package",
    ),
  make: () =>
    refuse("has tests that its programs make: use the command assay problems import, which runs these programs"),
};

async function refuse(message: string): Promise<never> {
  throw new UnavailableError("the package", message);
}

const { archive, mostBytes, languages, options } = workerData as OpenRequest;
try {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const files = await packageFromZip(bytes, mostBytes, async (unpacked) => {
    send({ unpacked });
    if (parentPort) await once(parentPort, "message");
  });
  const { importable, read } = await openImport(files, fromPlain(languages), options, COMMAND_ONLY);
  send({ opened: importable });
  parentPort?.on("message", ({ test, place }: ContentRequest) => {
    try {
      send({ content: Uint8Array.from(read(test, place)) });
    } catch (error) {
      sendFault(error);
    }
  });
} catch (error) {
  sendFault(error);
}
