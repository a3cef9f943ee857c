import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { Where } from "./clients.ts";

/** Adds a key and TLS to the requests of a program that has neither. @returns the port. */
export async function startKeyedProxy(t: Pick<TestContext, "after">, { url, key, caPath }: Where): Promise<number> {
  const agent = new Agent({ ca: readFileSync(caPath) });
  const { port } = new URL(url);
  const server = createServer((from, back) => {
    const headers = { ...from.headers, "x-api-key": key };
    const to = request({
      host: "127.0.0.1",
      port,
      path: from.url,
      method: from.method,
      headers,
      agent,
      servername: "localhost",
    });
    to.on("response", (response) => {
      back.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(back);
    });
    to.on("error", () => back.destroy());
    back.on("close", () => to.destroy());
    from.pipe(to);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
