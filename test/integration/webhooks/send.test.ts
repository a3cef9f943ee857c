import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { getEventListeners, once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer as createTlsServer } from "node:tls";
import { Webhook } from "standardwebhooks";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import type { Signing } from "../../../src/domain/webhook.ts";
import { post } from "../../../src/webhooks/post.ts";
import { type SendOptions, type Sent, send } from "../../../src/webhooks/send.ts";
import { parseTarget } from "../../../src/webhooks/target.ts";
import { threadedPost } from "../../../src/webhooks/threaded-post.ts";
import { trustedAuthorities } from "../../../src/webhooks/trust.ts";
import { claimFor, sealer } from "../../support/webhooks/project.ts";
import {
  type Answer,
  makeCertificates,
  makeExpensiveCertificates,
  startReceiver,
} from "../../support/webhooks/receiver.ts";

const certificates = makeCertificates();
const BODY = Buffer.from('{"id":"\u00e9","n":1}');
const NEVER = new AbortController().signal;
const LIMIT = { timeout: 20_000 };
/** For a test whose threads have a low priority, on a machine that is busy with others. */
const PATIENT = { timeout: 180_000 };

interface Case {
  readonly signing?: Signing;
  readonly options?: Partial<SendOptions>;
  readonly body?: Buffer;
}

const threaded = threadedPost({ ca: certificates.ca });

const allow = (port: number, more: Partial<SendOptions> = {}): SendOptions => ({
  sealer,
  allowed: [{ host: "127.0.0.1", port }],
  post: threaded,
  foreignApis: FOREIGN_APIS,
  userAgent: "Assay/0.0.0",
  ...more,
});

async function sendTo(t: TestContext, answer: Answer, { signing, options, body = BODY }: Case = {}) {
  const receiver = await startReceiver(t, certificates, answer);
  const claim = claimFor(receiver.url, signing);
  const sent = await send(claim, [body], allow(receiver.port, options), NEVER);
  return { receiver, claim, sent };
}

const seen = ({ result, attempt }: Sent) => [result, attempt.status, attempt.error];

test("sends the bytes with the headers for verification", LIMIT, async (t) => {
  const { receiver, claim, sent } = await sendTo(t, (response) => response.writeHead(202).end("thanks"));
  assert.deepEqual(seen(sent), ["delivered", 202, null]);
  assert.equal(sent.attempt.answer?.toString(), "thanks");
  assert.ok(sent.attempt.latencyMs >= 0 && Math.abs(sent.attempt.atMs - Date.now()) < 5_000);
  const [one] = receiver.received;
  assert.ok(one);
  assert.deepEqual([one.method, one.path], ["POST", "/hook"]);
  assert.deepEqual(one.body, BODY);
  assert.deepEqual(Object.keys(one.headers).sort(), [
    "connection",
    "content-length",
    "content-type",
    "host",
    "user-agent",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
  ]);
  assert.equal(one.headers["content-type"], "application/json");
  assert.equal(one.headers["user-agent"], "Assay/0.0.0");
  assert.equal(one.headers["webhook-id"], claim.messageId);
  new Webhook(claim.open).verify(one.body, one.headers as Record<string, string>);
});

test("signs a raw endpoint with the characters of its secret", LIMIT, async (t) => {
  const { receiver, claim } = await sendTo(t, (response) => response.end(), { signing: "raw" });
  const [one] = receiver.received;
  new Webhook(claim.open, { format: "raw" }).verify(one?.body ?? "", one?.headers as Record<string, string>);
});

test("2xx is delivered, 5xx is retried, and any other status fails", LIMIT, async (t) => {
  for (const [status, result] of [
    [200, "delivered"],
    [204, "delivered"],
    [299, "delivered"],
    [300, "never"],
    [304, "never"],
    [400, "never"],
    [404, "never"],
    [410, "never"],
    [429, "never"],
    [500, "again"],
    [502, "again"],
    [599, "again"],
  ] as const) {
    const { sent } = await sendTo(t, (response) => response.writeHead(status).end());
    assert.deepEqual(seen(sent), [result, status, null], String(status));
  }
});

test("does not follow redirects", LIMIT, async (t) => {
  const elsewhere = await startReceiver(t, certificates);
  for (const status of [301, 302, 303, 307, 308]) {
    const receiver = await startReceiver(t, certificates, (response) =>
      response.writeHead(status, { location: elsewhere.url }).end(),
    );
    const allowed = [receiver, elsewhere].map(({ port }) => ({ host: "127.0.0.1", port }));
    const sent = await send(claimFor(receiver.url), [BODY], allow(0, { allowed }), NEVER);
    assert.deepEqual(seen(sent), ["never", status, null]);
  }
  assert.equal(elsewhere.connections(), 0);
});

test("a receiver that accepts and does not respond times out", LIMIT, async (t) => {
  const { sent } = await sendTo(t, () => {}, { options: { timeoutMs: 300 } });
  assert.deepEqual(seen(sent), ["again", null, "no response within 0.3 s"]);
  assert.ok(sent.attempt.latencyMs >= 290 && sent.attempt.latencyMs < 2_000);
});

test("headers that trickle time out", LIMIT, async (t) => {
  let drip: NodeJS.Timeout | undefined;
  t.after(() => clearInterval(drip));
  const trickle: Answer = (_response, _received, { socket }) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    drip = setInterval(() => socket.write("x: y\r\n"), 20);
  };
  const { sent } = await sendTo(t, trickle, { options: { timeoutMs: 400 } });
  assert.deepEqual(seen(sent), ["again", null, "no response within 0.4 s"]);
});

test("a body that trickles times out, and its status counts", LIMIT, async (t) => {
  for (const [status, result] of [
    [200, "delivered"],
    [500, "again"],
    [404, "never"],
  ] as const) {
    let drip: NodeJS.Timeout | undefined;
    t.after(() => clearInterval(drip));
    const trickle: Answer = (response) => {
      response.writeHead(status);
      drip = setInterval(() => response.write("."), 20);
    };
    // On a busy machine, connecting can take as long as the first time limit. Then there is no status, and the next attempt has more time.
    for (const timeoutMs of [1_500, 6_000, 24_000]) {
      const { sent } = await sendTo(t, trickle, { options: { timeoutMs } });
      if (sent.attempt.status === null && timeoutMs < 24_000) continue;
      const interrupted = `the response was interrupted: no response within ${timeoutMs / 1000} s`;
      assert.deepEqual(seen(sent), [result, status, interrupted]);
      assert.match(sent.attempt.answer?.toString() ?? "", /^\.{2,}$/);
      assert.ok(sent.attempt.latencyMs < timeoutMs + 1_600);
      break;
    }
  }
});

test("reads 64 KiB and keeps 1 KiB of an endless response", LIMIT, async (t) => {
  let written = 0;
  const flood: Answer = (response) => {
    const chunk = Buffer.alloc(16_384, "x");
    const more = () => {
      while (!response.destroyed) {
        written += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", more);
      }
    };
    response.on("error", () => {});
    more();
  };
  const { sent } = await sendTo(t, flood);
  assert.deepEqual(seen(sent), ["delivered", 200, null]);
  assert.equal(sent.attempt.answer?.length, 1_024);
  assert.ok(written < 64 << 20, `${written} bytes were accepted`);
});

test("limits the size of headers", LIMIT, async (t) => {
  const { sent } = await sendTo(t, (_response, _received, { socket }) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    socket.write(`x: ${"y".repeat(100_000)}\r\n`);
  });
  assert.equal(sent.result, "again");
  assert.match(sent.attempt.error ?? "", /[Hh]eaders/);
});

/** Endless responses of which almost nothing counts as header or body. */
const ENDLESS = {
  "interim responses": ["", "HTTP/1.1 103 Early Hints\r\n\r\n"],
  "chunk extensions": ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", `1;${"x".repeat(8_000)}\r\na\r\n`],
  "chunks of one byte": ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\na\r\n"],
  trailers: ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "x: y\r\n"],
};

for (const [name, [begin, piece]] of Object.entries(ENDLESS) as [string, [string, string]][])
  test(`ends an attempt after 256 KiB of ${name}`, LIMIT, async (t) => {
    let written = 0;
    const flood: Answer = (_response, _received, { socket }) => {
      const chunk = Buffer.from(piece.repeat(Math.ceil(16_384 / piece.length)));
      socket.write(begin);
      const more = () => {
        while (!socket.destroyed) {
          written += chunk.length;
          if (!socket.write(chunk)) return void socket.once("drain", more);
        }
      };
      socket.on("error", () => {});
      more();
    };
    const { sent } = await sendTo(t, flood);
    assert.match(sent.attempt.error ?? "", /more than 256 KiB were received|[Hh]eaders/);
    assert.ok(sent.attempt.latencyMs < 5_000, `${sent.attempt.latencyMs} ms`);
    assert.ok(written < 32 << 20, `${written} bytes were accepted`);
  });

test("ends an attempt after 256 KiB of TLS records of one byte", LIMIT, async (t) => {
  const tiny: Answer = (_response, _received, { socket }) => {
    socket.on("error", () => {});
    // Each byte is a record, because it is written after the one before.
    const more = (error?: Error | null) => void (!error && !socket.destroyed && socket.write("\r", more));
    more();
  };
  const { sent } = await sendTo(t, tiny);
  assert.match(sent.attempt.error ?? "", /more than 256 KiB were received/);
  assert.ok(sent.attempt.latencyMs < 5_000, `${sent.attempt.latencyMs} ms`);
});

test("retries after a response that is not HTTP or an immediate close", LIMIT, async (t) => {
  const wrong: Answer[] = [
    (_response, _received, { socket }) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"),
    (_response, _received, { socket }) => socket.destroy(),
  ];
  for (const answer of wrong) {
    const { sent } = await sendTo(t, answer);
    assert.deepEqual([sent.result, sent.attempt.status], ["again", null]);
    assert.ok((sent.attempt.error ?? "").length > 5);
  }
});

test("retries after a refused connection", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates);
  await receiver.close();
  const sent = await send(claimFor(receiver.url), [BODY], allow(receiver.port), NEVER);
  assert.deepEqual([sent.result, sent.attempt.status], ["again", null]);
  assert.match(sent.attempt.error ?? "", /ECONNREFUSED/);
});

test("a peer without TLS times out", LIMIT, async (t) => {
  const silent = createServer((socket) => socket.on("error", () => {}).resume());
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  t.after(() => silent.close());
  const { port } = silent.address() as { port: number };
  const closed = new Promise((resolve) => silent.once("connection", (socket) => socket.once("close", resolve)));
  const sent = await send(claimFor(`https://127.0.0.1:${port}/`), [BODY], allow(port, { timeoutMs: 300 }), NEVER);
  assert.deepEqual(seen(sent), ["again", null, "no response within 0.3 s"]);
  await closed;
});

test("sends no request to a receiver with an untrusted or mismatching certificate", LIMIT, async (t) => {
  const other = makeCertificates("IP:127.0.0.2,DNS:other.example");
  for (const [own, ca, message] of [
    [certificates, null, /certificate/],
    [certificates, other.ca, /certificate/],
    [other, other.ca, /127\.0\.0\.1/],
  ] as const) {
    const receiver = await startReceiver(t, own);
    const sent = await send(
      claimFor(receiver.url),
      [BODY],
      allow(receiver.port, { post: threadedPost({ ca }) }),
      NEVER,
    );
    assert.deepEqual([sent.result, sent.attempt.status], ["again", null]);
    assert.match(sent.attempt.error ?? "", message);
    assert.equal(receiver.received.length, 0);
  }
});

test("requests the certificate by the name in the URL, not by the address", LIMIT, async (t) => {
  const named = makeCertificates("DNS:localhost");
  const receiver = await startReceiver(t, named);
  const allowed = [{ host: "localhost", port: receiver.port }];
  const options = allow(0, { allowed, post: threadedPost({ ca: named.ca }) });
  const sent = await send(claimFor(`https://localhost:${receiver.port}/a?b=c`), [BODY], options, NEVER);
  assert.deepEqual(seen(sent), ["delivered", 200, null]);
  assert.deepEqual(
    [receiver.received[0]?.path, receiver.received[0]?.headers.host],
    ["/a?b=c", `localhost:${receiver.port}`],
  );
  assert.equal(receiver.received[0]?.servername, "localhost", "receivers with several certificates select by name");
});

test("the environment cannot disable verification", LIMIT, async (t) => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  t.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
  const receiver = await startReceiver(t, certificates);
  const sent = await send(
    claimFor(receiver.url),
    [BODY],
    allow(receiver.port, { post: threadedPost({ ca: null }) }),
    NEVER,
  );
  assert.equal(sent.result, "again");
  assert.equal(receiver.received.length, 0);
});

test("sends nothing if the secret cannot be decrypted", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates);
  const claim = claimFor(receiver.url);
  const moved = { ...claim, endpoint: { ...claim.endpoint, id: randomUUID() } };
  const sent = await send(moved, [BODY], allow(receiver.port), NEVER);
  assert.equal(sent.result, "again", "a later attempt may have the right key");
  assert.match(sent.attempt.error ?? "", /cannot be signed.*another key file/);
  assert.equal(receiver.connections(), 0);
});

test("a post leaves no listener on its signal, and does nothing if it is aborted", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates);
  const { allowed } = allow(receiver.port);
  const trust = trustedAuthorities(certificates.ca);
  const { signal } = new AbortController();
  let lookUps = 0;
  const resolve = async () => {
    lookUps++;
    return ["127.0.0.1"];
  };
  const target = parseTarget(receiver.url, allowed);
  assert.equal(
    (await post({ method: "POST", target, headers: {}, body: [BODY] }, { trust, resolve, signal })).status,
    200,
  );
  while (getEventListeners(signal, "abort").length > 0) await sleep(10); // until the connection is closed
  const late = post(
    { method: "POST", target, headers: {}, body: [BODY] },
    { trust, resolve, signal: AbortSignal.abort(new Error("x")) },
  );
  await assert.rejects(late, /^Error: x$/);
  const open = { ...target, allowed: false };
  await assert.rejects(
    post({ method: "POST", target: open, headers: {}, body: [] }, { trust, resolve, signal: AbortSignal.abort() }),
  );
  assert.deepEqual([receiver.connections(), lookUps], [1, 0]);
});

test("throws when it is aborted during an attempt", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates, () => {});
  const stop = new AbortController();
  const sent = send(claimFor(receiver.url), [BODY], allow(receiver.port), stop.signal);
  await receiver.until(1);
  stop.abort(new Error("stopping"));
  await assert.rejects(sent, /^Error: stopping$/);
});

test("each attempt has its own timestamp and signature, and the same id", LIMIT, async (t) => {
  const receiver = await startReceiver(t, certificates);
  const claim = claimFor(receiver.url);
  let nowMs = Date.now();
  const options = allow(receiver.port, { now: () => nowMs });
  await send(claim, [BODY], options, NEVER);
  nowMs += 5_000;
  await send(claim, [BODY], options, NEVER);
  const [first, second] = receiver.received.map(({ headers }) => headers as Record<string, string>);
  assert.ok(first && second);
  assert.equal(first["webhook-id"], second["webhook-id"]);
  assert.equal(Number(second["webhook-timestamp"]) - Number(first["webhook-timestamp"]), 5);
  assert.notEqual(first["webhook-signature"], second["webhook-signature"]);
  for (const headers of [first, second]) new Webhook(claim.open).verify(BODY, headers);
});

test("limits the error text of a certificate, and names the option for an unknown authority", LIMIT, async (t) => {
  const many = makeCertificates(Array.from({ length: 500 }, (_, at) => `DNS:${"x".repeat(40)}${at}.example`).join(","));
  const receiver = await startReceiver(t, many);
  const allowed = [{ host: "localhost", port: receiver.port }];
  const send1 = (ca: string | null) =>
    send(
      claimFor(`https://localhost:${receiver.port}/`),
      [BODY],
      allow(0, { post: threadedPost({ ca }), allowed }),
      NEVER,
    );
  const long = await send1(many.ca);
  assert.match(long.attempt.error ?? "", /altnames/);
  assert.equal(long.attempt.error?.length, 500);
  const unknown = await send1(null);
  assert.match(unknown.attempt.error ?? "", /no known authority .*--webhook-ca FILE$/);
});

test("no receiver chooses the field in which keys are exchanged", LIMIT, async (t) => {
  const { ca, key, cert } = makeCertificates("IP:127.0.0.1", ["-newkey", "rsa:2048"]);
  const ciphers = "DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384";
  const server = createTlsServer({ key, cert, maxVersion: "TLSv1.2", ciphers, dhparam: "auto" });
  server.listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const claim = claimFor(`https://127.0.0.1:${port}/`);
  const sent = await send(claim, [BODY], allow(port, { post: threadedPost({ ca }) }), NEVER);
  assert.equal(sent.result, "again");
  assert.match(sent.attempt.error ?? "", /handshake failure/);
});

test("certificates of more than 32 KiB are not verified", LIMIT, async (t) => {
  const names = Array.from({ length: 3_000 }, (_, n) => `DNS:receiver-${n}.example`).join(",");
  const long = makeCertificates(`IP:127.0.0.1,${names}`);
  const receiver = await startReceiver(t, long, (response) => response.end());
  const options = allow(receiver.port, { post: threadedPost({ ca: long.ca }) });
  const sent = await send(claimFor(receiver.url), [BODY], options, NEVER);
  assert.deepEqual(seen(sent), ["again", null, "more than 32 KiB were received"]);
  assert.equal(receiver.received.length, 0);
});

test("an address that is not allowed is refused by the thread as well", LIMIT, async () => {
  const sent = await send(claimFor("https://10.0.0.1/"), [BODY], allow(0), NEVER);
  assert.equal(sent.result, "never");
  assert.match(sent.attempt.error ?? "", /10\.0\.0\.1/);
});

test("a receiver whose certificates are expensive delays the requests of its own account only", PATIENT, async (t) => {
  const hostile = await startReceiver(t, { ca: "", ...makeExpensiveCertificates(18) });
  const honest = await startReceiver(t, certificates);
  const post = threadedPost({ ca: certificates.ca });
  const enough = new AbortController();
  const sendTo = (receiver: typeof hostile, accountId: string) =>
    send({ ...claimFor(receiver.url), accountId }, [BODY], allow(receiver.port, { post }), enough.signal);
  let pending = 0;
  const attempts = Array.from({ length: 24 }, async () => {
    pending++;
    const { attempt } = await sendTo(hostile, "hostile");
    pending--;
    return attempt.error;
  });
  const sent = await sendTo(honest, "honest");
  assert.deepEqual(seen(sent), ["delivered", 200, null]);
  assert.ok(pending > 12, `${pending} of 24 attempts were pending`);
  assert.match((await Promise.race(attempts)) ?? "", /no known authority/);
  enough.abort(); // each attempt takes CPU time, and one of them shows what its receiver is
  await Promise.allSettled(attempts);
});

test("only threads that send have a low priority", LIMIT, async (t) => {
  const { sent } = await sendTo(t, (response) => response.end());
  assert.equal(sent.result, "delivered");
  const values = readdirSync("/proc/self/task").map(niceness);
  assert.deepEqual([...new Set(values)].toSorted(), [0, 5]);
  assert.equal(niceness(process.pid.toString()), 0);
});

/** The niceness of a thread of this process, the 19th field of its line. The name of the thread, in brackets, can have blanks. */
function niceness(thread: string): number {
  const line = readFileSync(`/proc/self/task/${thread}/stat`, "utf8");
  return Number(line.slice(line.lastIndexOf(")") + 2).split(" ")[16]);
}
