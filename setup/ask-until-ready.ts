// ask-until-ready.ts ADDRESS PATH [SECONDS]: ends with 0 as soon as the operator listener there (HOST:PORT or unix:/PATH) answers
// PATH with 200: /ready takes a real run through every control. With 1 when it has not after two minutes, or so many seconds.
import { request } from "node:http";

const PAUSE_MS = 50;

const [address = "", path = "/ready", seconds = "120"] = process.argv.slice(2);
const where = address.startsWith("unix:")
  ? { socketPath: address.slice("unix:".length) }
  : {
      host: new URL(`http://${address}`).hostname.replace(/^\[(.*)\]$/, "$1"),
      port: new URL(`http://${address}`).port,
    };

/** The status and the body, or why there is none. */
function ask(): Promise<{ status: number; words: string }> {
  return new Promise((resolve) => {
    // Without an agent, because one would keep the connection, and with it this process, for five idle seconds.
    const asked = request({ ...where, agent: false, path, timeout: 30_000 }, (answer) => {
      let words = "";
      answer.setEncoding("utf8").on("data", (text: string) => (words += text));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, words }));
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer within 30 s")));
    asked.on("error", (error) => resolve({ status: 0, words: error.message }));
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
  process.stderr.write(`the service is not ready after ${seconds} s: ${last.status} ${last.words.slice(0, 4000)}\n`);
  process.exitCode = 1;
}
