import { Agent, request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Flood, FloodPlan } from "../floods.ts";

const CONNECTIONS = 4;
const SOCKETS = 8;
/** How many submissions, with output, a list has. */
const LISTED = 60;
/**
 * How much input each program on a socket reads before it ends. Programs that read for as long as they may would always be running, and
 * the row would show their limit of time instead of the cost of sockets and messages.
 */
const INPUT_BYTES = 20_000;
const LIST = "/judge0/submissions?fields=*&per_page=100&base64_encoded=true";

type Begin = (plan: FloodPlan) => Promise<void>;

/** Sends one request. @returns the text of the answer. */
function ask({ port, ca, key }: FloodPlan, agent: Agent, method: "GET" | "POST", path: string, body?: object) {
  return new Promise<string>((resolve, reject) => {
    const headers = { "x-api-key": key, accept: "application/json, text/event-stream", ...(body && JSON_TYPE) };
    const options = { host: "127.0.0.1", servername: "localhost", port, ca, agent, method, path, headers };
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
      response.on("end", () => resolve(Buffer.concat(chunks).toString()));
    });
    sent.on("error", reject).end(body && JSON.stringify(body));
  });
}

const JSON_TYPE = { "content-type": "application/json" };

/** Sends requests for ever, on each connection one after the other. */
async function each(
  plan: FloodPlan,
  method: "GET" | "POST",
  path: string,
  body: () => object | undefined,
): Promise<void> {
  for (let at = 0; at < CONNECTIONS; at++) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    void (async () => {
      for (;;) await ask(plan, agent, method, path, body()).catch(() => sleep(10));
    })();
  }
}

const call = (name: string, args: object) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: args },
});

const BEGIN: Readonly<Record<Flood, Begin>> = {
  hello: (plan) =>
    each(plan, "POST", "/api/submit?wait=true", () => ({
      language: "python",
      code: `print("hello") # ${Math.random()}`,
    })),
  judge0_list: async (plan) => {
    const agent = new Agent({ keepAlive: true });
    const list = JSON.parse(await ask(plan, agent, "GET", LIST)) as { submissions: unknown[] };
    for (let at = list.submissions.length; at < LISTED; at++) {
      const body = { language_id: 71, source_code: `print("x" * 20000) # ${at}` };
      await ask(plan, agent, "POST", "/judge0/submissions?wait=true", body);
    }
    await each(plan, "GET", LIST, () => undefined);
  },
  mcp_list: (plan) => each(plan, "POST", "/mcp", () => ({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} })),
  mcp_judge: (plan) => {
    const cases = Array.from({ length: 50 }, (_, at) => ({ stdin: `${at} `.repeat(10_000), expected: "x" }));
    return each(plan, "POST", "/mcp", () =>
      call("judge", { language: "python", code: `print("x") # ${Math.random()}`, cases }),
    );
  },
  piston_sockets: async (plan) => {
    const connect = () => {
      const socket = new WebSocket(`wss://127.0.0.1:${plan.port}/piston/api/v2/connect`, {
        ca: plan.ca,
        headers: { Authorization: plan.key },
      });
      socket.on("error", () => {});
      socket.on("open", () => {
        const files = [{ content: `import sys\nsys.stdin.read(${INPUT_BYTES})` }];
        socket.send(JSON.stringify({ type: "init", language: "python", version: "*", files }));
        const data = JSON.stringify({ type: "data", stream: "stdin", data: "x".repeat(1_000) });
        const flood = setInterval(() => socket.bufferedAmount < 65_536 && socket.send(data), 1);
        socket.on("close", () => clearInterval(flood));
      });
      socket.on("close", () => setTimeout(connect, 50));
    };
    for (let at = 0; at < SOCKETS; at++) connect();
  },
};

process.once("message", async (plan: FloodPlan) => {
  await BEGIN[plan.flood](plan);
  setTimeout(() => process.send?.("begun"), 500);
});
