import { execFileSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { TLSSocket } from "node:tls";

/** A test authority and a certificate signed by it, PEM. */
export interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/**
 * @param names in the notation of certificates: `IP:127.0.0.1,DNS:receiver.example`.
 * @param algorithm of the keys, as `openssl req` has it.
 */
export function makeCertificates(
  names = "IP:127.0.0.1,DNS:localhost,DNS:receiver.example",
  algorithm: readonly string[] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
): Certificates {
  const directory = mkdtempSync(join(tmpdir(), "assay-ca-"));
  const path = (name: string) => join(directory, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: directory, stdio: "ignore" });
  const key = [...algorithm, "-nodes"];
  try {
    writeFileSync(path("names"), `subjectAltName=${names}\n`);
    openssl("req", "-x509", ...key, "-subj", "/CN=Test authority", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem");
    openssl("req", ...key, "-subj", "/CN=receiver", "-keyout", "key.pem", "-out", "request.pem");
    const authority = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
    openssl("x509", "-req", "-in", "request.pem", ...authority, "-days", "2", "-extfile", "names", "-out", "cert.pem");
    const read = (name: string) => readFileSync(path(name), "utf8");
    return { ca: read("ca.pem"), cert: read("cert.pem"), key: read("key.pem") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * Makes a chain of certificates that costs a client much time to verify: the public exponent of its keys has as many bits as OpenSSL
 * accepts, instead of 17.
 * @param length the number of certificates, each with about 1.1 KiB. The client does not know their authority.
 */
export function makeExpensiveCertificates(length: number): Omit<Certificates, "ca"> {
  const directory = mkdtempSync(join(tmpdir(), "assay-chain-"));
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: directory, stdio: "ignore" });
  try {
    const key = keyWithLongExponent();
    writeFileSync(join(directory, "key.pem"), key);
    writeFileSync(join(directory, "extensions"), "basicConstraints=CA:TRUE\n");
    openssl("req", "-x509", "-new", "-key", "key.pem", "-subj", "/CN=0", "-days", "2", "-out", "0.pem");
    const chain: string[] = [];
    for (let at = 1; at <= length; at++) {
      openssl("req", "-new", "-key", "key.pem", "-subj", `/CN=${at}`, "-out", "request.pem");
      const authority = ["-CA", `${at - 1}.pem`, "-CAkey", "key.pem", "-set_serial", String(at)];
      const rest = ["-days", "2", "-extfile", "extensions", "-out", `${at}.pem`];
      openssl("x509", "-req", "-in", "request.pem", ...authority, ...rest);
      chain.unshift(readFileSync(join(directory, `${at}.pem`), "utf8"));
    }
    return { key, cert: chain.join("") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** An RSA key, in PEM, whose exponents are exchanged: the private one is small, and the public one has about 3,070 bits. */
function keyWithLongExponent(): string {
  const usual = generateKeyPairSync("rsa", { modulusLength: 3_072 }).privateKey.export({ format: "jwk" });
  const { d = "", p = "", q = "" } = usual;
  const read = (text: string) => BigInt(`0x${Buffer.from(text, "base64url").toString("hex")}`);
  const write = (value: bigint) => {
    const hex = value.toString(16);
    return Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex").toString("base64url");
  };
  const small = 65_537n;
  const remainder = (prime: string) => write(small % (read(prime) - 1n));
  const jwk = { ...usual, e: d, d: write(small), dp: remainder(p), dq: remainder(q) };
  return createPrivateKey({ format: "jwk", key: jwk }).export({ format: "pem", type: "pkcs1" }).toString();
}

/** One received request, with its body as bytes. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly atMs: number;
  /** The server name of the TLS handshake, if any. */
  readonly servername: string | false | null;
}

export type Answer = (response: ServerResponse, received: Received, request: IncomingMessage) => void;

export interface Receiver {
  readonly port: number;
  readonly url: string;
  readonly received: readonly Received[];
  /** Number of accepted connections, with or without a request. */
  readonly connections: () => number;
  /** Resolves after this number of requests. */
  readonly until: (count: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A real HTTPS receiver on loopback; closed after the test. */
export async function startReceiver(
  t: Pick<TestContext, "after">,
  { cert, key }: Certificates,
  answer: Answer = (response) => response.end("ok"),
  port = 0,
): Promise<Receiver> {
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let onReceived = () => {};
  const server = createServer({ cert, key }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url = "", headers } = request;
    const { servername } = request.socket as TLSSocket;
    const one = { method, path: url, headers, body: Buffer.concat(chunks), atMs: Date.now(), servername };
    received.push(one);
    answer(response, one, request);
    onReceived();
  });
  server.on("connection", (socket: Socket) => {
    connections++;
    sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = async () => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  t.after(close);
  const { port: actual } = server.address() as AddressInfo;
  return {
    port: actual,
    url: `https://127.0.0.1:${actual}/hook`,
    received,
    connections: () => connections,
    until: (count) =>
      new Promise((resolve) => {
        onReceived = () => {
          if (received.length >= count) resolve();
        };
        onReceived();
      }),
    close,
  };
}
