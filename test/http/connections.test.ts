import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { test } from "node:test";
import { Connections } from "../../src/http/connections.ts";
import { noting } from "../metrics/noting.ts";

test("connections from one client port to several addresses of the server are counted one by one", async (t) => {
  const { meter, times } = noting();
  const connections = new Connections({ maxConnections: 2 }, meter);
  const server = createServer();
  const accepted: Socket[] = [];
  server.on("connection", (socket: Socket) => accepted.push(socket));
  connections.watch(server);
  server.listen(0, "0.0.0.0");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const clients: Socket[] = [];
  t.after(() => {
    for (const socket of [...clients, ...accepted]) socket.destroy();
    server.close();
  });
  for (const host of ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"]) {
    const localPort = clients[0]?.localPort;
    const client = connect({ host, port, localAddress: "127.0.0.1", ...(localPort !== undefined && { localPort }) });
    clients.push(client);
    client.on("error", () => {}); // the service closes the oldest
    const more = once(server, "connection");
    await once(client, "connect");
    await more;
  }
  assert.equal(new Set(clients.map(({ localPort }) => localPort).filter(Boolean)).size, 1);
  const open = accepted.filter(({ destroyed }) => !destroyed);
  assert.equal(open.length, 2);
  assert.equal(times("connectionsRefused all"), 2);
  const owned = open.filter((socket) => connections.isOwned(socket, "account a"));
  assert.equal(owned.length, 1, "an owner leaves as many as it has");
});
