import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

export interface Proxy {
  readonly port: number;
  readonly connections: () => number;
  /** The number of open sockets: each connection has one to the client and one to the service. */
  readonly open: () => number;
  /** Cuts the connections that are open, without the end of TLS. */
  readonly cut: () => void;
  /** Cuts them, and every new one until `restore`. */
  readonly refuse: () => void;
  readonly restore: () => void;
}

/** Forwards connections to a service. */
export async function startProxy(t: Pick<TestContext, "after">, servicePort: number): Promise<Proxy> {
  let connections = 0;
  let refuses = false;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    connections++;
    if (refuses) {
      client.on("error", () => {}).destroy();
      return;
    }
    const service = connect(servicePort, "127.0.0.1");
    for (const socket of [client, service]) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => open.delete(socket));
    }
    client.pipe(service).pipe(client);
    client.on("close", () => service.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  const refuse = () => {
    refuses = true;
    cut();
  };
  const restore = () => {
    refuses = false;
  };
  t.after(() => {
    cut();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    open: () => open.size,
    cut,
    refuse,
    restore,
  };
}
