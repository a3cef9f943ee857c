import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { Readable } from "node:stream";

/*
 * The floor of the rows `stream_up` and `stream_down`: a process that drops the body of a PUT, and responds to a GET with as many bytes as its path says. Its
 * argument is the directory of the benchmark, whose certificate it uses. It sends its port to its parent.
 */

const [, , directory = ""] = process.argv;
const read = (name: string) => readFileSync(join(directory, "tls", name));
const PIECE = Buffer.alloc(65_536, 1);

function* ones(bytes: number) {
  for (let left = bytes; left > 0; left -= PIECE.length) yield PIECE.subarray(0, left);
}

const server = createServer({ key: read("server.key"), cert: read("server.pem") }, (request, response) => {
  const bytes = Number(request.url?.slice(1));
  if (request.method === "PUT") request.resume().once("end", () => response.end("done"));
  else Readable.from(ones(bytes), { objectMode: false }).pipe(response.setHeader("content-length", bytes));
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.(typeof address === "object" && address?.port);
});
process.once("disconnect", () => process.exit());
