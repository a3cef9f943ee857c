import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { type TestContext, test } from "node:test";
import { dnsResolve, resolveLocal } from "../../../src/network/resolve.ts";
import { stopwatch } from "../../support/stopwatch.ts";

const A = 1;
const AAAA = 28;
const NO_SUCH_NAME = 3;
const REFUSED = 5;

/** A name server's answer to one query: addresses as bytes, an error code, or none. */
type Answers = (name: string, type: number) => readonly Buffer[] | number | null;

/** A real name server on loopback. @returns its resolver and the number of queries. */
async function nameServer(t: TestContext, answers: Answers) {
  const socket = createSocket("udp4");
  let queries = 0;
  socket.on("message", (query, { address, port }) => {
    queries++;
    const { name, end } = question(query);
    const type = query.readUInt16BE(end);
    const answer = answers(name, type);
    if (answer === null) return;
    const records = typeof answer === "number" ? [] : answer;
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | (typeof answer === "number" ? answer : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    const body = records.map((data) =>
      Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]), data]),
    );
    socket.send(Buffer.concat([head, query.subarray(12, end + 4), ...body]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  t.after(() => socket.close());
  return { resolve: dnsResolve([`127.0.0.1:${socket.address().port}`]), queries: () => queries };
}

function question(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString("latin1"));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}

const FOUR = Buffer.from([93, 184, 215, 14]);
const SIX = Buffer.from("26064700000000000000000000001111", "hex");

test("returns all addresses of both families", async (t) => {
  const { resolve } = await nameServer(t, (_, type) => (type === A ? [FOUR, Buffer.from([10, 0, 0, 1])] : [SIX]));
  const addresses = await resolve("hooks.example");
  assert.deepEqual(addresses.toSorted(), ["10.0.0.1", "2606:4700::1111", "93.184.215.14"]);
});

test("returns the other family if one is empty or fails", async (t) => {
  for (const missing of [[], REFUSED, NO_SUCH_NAME] as const) {
    const four = await nameServer(t, (_, type) => (type === A ? [FOUR] : missing));
    assert.deepEqual(await four.resolve("hooks.example"), ["93.184.215.14"]);
    const six = await nameServer(t, (_, type) => (type === AAAA ? [SIX] : missing));
    assert.deepEqual(await six.resolve("hooks.example"), ["2606:4700::1111"]);
  }
});

test("rejects a name without addresses with the reason", async (t) => {
  const { resolve } = await nameServer(t, (name) => (name === "gone.example" ? NO_SUCH_NAME : []));
  await assert.rejects(resolve("gone.example"), /^Error: DNS: gone\.example not found$/);
  await assert.rejects(resolve("empty.example"), /^Error: DNS: empty\.example not found$/);
});

test("does not use /etc/hosts", async (t) => {
  const { resolve, queries } = await nameServer(t, () => NO_SUCH_NAME);
  await assert.rejects(resolve("localhost.localdomain"), /not found/);
  assert.ok(queries() > 0);
});

test("cancels queries to a silent server with the attempt", async (t) => {
  const { resolve } = await nameServer(t, () => null);
  const abort = new AbortController();
  const tookMs = stopwatch();
  setTimeout(() => abort.abort(), 100);
  await assert.rejects(resolve("silent.example", abort.signal), /ECANCELLED/);
  assert.ok(tookMs() < 2_000);
});

test("makes no query for an aborted attempt", async (t) => {
  const { resolve, queries } = await nameServer(t, () => [FOUR]);
  await assert.rejects(resolve("late.example", AbortSignal.abort(new Error("over"))), /^Error: over$/);
  assert.equal(queries(), 0);
});

test("resolves allowed receivers with the machine's resolver", async () => {
  assert.deepEqual(await resolveLocal("127.0.0.1"), ["127.0.0.1"]);
  assert.deepEqual(await resolveLocal("localhost"), ["127.0.0.1", "::1"], "must work without /etc/hosts");
});
