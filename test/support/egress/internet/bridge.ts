import { connect, createServer, type Socket } from "node:net";
import { pipeline } from "node:stream";

/*
 * A process that passes connections on from its network namespace to another one, through the path of a Unix socket, which belongs to no namespace:
 * `bridge.ts PORT PATH` listens on a port of its loopback interface.
 */

export function pass(from: Socket, to: Socket): void {
  pipeline(from, to, from, () => {});
}

if (import.meta.main) {
  const [, , port, path = ""] = process.argv;
  const server = createServer((socket) => pass(socket, connect(path)));
  server.listen(Number(port), "127.0.0.1", () => process.send?.("ready"));
  process.on("disconnect", () => process.exit(0));
}
