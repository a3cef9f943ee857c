import { readFileSync } from "node:fs";
import tls from "node:tls";
import { Assay } from "../../client/typescript/src/assay.ts";
import { AssayError } from "../../client/typescript/src/error.ts";
import { OperatorError } from "../domain/operator-error.ts";

/** A service and a key, as the variables of the environment name them. */
export interface Connection {
  readonly client: Assay;
  readonly url: URL;
  readonly key: string;
  /** Certificate authorities of the service, besides the usual ones. */
  readonly ca: string | undefined;
}

let known: Connection | undefined;

/** @throws OperatorError without ASSAY_URL and ASSAY_KEY, or if ASSAY_CA cannot be read. */
export function connection(): Connection {
  if (known) return known;
  const { ASSAY_URL = "", ASSAY_KEY = "", ASSAY_CA = "" } = process.env;
  if (ASSAY_URL === "" || ASSAY_KEY === "")
    throw new OperatorError("set ASSAY_URL and ASSAY_KEY: assay serve prints them");
  if (!URL.canParse(ASSAY_URL)) throw new OperatorError(`ASSAY_URL is not a URL: ${ASSAY_URL}`);
  const ca = ASSAY_CA === "" ? undefined : authority(ASSAY_CA);
  if (ca !== undefined) tls.setDefaultCACertificates([...tls.getCACertificates("default"), ca]);
  const client = new Assay({ url: ASSAY_URL, key: ASSAY_KEY, requestTimeoutMs: 3_600_000 });
  known = { client, url: new URL(ASSAY_URL.endsWith("/") ? ASSAY_URL : `${ASSAY_URL}/`), key: ASSAY_KEY, ca };
  return known;
}

function authority(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new OperatorError(`ASSAY_CA: ${(error as Error).message}`);
  }
}

/** Calls the service. @throws OperatorError with the text of the error of the service. */
export async function answered<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof AssayError)) throw error;
    const { cause } = error;
    throw new OperatorError(cause instanceof Error ? `${error.message}: ${reason(cause)}` : error.message);
  }
}

function reason({ message, cause }: Error): string {
  return cause instanceof Error ? cause.message : message;
}
