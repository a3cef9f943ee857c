// ask-until-ready.ts ADDRESS PATH [SECONDS]: exits with 0 as soon as the operator listener at ADDRESS (HOST:PORT or
// unix:/PATH) returns 200 for PATH; /ready includes a real run through every control. Exits with 1 after SECONDS (120).
import { request } from "node:http";

const PAUSE_MS = 50;
const ANSWER_MS = 30_000;
/** Maximum kept length of a body. */
const REASON_CHARS = 4000;

const [address = "", path = "/ready", seconds = "120"] = process.argv.slice(2);
const where = address.startsWith("unix:")
  ? { socketPath: address.slice("unix:".length) }
  : {
      host: new URL(`http://${address}`).hostname.replace(/^\[(.*)\]$/, "$1"),
      port: new URL(`http://${address}`).port,
    };

/** @returns the status and the start of the body; without a response, status 0 and the error. */
function ask(): Promise<{ status: number; reason: string }> {
  return new Promise((resolve) => {
    const failed = ({ message }: Error) => resolve({ status: 0, reason: message });
    // An agent would keep the connection and this process for five idle seconds. The signal bounds the whole
    // response; `timeout` would bound only silence.
    const asked = request({ ...where, agent: false, path, signal: AbortSignal.timeout(ANSWER_MS) }, (answer) => {
      let reason = "";
      answer.setEncoding("utf8").on("data", (text: string) => {
        reason = (reason + text).slice(0, REASON_CHARS);
      });
      answer.on("error", failed);
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, reason }));
    });
    asked.on("error", failed);
    asked.end();
  });
}

const giveUpAt = performance.now() + Number(seconds) * 1000;
let last = await ask();
while (last.status !== 200 && performance.now() < giveUpAt) {
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  last = await ask();
}
if (last.status !== 200) {
  process.stderr.write(`the service is not ready after ${seconds} s: ${last.status} ${last.reason}\n`);
  process.exitCode = 1;
}
