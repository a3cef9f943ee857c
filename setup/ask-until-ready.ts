// ask-until-ready.ts ADDRESS PATH [SECONDS]: ends with 0 as soon as the operator listener there (HOST:PORT or unix:/PATH) answers
// PATH with 200: /ready takes a real run through every control. With 1 when it has not after two minutes, or so many seconds.
import { request } from "node:http";

const PAUSE_MS = 50;
const ANSWER_MS = 30_000;
/** Of an answer that is not 200; the rest is not kept. */
const REASON_CHARS = 4000;

const [address = "", path = "/ready", seconds = "120"] = process.argv.slice(2);
const where = address.startsWith("unix:")
  ? { socketPath: address.slice("unix:".length) }
  : {
      host: new URL(`http://${address}`).hostname.replace(/^\[(.*)\]$/, "$1"),
      port: new URL(`http://${address}`).port,
    };

/** The status and the start of the body, or with status 0 the reason why there is none. */
function ask(): Promise<{ status: number; reason: string }> {
  return new Promise((resolve) => {
    const failed = ({ message }: Error) => resolve({ status: 0, reason: message });
    // Without an agent, because one would keep the connection, and with it this process, for five idle seconds. The signal bounds the
    // whole answer; `timeout` bounds only silence.
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
