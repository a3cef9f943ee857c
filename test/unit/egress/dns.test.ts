import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { test } from "node:test";
import fc from "fast-check";
import { answerQuery, DnsStream, framed, MAX_QUERY_BYTES, MAX_RESPONSE_BYTES } from "../../../src/egress/dns.ts";
import { type DnsMessage, dnsMessage, dnsQuery, type QueryOptions, TYPES } from "../../support/egress/dns.ts";

const ADDRESSES = { v4: [198, 18, 1, 0], v6: [0xfd, 0, 0xa5, 0x5a, ...Array(10).fill(0), 1, 0] };
const REFUSED = "is not allowed by the policy of this sandbox";
const lookUp = (name: string) => (name === "api.example.com" ? ADDRESSES : { refused: `${name} ${REFUSED}` });

function ask(name: string, type: number, options: QueryOptions = {}) {
  const { response, outcome } = answerQuery(dnsQuery(name, type, options), lookUp);
  assert.ok(response, "no response");
  return { message: dnsMessage(response), outcome, bytes: response.length };
}

test("answers A and AAAA of an allowed name with its addresses", () => {
  for (const [type, data] of [
    [TYPES.A, ADDRESSES.v4],
    [TYPES.AAAA, ADDRESSES.v6],
  ] as const) {
    const { message, outcome } = ask("api.example.com", type, { id: 0xbeef, ednsBytes: 4096 });
    assert.equal(message.id, 0xbeef);
    assert.equal(message.rcode, 0);
    assert.equal(message.flags & 0x8380, 0x8180, "a response, recursion desired and available, not truncated");
    assert.deepEqual(message.question, { name: "api.example.com", type, cls: 1 });
    assert.deepEqual(message.answers, [{ name: "api.example.com", type, cls: 1, ttl: 60, data: Buffer.from(data) }]);
    assert.deepEqual(
      message.additional.map((record) => record.type),
      [TYPES.OPT],
    );
    assert.deepEqual(outcome, { kind: "answered", name: "api.example.com" });
  }
});

test("repeats the question byte for byte, and has EDNS only if the client has it", () => {
  const { message, outcome } = ask("aPi.ExAmPlE.cOm", TYPES.A);
  assert.equal(message.question?.name, "aPi.ExAmPlE.cOm");
  assert.equal(message.answers[0]?.name, "aPi.ExAmPlE.cOm");
  assert.deepEqual(message.additional, []);
  assert.deepEqual(outcome, { kind: "answered", name: "api.example.com" });
});

test("an allowed name has no records of other types", () => {
  for (const type of [
    TYPES.HTTPS,
    TYPES.SVCB,
    TYPES.MX,
    TYPES.TXT,
    TYPES.NS,
    TYPES.SOA,
    TYPES.PTR,
    TYPES.AXFR,
    TYPES.ANY,
    0,
    65_535,
  ]) {
    const { message } = ask("api.example.com", type);
    assert.equal(message.rcode, 0, `type ${type}`);
    assert.deepEqual(message.answers, []);
    assert.deepEqual(
      message.authorities.map((record) => [record.name, record.type]),
      [["", TYPES.SOA]],
    );
  }
});

test("another name does not exist, and a client with EDNS gets the reason", () => {
  for (const type of [TYPES.A, TYPES.AAAA, TYPES.TXT, TYPES.HTTPS]) {
    const { message, outcome } = ask("Evil.example.org", type, { ednsBytes: 1232 });
    assert.equal(message.rcode, 3);
    assert.deepEqual(message.answers, []);
    assert.equal(message.authorities[0]?.type, TYPES.SOA);
    assert.deepEqual(message.error, { code: 15, text: `evil.example.org ${REFUSED}` });
    assert.deepEqual(outcome, { kind: "refused", name: "evil.example.org", reason: `evil.example.org ${REFUSED}` });
  }
  const { message } = ask("evil.example.org", TYPES.A);
  assert.equal(message.rcode, 3);
  assert.deepEqual(message.additional, []);
});

test("what is not the name of a host is never looked up", () => {
  const asked: string[] = [];
  for (const name of [
    "",
    "com",
    "localhost",
    "a b.example.com",
    "api\0.example.com",
    "*.example.com",
    "-a.example.com",
    "\xe4.example.com",
    "1.0.0.127",
  ]) {
    const { response, outcome } = answerQuery(dnsQuery(name, TYPES.A), (looked) => {
      asked.push(looked);
      return ADDRESSES;
    });
    assert.equal(dnsMessage(response ?? Buffer.alloc(0)).rcode, 3, JSON.stringify(name));
    assert.ok(outcome.kind === "refused" && /^[\x21-\x7e]*$/.test(outcome.name), JSON.stringify(outcome));
  }
  const dotted = dnsQuery("api!example.com", TYPES.A);
  dotted[dotted.indexOf("!")] = ".".charCodeAt(0);
  assert.equal(dnsMessage(answerQuery(dotted, lookUp).response ?? Buffer.alloc(0)).rcode, 3, "a dot within a label");
  assert.deepEqual(asked, []);
});

test("a response fits into what the client takes", () => {
  const long = `${`${"a".repeat(62)}.`.repeat(3)}${"b".repeat(61)}.x`;
  for (const ednsBytes of [undefined, 0, 100, 512, 65_535]) {
    const { message, bytes } = ask(long, TYPES.A, ednsBytes === undefined ? {} : { ednsBytes });
    assert.equal(message.rcode, 3);
    assert.ok(bytes <= Math.min(Math.max(ednsBytes ?? 0, 512), MAX_RESPONSE_BYTES), `${bytes} bytes`);
  }
});

/** Messages, and the code of the response; null if there is none. */
const q = dnsQuery("api.example.com", TYPES.A);
const changed = (at: number, ...bytes: number[]) =>
  Buffer.concat([q.subarray(0, at), Buffer.from(bytes), q.subarray(at + bytes.length)]);
const WRONG: readonly (readonly [string, Buffer, number | null])[] = [
  ["nothing", Buffer.alloc(0), null],
  ["half of a header", q.subarray(0, 11), null],
  ["a response", changed(2, 0x81), null],
  ["a message that is too long", Buffer.concat([q, Buffer.alloc(MAX_QUERY_BYTES)]), null],
  ["only a header", q.subarray(0, 12), 1],
  ["an update", changed(2, 5 << 3), 4],
  ["a status query", changed(2, 2 << 3), 4],
  ["no question", changed(4, 0, 0), 1],
  ["two questions", changed(4, 0, 2), 1],
  ["65,535 questions", changed(4, 255, 255), 1],
  ["an answer", changed(6, 0, 1), 1],
  ["65,535 additional records", changed(10, 255, 255), 1],
  ["an additional record that is missing", changed(10, 0, 1), 1],
  ["a question that is cut", q.subarray(0, -1), 1],
  ["a name that is cut", q.subarray(0, 20), 1],
  ["further bytes", Buffer.concat([q, Buffer.of(0)]), 1],
  ["a pointer to itself", Buffer.concat([q.subarray(0, 12), Buffer.of(0xc0, 12, 0, 1, 0, 1)]), 1],
  ["a pointer to the header", Buffer.concat([q.subarray(0, 12), Buffer.of(0xc0, 0, 0, 1, 0, 1)]), 1],
  [
    "a label of 64 bytes",
    Buffer.concat([q.subarray(0, 12), Buffer.of(64), Buffer.alloc(64, 97), Buffer.of(0, 0, 1, 0, 1)]),
    1,
  ],
  ["a name of 256 bytes", dnsQuery(`${`${"a".repeat(63)}.`.repeat(3)}${"a".repeat(62)}.a`, TYPES.A), 1],
  ["another class", dnsQuery("api.example.com", TYPES.A, { cls: 3 }), 5],
  ["EDNS of a later version", dnsQuery("api.example.com", TYPES.A, { ednsBytes: 512, ednsVersion: 1 }), 16],
  [
    "EDNS with options that are cut",
    Buffer.concat([dnsQuery("api.example.com", TYPES.A, { ednsBytes: 512 }).subarray(0, -1), Buffer.of(9)]),
    1,
  ],
];

for (const [what, message, rcode] of WRONG) {
  test(`${what} gets ${rcode === null ? "no response" : `the code ${rcode}`}`, () => {
    const { response, outcome } = answerQuery(message, () => assert.fail("looked up"));
    assert.equal(response && dnsMessage(response).rcode, rcode);
    assert.deepEqual(outcome, { kind: "invalid" });
  });
}

test("a real resolver understands the answers, and fails at once without an address", async (t) => {
  const socket = createSocket("udp4");
  let queries = 0;
  socket.on("message", (query, { address, port }) => {
    queries++;
    const { response } = answerQuery(query, lookUp);
    if (response) socket.send(response, port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  t.after(() => socket.close());
  const resolver = new Resolver({ tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  assert.deepEqual(await resolver.resolve4("api.example.com", { ttl: true }), [{ address: "198.18.1.0", ttl: 60 }]);
  assert.deepEqual(await resolver.resolve6("API.example.com"), ["fd00:a55a::100"]);
  await assert.rejects(resolver.resolveMx("api.example.com"), { code: "ENODATA" });
  await assert.rejects(resolver.resolve4("evil.example.org"), { code: "ENOTFOUND" });
  await assert.rejects(resolver.reverse("198.18.1.0"), { code: "ENOTFOUND" });
  assert.equal(queries, 5, "each is asked for once");
});

test("any bytes are answered or dropped", () => {
  const query = fc.record({
    name: fc.constantFrom("api.example.com", "evil.example.org", "", "a.b"),
    type: fc.nat(65_535),
    edns: fc.boolean(),
  });
  const mutated = fc
    .tuple(query, fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 4 }), fc.nat(60))
    .map(([{ name, type, edns }, changes, cut]) => {
      const bytes = dnsQuery(name, type, edns ? { ednsBytes: 1232 } : {});
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
      return bytes.subarray(0, cut > 50 ? undefined : bytes.length - (cut >> 3));
    });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
        mutated,
      ),
      (bytes) => {
        const before = Buffer.from(bytes);
        let lookedUp = 0;
        const { response } = answerQuery(bytes, (name) => {
          lookedUp++;
          return lookUp(name);
        });
        assert.ok(lookedUp <= 1);
        assert.deepEqual(bytes, before, "the query was changed");
        if (!response) return;
        const message: DnsMessage = dnsMessage(response);
        assert.equal(message.id, bytes.readUInt16BE(0));
        assert.ok(response.length <= MAX_RESPONSE_BYTES);
        for (const { data } of message.answers)
          assert.ok(data.equals(Buffer.from(ADDRESSES.v4)) || data.equals(Buffer.from(ADDRESSES.v6)));
      },
    ),
    { numRuns: 5_000 },
  );
});

test("splits a TCP connection into messages, however it arrives", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 12, maxLength: 40 }), { maxLength: 4 }),
      fc.integer({ min: 1, max: 60 }),
      (messages, size) => {
        const bytes = Buffer.concat(messages.map((message) => framed(Buffer.from(message))));
        const stream = new DnsStream();
        const found: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += size) {
          stream.push(bytes.subarray(at, at + size));
          for (let message = stream.next(); message; message = stream.next()) found.push(message);
        }
        assert.deepEqual(
          found,
          messages.map((message) => Buffer.from(message)),
        );
        assert.equal(stream.next(), undefined);
      },
    ),
  );
  for (const length of [0, 11, MAX_QUERY_BYTES + 1, 65_535]) {
    const stream = new DnsStream();
    stream.push(Buffer.of(length >> 8, length & 255));
    assert.equal(stream.next(), null);
  }
});
