import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { readFileSync } from "node:fs";
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { type Command, type Observed, PORTS, type Seen, type Served, type ServersOptions } from "./messages.ts";
import { NAME_SERVER } from "./namespaces.ts";
import { answer, type Zone } from "./zone.ts";

/*
 * The servers of the fake internet: a process in its namespace, which listens on each address there. What it has to serve, and what it has seen, it exchanges
 * with the test over a channel of its parent.
 */

const options: ServersOptions = JSON.parse(process.argv[2] ?? "{}");
const seen: Seen[] = [];
const questions: string[] = [];
const requests: string[] = [];
let zone: Zone = {};
let files: Readonly<Record<string, Served>> = {};
let quic = 0;

function watch<S extends Server>(server: S): S {
  server.on("connection", (socket: Socket) => {
    const entry = {
      address: (socket.localAddress ?? "").replace(/^::ffff:/, ""),
      port: socket.localPort ?? 0,
      received: 0,
      sent: 0,
      isOpen: true,
    };
    seen.push(entry);
    const count = () => {
      entry.received = socket.bytesRead;
      entry.sent = socket.bytesWritten;
    };
    const timer = setInterval(count, 20);
    socket.on("error", () => {});
    socket.on("close", () => {
      clearInterval(timer);
      count();
      entry.isOpen = false;
    });
  });
  return server;
}

const BLOCK = Buffer.alloc(65_536, "x");

/** Sends a number of bytes, and then ends. */
function send(to: Socket | ServerResponse, bytes: number): void {
  let left = bytes;
  const more = () => {
    while (left > 0) {
      const next = BLOCK.subarray(0, Math.min(left, BLOCK.length));
      left -= next.length;
      if (!to.write(next) && left > 0) {
        to.once("drain", more);
        return;
      }
    }
    to.end();
  };
  more();
}

const TCP: Readonly<Record<number, (socket: Socket) => void>> = {
  [PORTS.ssh]: (socket) => socket.write("SSH-2.0-fake\r\n"),
  [PORTS.smtp]: (socket) => socket.write("220 mail.example.com ESMTP\r\n"),
  [PORTS.echo]: (socket) => socket.pipe(socket),
  [PORTS.sink]: (socket) => socket.resume(),
  [PORTS.bulk]: (socket) => socket.once("data", (line) => send(socket, Number(line.toString()))),
  [PORTS.drip]: (socket) => {
    const timer = setInterval(() => socket.write("."), 50);
    socket.once("close", () => clearInterval(timer)).resume();
  },
};

function serveHttp(request: IncomingMessage, response: ServerResponse): void {
  const { host = "", url = "/" } = { host: request.headers.host, url: request.url };
  requests.push(`${request.method} ${host} ${url}`);
  const { pathname, searchParams } = new URL(url, "http://host");
  const name = host.replace(/:\d+$/, "");
  const file = files[`${name}${pathname}`];
  response.on("error", () => {});
  if (file) response.writeHead(200, { "content-type": file.type }).end(Buffer.from(file.body, "base64"));
  else if (pathname === "/redirect") response.writeHead(302, { location: searchParams.get("to") ?? "/" }).end();
  else if (pathname.startsWith("/bytes/")) send(response, Number(pathname.slice(7)));
  else if (pathname.startsWith("/repository.git/")) serveGit(request, response, pathname.slice(16), searchParams);
  else {
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on("end", () =>
      pathname === "/missing"
        ? response.writeHead(404).end()
        : response.end(`${request.method} ${name}${pathname} ${bytes} bytes\n`),
    );
  }
}

/** The "smart" protocol of git over HTTP, for clones. */
function serveGit(request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams): void {
  const command = ["upload-pack", "--stateless-rpc"];
  const env = { ...process.env, GIT_PROTOCOL: String(request.headers["git-protocol"] ?? "") };
  if (path === "info/refs" && query.get("service") === "git-upload-pack") {
    response.writeHead(200, { "content-type": "application/x-git-upload-pack-advertisement" });
    response.write("001e# service=git-upload-pack\n0000");
    spawn("git", [...command, "--http-backend-info-refs", options.repository], { env }).stdout.pipe(response);
  } else if (path === "git-upload-pack") {
    response.writeHead(200, { "content-type": "application/x-git-upload-pack-result" });
    const git = spawn("git", [...command, options.repository], { env });
    const body = request.headers["content-encoding"] === "gzip" ? request.pipe(createGunzip()) : request;
    pipeline(body, git.stdin, () => {});
    git.stdout.pipe(response);
  } else response.writeHead(404).end();
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) =>
    server.once("error", reject).listen({ port, host: "::", backlog: 4_096 }, resolve),
  );
}

const tls = { key: readFileSync(options.key), cert: readFileSync(options.certificate) };
const { createConnection } = await import("node:net");
const database = watch(
  createServer((socket) => {
    const { postgres } = options;
    const behind = typeof postgres === "string" ? createConnection(postgres) : createConnection(postgres);
    pipeline(socket, behind, socket, () => {});
  }),
);
await Promise.all([
  listen(watch(createHttp(serveHttp)), 80),
  listen(watch(createHttp(serveHttp)), 8_080),
  listen(watch(createHttps(tls, serveHttp)), 443),
  listen(watch(createHttps(tls, serveHttp)), 8_443),
  listen(database, 5_432),
  // Ports that nothing of the tests may ever reach: telnet, DNS over TCP and over TLS.
  ...[23, 53, 853].map((port) => listen(watch(createServer((socket) => socket.resume())), port)),
  ...Object.entries(TCP).map(([port, serve]) =>
    listen(
      watch(
        createServer((socket) => {
          socket.on("error", () => {});
          serve(socket);
        }),
      ),
      Number(port),
    ),
  ),
]);

const names = createSocket("udp4");
names.on("message", (query, from) => {
  const { question, response, delayMs } = answer(zone, query, questions);
  questions.push(question);
  if (response) setTimeout(() => names.send(response, from.port, from.address), delayMs);
});
await new Promise<void>((resolve) => names.bind(53, NAME_SERVER, resolve));
const datagrams = createSocket({ type: "udp6", reuseAddr: true });
datagrams.on("message", () => quic++);
await new Promise<void>((resolve) => datagrams.bind(443, "::", resolve));

process.on("message", (command: Command) => {
  if (command.kind === "zone") zone = command.zone;
  if (command.kind === "files") files = command.files;
  const observed: Observed = { connections: seen, questions, quic, requests };
  process.send?.(command.kind === "seen" ? observed : null);
});
process.on("disconnect", () => process.exit(0));
process.send?.("ready");
