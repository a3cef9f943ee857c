import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import type { Flood, FloodPlan } from "../floods.ts";
import { Connection } from "../load/connection.ts";

const CONNECTIONS = 4;
const SOCKETS = 8;
/** Submissions with output that the lists have. */
const LISTED = 60;
const LIST = "/judge0/submissions?fields=*&per_page=100&base64_encoded=true";

type Begin = (plan: FloodPlan) => Promise<void>;

async function each(
  plan: FloodPlan,
  method: "GET" | "POST",
  path: string,
  body: () => object | undefined,
): Promise<void> {
  for (let at = 0; at < CONNECTIONS; at++) {
    const connection = await Connection.open(plan.port, plan.ca, plan.key);
    void (async () => {
      for (;;) {
        const value = body();
        await connection
          .ask(method, path, value && Buffer.from(JSON.stringify(value)))
          .catch(() => reconnect(connection));
      }
    })();
  }
}

/** A service may close a connection that asks for too much, or after its answer. */
async function reconnect(connection: Connection): Promise<void> {
  for (;;) {
    try {
      return await connection.again();
    } catch {
      await sleep(10);
    }
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
    const connection = await Connection.open(plan.port, plan.ca, plan.key);
    const list = async () => JSON.parse((await connection.ask("GET", LIST)).text) as { submissions: unknown[] };
    for (let at = (await list()).submissions.length; at < LISTED; at++) {
      const body = { language_id: 71, source_code: `print("x" * 20000) # ${at}` };
      await connection.ask("POST", "/judge0/submissions?wait=true", Buffer.from(JSON.stringify(body)));
    }
    connection.end();
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
        const files = [{ content: "import sys\nfor line in sys.stdin: pass" }];
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
