import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import { Refusals } from "../../../src/http/access/refusals.ts";
import { startHttp } from "../../support/http/running.ts";

const REFUSED = { statusCode: 401 };

test("logs one line a second per rejected client with its address, and the next line counts the unlogged requests", () => {
  let now = 0;
  const refusals = new Refusals(() => now);
  assert.deepEqual(refusals.logFields({ ip: "192.0.2.1" }, REFUSED), { address: "192.0.2.1" });
  for (let at = 0; at < 9; at++) assert.equal(refusals.logFields({ ip: "192.0.2.1" }, { statusCode: 429 }), null);
  assert.deepEqual(refusals.logFields({ ip: "192.0.2.1" }, { statusCode: 200 }), {});
  assert.deepEqual(refusals.logFields({ ip: "192.0.2.2" }, { statusCode: 403 }), { address: "192.0.2.2" });
  now = 1_000;
  assert.deepEqual(refusals.logFields({ ip: "192.0.2.1" }, REFUSED), { address: "192.0.2.1", unlogged: 9 });
});

test("many addresses cannot fill the log, and unlogged requests are counted", () => {
  let now = 0;
  const refusals = new Refusals(() => now);
  const lines = () =>
    Array.from({ length: 40_000 }, (_, n) =>
      refusals.logFields({ ip: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` }, REFUSED),
    );
  assert.equal(lines().filter((line) => line !== null).length, 50);
  now = 1_000;
  const [first] = lines();
  assert.equal((first as { unloggedElsewhere?: number }).unloggedElsewhere, 40_000 - 50);
});

test("every refused request of a client without a key or session is limited, and those of others are not", () => {
  const refusals = new Refusals(() => 0);
  const ip = "192.0.2.1";
  const of = (statusCode: number, known = {}) => refusals.logFields({ ip, ...known }, { statusCode });
  assert.deepEqual(of(400), { address: ip });
  for (const statusCode of [400, 404, 408, 413, 431, 500, 503]) assert.equal(of(statusCode), null);
  const caller = {} as FastifyRequest["caller"];
  const person = {} as FastifyRequest["person"];
  for (const known of [{ caller }, { person }]) assert.deepEqual(of(400, known), {});
  assert.equal(of(429, { caller }), null);
});

test("an invalid key and a rejected sign-in can be traced to the client behind a trusted proxy", async (t) => {
  const transport = { kind: "proxied", proxies: ["127.0.0.1"] } as const;
  const { ask, logs } = await startHttp(t, { transport });
  const from = (address: string) => ({ "x-forwarded-for": address, "x-forwarded-proto": "https" });
  await ask({ path: "/api/languages", key: "assay_live_no", headers: from("203.0.113.9") });
  await ask({
    method: "POST",
    path: "/dashboard/api/session",
    key: null,
    body: { email: "nobody@example.com", password: "wrong" },
    headers: { ...from("203.0.113.10"), "sec-fetch-site": "same-origin" },
  });
  await sleep(50);
  const lines = logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "request");
  assert.deepEqual(
    lines.map(({ route, status, address }) => [route, status, address]),
    [
      ["/api/languages", 401, "203.0.113.9"],
      ["/dashboard/api/session", 401, "203.0.113.10"],
    ],
  );
});
