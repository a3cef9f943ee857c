import { request } from "node:http";
import { OperatorError } from "../domain/operator-error.ts";
import type { Address } from "../domain/transport.ts";

/** How long a response may take. The slowest response waits for a self-test and for a database that hangs, and takes less. */
const PATIENCE_MS = 15_000;
const LARGEST_BYTES = 1 << 20;

/** The operator listener cannot be reached, or does not answer with 200 within the bounds of time and size. */
export class ServiceUnreachable extends OperatorError {
  override readonly name = "ServiceUnreachable";
}

/**
 * Sends a GET request to an operator listener. Time and size of the response are bounded, because the service may be
 * compromised.
 * @throws ServiceUnreachable with a message for the operator, unless the status is 200.
 */
export function askOperator(address: Address, path: string): Promise<string> {
  const where = "path" in address ? { socketPath: address.path } : address;
  const name = "path" in address ? `unix:${address.path}` : `${address.host}:${address.port}`;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new ServiceUnreachable(`no response from ${name}: ${why}`));
    const failed = ({ message }: Error) =>
      fail(signal.aborted ? `no complete response within ${PATIENCE_MS / 1000} s` : message);
    const asked = request({ ...where, path, agent: false, signal }, (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > LARGEST_BYTES) answer.destroy(new Error("the response is longer than 1 MiB"));
        else chunks.push(chunk);
      });
      answer.on("error", failed);
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(Buffer.concat(chunks).toString());
        else fail(`status ${answer.statusCode} for ${path}`);
      });
    });
    asked.on("error", failed);
    asked.end();
  });
}
