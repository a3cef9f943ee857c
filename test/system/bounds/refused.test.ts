import assert from "node:assert/strict";
import { Agent, request } from "node:https";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { percentile, TIMES_ALONE } from "../../support/bounds/measured.ts";
import { type BoundedService, boundedService } from "./service.ts";

const PER_SECOND = 500;
const ASKED = 100;
/** Each round measures without a flood and then during one. Other work of the machine can make single rounds useless. */
const ROUNDS = 4;
/** Delay of a response caused by the test's clients, which share the cores with the service. */
const MACHINE_MS = 5;

interface Asked {
  readonly path: string;
  readonly key: string;
  readonly body?: string;
}

/** Every kind of early rejection: by key, quota, query and body. */
const REFUSED: readonly [status: number, of: (service: BoundedService) => Asked][] = [
  [401, () => ({ path: "/api/health", key: `assay_live_${"x".repeat(32)}` })],
  [429, ({ attacker }) => ({ path: "/api/health", key: attacker.spentKey })],
  [400, ({ attacker }) => ({ path: "/api/health?wiat=true", key: attacker.key })],
  [400, ({ attacker }) => ({ path: "/api/submit", key: attacker.key, body: '{"language":' })],
];

test(`an honest account is not delayed by ${PER_SECOND} rejected requests a second from its own address`, {
  timeout: 120_000,
}, async (t) => {
  const service = await boundedService(t, "sqlite");
  const agents = [20, 1].map(
    (maxSockets) => new Agent({ keepAlive: true, maxSockets, ca: service.ca, servername: "localhost" }),
  );
  const [many, one] = agents as [Agent, Agent];
  t.after(() => {
    for (const agent of agents) agent.destroy();
  });
  const honest = { path: `/api/result/${service.honest.id}`, key: service.honest.key };
  const oneByOne = async () => {
    const took: number[] = [];
    for (let n = 0; n < ASKED; n++) {
      const began = performance.now();
      assert.equal(await statusOf(service, one, honest), 200);
      took.push(performance.now() - began);
      await sleep(10);
    }
    return took;
  };
  await statusOf(service, many, REFUSED[1]?.[1](service) ?? honest); // uses up the quota of the key
  await oneByOne();
  /** Makes the honest requests during a flood of rejected ones. */
  const duringFlood = async () => {
    let over = false;
    const answers: Promise<void>[] = [];
    const began = performance.now();
    const flood = (async () => {
      for (let n = 0; !over; n++) {
        const [status, of] = REFUSED[n % REFUSED.length] ?? assert.fail();
        answers.push(statusOf(service, many, of(service)).then((seen) => assert.equal(seen, status)));
        while (!over && performance.now() - began < (1_000 * n) / PER_SECOND) await sleep(1);
      }
    })();
    const took = await oneByOne();
    over = true;
    await flood;
    await Promise.all(answers);
    return { took, rate: answers.length / ((performance.now() - began) / 1_000) };
  };

  for (let round = 1; ; round++) {
    const alone = await oneByOne();
    const { took, rate } = await duringFlood();
    const [p50, p99] = [0.5, 0.99].map((of) => [percentile(alone, of), percentile(took, of)]) as [number[], number[]];
    const text = ([was = 0, is = 0]: number[]) => `${was.toFixed(1)} ms alone, ${is.toFixed(1)} ms during it`;
    t.diagnostic(`${rate.toFixed(0)} rejected a second; p50 ${text(p50)}; p99 ${text(p99)}`);
    const [was = Number.NaN, is = Number.NaN] = p50;
    if (rate > 0.8 * PER_SECOND && is <= TIMES_ALONE * was + MACHINE_MS) return;
    assert.ok(round < ROUNDS, `p50: ${text(p50)}`);
  }
});

function statusOf({ port }: BoundedService, agent: Agent, { path, key, body }: Asked): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const method = body === undefined ? "GET" : "POST";
    const sent = request({ host: "127.0.0.1", port, path, agent, method, headers }, (response) => {
      response.resume();
      response.on("error", reject);
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
