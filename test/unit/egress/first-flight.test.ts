import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { connect } from "node:tls";
import fc from "fast-check";
import { type FlightCheck, flightCheck, MAX_HELD_BYTES, serverName } from "../../../src/egress/first-flight.ts";

const NAME = "api.example.com";

/** The first bytes that a real TLS client sends. */
async function clientHello(servername: string | undefined): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const wire = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      resolve(chunk);
      done();
    },
  });
  const socket = connect({ socket: wire, ...(servername !== undefined && { servername }), host: "192.0.2.1" });
  socket.on("error", () => {});
  const hello = await promise;
  socket.destroy();
  return hello;
}

const HELLO = await clientHello(NAME);

/** The same message in records of at most `size` bytes. */
function inRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const fragment = message.subarray(at, at + size);
    records.push(Buffer.of(22, 3, 1, fragment.length >> 8, fragment.length & 255), fragment);
  }
  return Buffer.concat(records);
}

/** Pushes bytes in chunks. @returns what was forwarded, and the reason of a refusal. */
function push(
  check: FlightCheck,
  bytes: Buffer,
  size = bytes.length,
): { readonly forwarded: Buffer; readonly refused: string | null } {
  const forwarded: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const flight = check.push(Buffer.from(bytes.subarray(at, at + size)));
    if ("refused" in flight) return { forwarded: Buffer.concat(forwarded), refused: flight.refused };
    forwarded.push(flight.forward);
  }
  return { forwarded: Buffer.concat(forwarded), refused: null };
}

function check(port: 80 | 443, name = NAME): FlightCheck {
  const found = flightCheck(name, port);
  assert.ok(found);
  return found;
}

test("only ports of protocols in which the client names a host first have a check", () => {
  for (const port of [22, 25, 53, 81, 444, 5432, 8443]) assert.equal(flightCheck(NAME, port), null);
});

test("forwards a ClientHello with the right name, in chunks and records of every size", () => {
  const later = Buffer.from("anything");
  for (const record of [1, 2, 3, 4, 5, 100, 16_384]) {
    const bytes = Buffer.concat([inRecords(HELLO, record), later]);
    for (const chunk of [1, 3, 5, 7, 64, bytes.length]) {
      const tls = check(443);
      assert.equal(tls.awaited, 0);
      assert.deepEqual(
        push(tls, bytes, chunk),
        { forwarded: bytes, refused: null },
        `records of ${record}, chunks of ${chunk}`,
      );
      assert.equal(tls.awaited, null);
    }
  }
});

test("holds everything until the name is known", () => {
  const tls = check(443);
  for (const byte of HELLO.subarray(0, -1)) assert.deepEqual(tls.push(Buffer.of(byte)), { forward: Buffer.alloc(0) });
  assert.equal(tls.awaited, 0);
  assert.deepEqual(tls.push(HELLO.subarray(-1)), { forward: HELLO });
});

test("refuses another name, and none", async () => {
  assert.deepEqual(push(check(443), await clientHello("evil.example.org")), {
    forwarded: Buffer.alloc(0),
    refused: "the connection to api.example.com asks for evil.example.org in its TLS server name",
  });
  assert.match(push(check(443), await clientHello(undefined)).refused ?? "", /has no TLS server name/);
  for (const name of ["example.com", "x.api.example.com", "api.example.com.evil.test", "api.example.co"])
    assert.match(push(check(443), await clientHello(name)).refused ?? "", /asks for/, name);
  assert.equal(push(check(443), await clientHello("API.Example.COM")).refused, null);
});

/** Replaces the name in a hello by another one of the same length. */
function renamed(name: string): Buffer {
  const bytes = Buffer.from(HELLO);
  bytes.write(name, bytes.indexOf(NAME), "latin1");
  return bytes;
}

test("a name with other bytes is another name, and is not repeated in the reason", () => {
  for (const name of ["api.example.co\0", "api.example.c\xefm", "api example.com", "api.example.co."])
    assert.match(push(check(443), renamed(name)).refused ?? "", /asks for something that is not the name of a host/);
});

/** A ClientHello with these extensions. */
function withExtensions(...extensions: readonly (readonly [number, Buffer])[]): Buffer {
  const vector = (bytes: number, content: Buffer) => {
    const length = Buffer.alloc(bytes);
    length.writeUIntBE(content.length, 0, bytes);
    return Buffer.concat([length, content]);
  };
  const encoded = extensions.map(([type, content]) =>
    Buffer.concat([Buffer.of(type >> 8, type & 255), vector(2, content)]),
  );
  const body = Buffer.concat([
    Buffer.of(3, 3),
    Buffer.alloc(32),
    vector(1, Buffer.alloc(0)),
    vector(2, Buffer.of(19, 1)),
    vector(1, Buffer.of(0)),
    vector(2, Buffer.concat(encoded)),
  ]);
  const message = Buffer.concat([Buffer.of(1), vector(3, body)]);
  return Buffer.concat([Buffer.of(22, 3, 1), vector(2, message)]);
}

function sni(...names: readonly (readonly [number, string])[]): readonly [number, Buffer] {
  const list = Buffer.concat(
    names.map(([type, name]) =>
      Buffer.concat([Buffer.of(type, name.length >> 8, name.length & 255), Buffer.from(name, "latin1")]),
    ),
  );
  return [0, Buffer.concat([Buffer.of(list.length >> 8, list.length & 255), list])];
}

test("a ClientHello that can be read in two ways is refused", () => {
  assert.equal(push(check(443), withExtensions(sni([0, NAME]))).refused, null);
  assert.equal(
    push(check(443), withExtensions([0xfe0d, Buffer.alloc(8)], sni([0, NAME]))).refused,
    null,
    "GREASE of ECH",
  );
  const wrong = [
    withExtensions(sni([0, NAME]), sni([0, "evil.example.org"])),
    withExtensions(sni([0, "evil.example.org"]), sni([0, NAME])),
    withExtensions(sni([0, NAME], [0, "evil.example.org"])),
    withExtensions(sni([0, NAME], [1, "evil.example.org"])),
    withExtensions(sni([1, NAME])),
    withExtensions(sni([0, ""])),
    withExtensions(sni()),
    withExtensions([0, Buffer.alloc(0)]),
    withExtensions([0, Buffer.concat([sni([0, NAME])[1], Buffer.of(0)])]),
  ];
  for (const [at, hello] of wrong.entries())
    assert.match(push(check(443), hello).refused ?? "", /complete TLS ClientHello/, `${at}`);
  assert.match(push(check(443), withExtensions()).refused ?? "", /has no TLS server name/);
});

test("whatever does not begin a ClientHello is refused at once", () => {
  const firsts: readonly (string | Buffer)[] = [
    "GET / HTTP/1.1\r\n",
    "SSH-2.0-x\r\n",
    "\0",
    Buffer.of(22, 2),
    Buffer.of(23, 3, 3, 0, 1),
    Buffer.of(21, 3, 1, 0, 2),
    Buffer.of(22, 3, 1, 0, 0),
    Buffer.of(22, 3, 1, 255, 255),
    Buffer.of(0x80, 0x2e, 1, 3, 1),
    Buffer.of(22, 3, 1, 0, 4, 2, 0, 0, 0),
    Buffer.of(22, 3, 1, 0, 4, 1, 255, 255, 255),
  ];
  for (const first of firsts)
    assert.match(
      push(check(443), Buffer.from(first)).refused ?? "",
      /does not begin with a complete TLS ClientHello/,
      first.toString("latin1"),
    );
});

test("a ClientHello may have 16 KiB", () => {
  const padding = (bytes: number) => withExtensions(sni([0, NAME]), [21, Buffer.alloc(bytes)]);
  const fixed = padding(0).length;
  const largest = padding(MAX_HELD_BYTES - fixed);
  assert.equal(largest.length, MAX_HELD_BYTES);
  assert.equal(push(check(443), largest, 1_000).refused, null);
  const larger = inRecords(padding(MAX_HELD_BYTES - fixed + 10), 4_000);
  for (const size of [1_000, larger.length])
    assert.match(push(check(443), larger, size).refused ?? "", /complete TLS ClientHello/);
});

test("any bytes on port 443 are held, forwarded or refused, with bounded memory", () => {
  const mutated = fc
    .tuple(
      fc.array(fc.tuple(fc.nat(HELLO.length - 1), fc.nat(255)), { maxLength: 4 }),
      fc.integer({ min: 1, max: 400 }),
    )
    .map(([changes, record]) => {
      const bytes = Buffer.from(HELLO);
      for (const [at, value] of changes) bytes[at] = value;
      return bytes[0] === 22 ? inRecords(bytes, record) : bytes;
    });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
        mutated,
      ),
      fc.integer({ min: 1, max: 500 }),
      (bytes, size) => {
        const whole = serverName(bytes);
        const { forwarded, refused } = push(check(443), bytes, size);
        if (forwarded.length > 0) {
          assert.ok("serverName" in whole && whole.serverName === NAME, "forwarded something else");
          assert.deepEqual(forwarded, bytes);
        } else if (refused === null)
          assert.ok("needed" in whole && whole.needed > bytes.length && whole.needed <= MAX_HELD_BYTES + 5);
      },
    ),
    { numRuns: 3_000 },
  );
});

const get = (host: string, path = "/", more = "") => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;

/** Requests that are forwarded as they are. */
const ALLOWED: readonly (readonly [string, string])[] = [
  ["a request", get(NAME)],
  ["upper case", get("API.example.COM")],
  ["the port", get(`${NAME}:80`)],
  ["HTTP/1.0 with a Host", `GET / HTTP/1.0\r\nhost:${NAME}\r\n\r\n`],
  ["many requests", get(NAME, "/1") + get(NAME, "/2") + get(NAME, "/3")],
  ["the form for proxies", get(NAME, `http://${NAME}/x?y`)],
  ["OPTIONS *", `OPTIONS * HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`],
  ["a body", `POST / HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 18\r\n\r\nGET / HTTP/1.1\r\n\r\n${get(NAME)}`],
  ["an empty body", `POST / HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 0\r\n\r\n${get(NAME)}`],
  [
    "a body in chunks",
    `POST / HTTP/1.1\r\nHost: ${NAME}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n${get(NAME)}`,
  ],
  [
    "an upgrade to HTTP/2 that is not answered",
    get(NAME, "/", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n") + get(NAME),
  ],
];

for (const [what, request] of ALLOWED) {
  test(`port 80 forwards ${what}, in chunks of every size`, () => {
    const bytes = Buffer.from(request, "latin1");
    for (const size of [1, 2, 3, 7, 50, bytes.length]) {
      const http = check(80);
      assert.deepEqual(push(http, bytes, size), { forwarded: bytes, refused: null });
      assert.equal(http.awaited, null);
    }
  });
}

const EVIL = "evil.example.org";
const TWO = /asks for evil\.example\.org in its HTTP header Host/;

/** Requests after which nothing more is forwarded, how many of their bytes are, and a part of the reason. */
const REFUSED: readonly (readonly [string, string, number, RegExp])[] = [
  ["another host", get(EVIL), 0, TWO],
  ["another host in a later request", get(NAME) + get(EVIL), get(NAME).length, TWO],
  [
    "another host after a body",
    `POST / HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 2\r\n\r\nxx${get(EVIL)}`,
    -get(EVIL).length,
    TWO,
  ],
  [
    "another host after chunks",
    `POST / HTTP/1.1\r\nHost: ${NAME}\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n${get(EVIL)}`,
    -get(EVIL).length,
    TWO,
  ],
  [
    "another host after an upgrade to something else",
    get(NAME, "/", "Upgrade: h2c\r\n") + get(EVIL),
    -get(EVIL).length,
    TWO,
  ],
  [
    "another host after a second request for a WebSocket",
    get(NAME) + get(NAME, "/", "Upgrade: websocket\r\n") + get(EVIL),
    -get(EVIL).length,
    TWO,
  ],
  ["no host", "GET / HTTP/1.1\r\n\r\n", 0, /has no HTTP header Host/],
  ["HTTP/1.0 without a host", "GET / HTTP/1.0\r\n\r\n", 0, /has no HTTP header Host/],
  ["an empty host", get(""), 0, /asks for something/],
  ["two hosts", get(NAME, "/", `Host: ${NAME}\r\n`), 0, /header Host/],
  ["two different hosts", get(NAME, "/", `Host: ${EVIL}\r\n`), 0, /header Host/],
  ["another port", get(`${NAME}:8080`), 0, /header Host/],
  ["a host with a final dot", get(`${NAME}.`), 0, /header Host/],
  ["a host with a user", get(`x@${NAME}`), 0, /header Host/],
  ["a list of hosts", get(`${NAME}, ${EVIL}`), 0, /header Host/],
  ["a space before the colon", `GET / HTTP/1.1\r\nHost : ${EVIL}\r\nHost: ${NAME}\r\n\r\n`, 0, /something else/],
  ["a folded header", `GET / HTTP/1.1\r\nHost: ${NAME}\r\n Host: ${EVIL}\r\n\r\n`, 0, /something else/],
  ["another host in the form for proxies", get(NAME, `http://${EVIL}/`), 0, /something else than a path/],
  ["a user in the form for proxies", get(NAME, `http://${NAME}@${EVIL}/`), 0, /something else than a path/],
  ["https in the form for proxies", get(NAME, `https://${NAME}/`), 0, /something else than a path/],
  ["a tunnel", `CONNECT ${EVIL}:443 HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`, 0, /something else than a path/],
  ["a tunnel to a path", `CONNECT / HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`, 0, /asks for a tunnel/],
  ["line ends without CR", `GET / HTTP/1.1\nHost: ${NAME}\n\n${"x".repeat(20_000)}`, 0, /too long/],
  [
    "a line end without CR within a head",
    `GET / HTTP/1.1\r\nX: y\nHost: ${EVIL}\r\nHost: ${NAME}\r\n\r\n`,
    0,
    /something else/,
  ],
  ["a CR without LF", `GET / HTTP/1.1\r\nX: y\rHost: ${EVIL}\r\nHost: ${NAME}\r\n\r\n`, 0, /something else/],
  ["an empty line before the request", `\r\n${get(NAME)}`, 0, /something else/],
  ["HTTP/0.9", "GET /\r\n\r\n", 0, /something else/],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, /something else/],
  ["another protocol", `SSH-2.0-client\r\n${"x".repeat(20_000)}`, 0, /too long/],
  ["TLS", `${HELLO.toString("latin1")}${"x".repeat(20_000)}`, 0, /too long|something else/],
  ["a head of more than 16 KiB", get(NAME, "/", `X: ${"x".repeat(MAX_HELD_BYTES)}\r\n`), 0, /too long/],
  ["two lengths", get(NAME, "/", "Content-Length: 1\r\nContent-Length: 2\r\n"), 0, /length is not certain/],
  ["two equal lengths", get(NAME, "/", "Content-Length: 1\r\nContent-Length: 1\r\n"), 0, /length is not certain/],
  ["a list of lengths", get(NAME, "/", "Content-Length: 1, 1\r\n"), 0, /length is not certain/],
  ["a length with a sign", get(NAME, "/", "Content-Length: +1\r\n"), 0, /length is not certain/],
  ["a hexadecimal length", get(NAME, "/", "Content-Length: 0x1\r\n"), 0, /length is not certain/],
  ["a length of 16 digits", get(NAME, "/", "Content-Length: 9999999999999999\r\n"), 0, /length is not certain/],
  [
    "a length and chunks",
    get(NAME, "/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
    0,
    /length is not certain/,
  ],
  [
    "two encodings",
    get(NAME, "/", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
    0,
    /length is not certain/,
  ],
  ["another encoding", get(NAME, "/", "Transfer-Encoding: gzip, chunked\r\n"), 0, /length is not certain/],
  ["an unknown encoding", get(NAME, "/", "Transfer-Encoding: xchunked\r\n"), 0, /length is not certain/],
  [
    "chunks in HTTP/1.0",
    `POST / HTTP/1.0\r\nHost: ${NAME}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    0,
    /length is not certain/,
  ],
  [
    "a chunk size that is not a number",
    `POST / HTTP/1.1\r\nHost: ${NAME}\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n`,
    -4,
    /chunks that is not valid/,
  ],
  [
    "a chunk size that is too long",
    `POST / HTTP/1.1\r\nHost: ${NAME}\r\nTransfer-Encoding: chunked\r\n\r\n${"0".repeat(13)}\r\n`,
    -15,
    /chunks that is not valid/,
  ],
  [
    "a chunk that is longer than its size",
    `POST / HTTP/1.1\r\nHost: ${NAME}\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz`,
    -2,
    /too long|not valid/,
  ],
  [
    "a trailer that is not a header",
    `POST / HTTP/1.1\r\nHost: ${NAME}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nxyz\r\n`,
    -5,
    /header that is not valid/,
  ],
];

for (const [what, request, forwardedBytes, reason] of REFUSED) {
  test(`port 80 refuses ${what}`, () => {
    const bytes = Buffer.from(request, "latin1");
    const expected = bytes.subarray(0, forwardedBytes >= 0 ? forwardedBytes : bytes.length + forwardedBytes);
    for (const size of [1, 10, bytes.length]) {
      const { forwarded, refused } = push(check(80), bytes, size);
      assert.match(refused ?? "not refused", reason);
      assert.ok(expected.subarray(0, forwarded.length).equals(forwarded), "forwarded something else");
      if (size === 1) assert.equal(forwarded.length, expected.length);
    }
  });
}

test("after the response to the first request for a WebSocket, everything is forwarded", () => {
  const request = Buffer.from(get(NAME, "/", "Connection: Upgrade\r\nUpgrade: WebSocket\r\n"));
  const frames = Buffer.of(0x81, 0x85, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  for (const size of [1, 5, 100]) {
    const http = check(80);
    assert.deepEqual(push(http, request, size).forwarded, request);
    assert.deepEqual(http.push(frames), { forward: Buffer.alloc(0) }, "held until the response is known");
    const response = Buffer.from("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    const released: Buffer[] = [];
    for (let at = 0; at < response.length; at += size) {
      const flight = http.answered(response.subarray(at, at + size));
      if ("forward" in flight) released.push(flight.forward);
    }
    assert.deepEqual(Buffer.concat(released), frames);
    assert.deepEqual(push(http, Buffer.from(get(EVIL))).refused, null);
  }
});

test("after another response to a request for a WebSocket, requests are checked", () => {
  for (const response of [
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 x\r\n\r\n",
    "HTTP/1.0 101 x\r\n\r\n",
    "HTTP/1.1 1010\r\n\r\n",
  ]) {
    const http = check(80);
    push(http, Buffer.from(get(NAME, "/", "Upgrade: websocket\r\n") + get(EVIL)));
    const flight = http.answered(Buffer.from(response));
    assert.match("refused" in flight ? flight.refused : "", TWO, response);
  }
  const flooding = check(80);
  assert.match(
    push(flooding, Buffer.from(get(NAME, "/", "Upgrade: websocket\r\n") + "x".repeat(MAX_HELD_BYTES + 1)), 1_000)
      .refused ?? "",
    /before the response/,
  );
  const early = check(80);
  early.answered(Buffer.from("HTTP/1.1 101 x\r\n\r\n"));
  assert.match(
    push(early, Buffer.from(get(NAME, "/", "Upgrade: websocket\r\n") + get(EVIL))).refused ?? "",
    TWO,
    "a response that came before the request",
  );
});

test("the part that is awaited changes with each part that is complete", () => {
  const http = check(80);
  assert.equal(http.awaited, 0, "the first request");
  push(http, Buffer.from(get(NAME)));
  assert.equal(http.awaited, null, "a client may wait between requests");
  const seen = new Set<number | null>();
  for (let at = 0; at < 5; at++) {
    push(http, Buffer.from(`${at === 0 ? "" : get(NAME).slice(10)}${get(NAME).slice(0, 10)}`));
    seen.add(http.awaited);
  }
  assert.equal(seen.size, 5);
  assert.ok(!seen.has(null));
});

test("a long body is not copied", () => {
  const http = check(80);
  push(http, Buffer.from(`POST / HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 1000000\r\n\r\n`));
  const chunk = Buffer.alloc(65_536);
  const flight = http.push(chunk);
  assert.ok("forward" in flight && flight.forward === chunk);
});

test("any bytes on port 80 are forwarded in order and only as far as they are checked", () => {
  const part = fc.constantFrom(
    get(NAME),
    get(EVIL),
    "\r\n",
    "\n",
    "\r",
    "GET / HTTP/1.1\r\n",
    `Host: ${NAME}\r\n`,
    `Host: ${EVIL}\r\n`,
    "Content-Length: 3\r\n",
    "Transfer-Encoding: chunked\r\n",
    "3\r\nabc\r\n",
    "0\r\n\r\n",
    "abc",
    " ",
    "\0",
    ":",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), fc.integer({ min: 1, max: 80 }), (parts, size) => {
      const bytes = Buffer.from(parts.join(""), "latin1");
      const { forwarded } = push(check(80), bytes, size);
      assert.ok(bytes.subarray(0, forwarded.length).equals(forwarded));
      assert.ok(!forwarded.toString("latin1").startsWith(get(EVIL)));
      const whole = push(check(80), bytes);
      assert.equal(
        whole.refused === null ? whole.forwarded.length : forwarded.length,
        forwarded.length,
        "depends on the chunks",
      );
    }),
    { numRuns: 3_000 },
  );
});
