import { LoadConnection } from "../load/connection.ts";
import type { BenchDatabase } from "../load/database.ts";
import { cpuOf } from "../load/processes.ts";
import { makeKeys, type Place, type Sandbox, startServing } from "../load/serving.ts";
import { type Client, expectOutput, type Judge, type Work } from "./judge.ts";

/** This service over HTTPS with durable storage, started like `assay serve`. */
export async function startOurs(place: Place, database: BenchDatabase, sandbox: Sandbox): Promise<Judge> {
  const [key = ""] = await makeKeys(database, 1);
  place.own();
  const { pid, port, stop } = await startServing(place, database, sandbox);
  return {
    name: "assay",
    client: async () => ourClient(await LoadConnection.open(port, place.ca, key)),
    cpuMs: () => {
      const { ownMs, endedMs } = cpuOf([pid, sandbox.pid]);
      return ownMs + endedMs;
    },
    stop,
  };
}

/** @returns a client that judges a program with one input by a submission, and one with several inputs by a judgement. */
function ourClient(connection: LoadConnection): Client {
  const ask = async (path: string, body: object) => {
    const { text } = await connection.ask("POST", `${path}?wait=true`, Buffer.from(JSON.stringify(body)));
    return { text, json: JSON.parse(text) };
  };
  const judge = async ({ language, code, runs }: Work) => {
    const [first, ...others] = runs;
    if (!first) return;
    if (others.length === 0) {
      const { text, json } = await ask("/api/submit", { language, code, stdin: first.stdin });
      expectOutput("assay", json.output?.stdout, first.stdout, text);
      return;
    }
    const tests = runs.map(({ stdin, stdout }) => ({ stdin, expected: stdout }));
    let { text, json } = await ask("/api/judgements", { language, code, tests, checker: "exact" });
    while (json.status === "pending" || json.status === "running") {
      ({ text } = await connection.ask("GET", `/api/judgements/${json.id}?wait=true`));
      json = JSON.parse(text);
    }
    expectOutput("assay", json.verdict, "AC", text);
  };
  return { judge, close: () => connection.end() };
}
