import { Connection } from "../load/connection.ts";
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
    client: async () => ourClient(await Connection.open(port, place.ca, key)),
    cpuMs: () => {
      const { ownMs, endedMs } = cpuOf([pid, sandbox.pid]);
      return ownMs + endedMs;
    },
    stop,
  };
}

/** A submission has one input, so each input is a submission of its own. */
function ourClient(connection: Connection): Client {
  const judge = async ({ language, code, runs }: Work) => {
    for (const { stdin, stdout } of runs) {
      const body = Buffer.from(JSON.stringify({ language, code, stdin }));
      const { text } = await connection.ask("POST", "/api/submit?wait=true", body);
      expectOutput("assay", JSON.parse(text).output?.stdout, stdout, text);
    }
  };
  return { judge, close: () => connection.end() };
}
