import { request } from "node:http";
import type { Address } from "../domain/transport.ts";

/** Longer than the longest that an answer may take: a proof and a database that hangs. */
const PATIENCE_MS = 15_000;

/** The operator's listener is not there, or says nothing that makes sense. */
export class NobodyAnswers extends Error {
  override readonly name = "NobodyAnswers";
}

/** GET from an operator's listener. @throws NobodyAnswers, in words for an operator, unless it is 200. */
export function askOperator(address: Address, path: string): Promise<string> {
  const where = "path" in address ? { socketPath: address.path } : address;
  const name = "path" in address ? `unix:${address.path}` : `${address.host}:${address.port}`;
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new NobodyAnswers(`no service answers at ${name}: ${why}`));
    const asked = request({ ...where, path, agent: false, timeout: PATIENCE_MS }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (more: string) => {
        text += more;
      });
      answer.on("error", ({ message }) => fail(message));
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(text);
        else fail(`it said ${answer.statusCode} to ${path}`);
      });
    });
    asked.on("timeout", () => asked.destroy(new Error(`no answer within ${PATIENCE_MS / 1000} s`)));
    asked.on("error", ({ message }) => fail(message));
    asked.end();
  });
}
