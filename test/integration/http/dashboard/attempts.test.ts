import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientError } from "../../../../src/domain/error.ts";
import { Attempts } from "../../../../src/http/dashboard/attempts.ts";
import type { Store } from "../../../../src/store/store.ts";
import { addPerson } from "../../../support/store/members.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";

/** @returns how many of `times` attempts were accepted. */
async function tried(
  attempts: readonly Attempts[],
  times: number,
  ip: (n: number) => string,
  email: (n: number) => string,
): Promise<number> {
  const results = await Promise.allSettled(
    Array.from({ length: times }, (_, n) => attempts[n % attempts.length]?.take({ ip: ip(n) }, email(n))),
  );
  for (const result of results) {
    if (result.status === "fulfilled") continue;
    assert.ok(result.reason instanceof ClientError && result.reason.code === "tooManySignIns", String(result.reason));
    assert.match(result.reason.headers["retry-after"] ?? "", /^([1-9]|[1-5]\d|60)$/);
  }
  return results.filter(({ status }) => status === "fulfilled").length;
}

const ADA = "ada@example.com";
const one = () => "192.0.2.1";
const ada = () => ADA;

/** Separate processes that share a database; each has its own local counts. */
const processes = (stores: readonly Store[]) => stores.map(({ signIns }) => new Attempts(signIns));

onEachDatabase((temporaryStore) => {
  test("allows one address five attempts per e-mail and minute, over all processes", async (t) => {
    const { store, another, clock } = await temporaryStore(t);
    const stores = [store, await another(), await another()];
    assert.equal(await tried(processes(stores), 20, one, ada), 5);
    clock.nowMs += 59_999;
    assert.equal(await tried(processes(stores), 20, one, ada), 0);
    clock.nowMs += 1;
    assert.equal(await tried(processes(stores), 20, one, ada), 5);
  });

  test("allows one address thirty attempts a minute over all e-mails; a /64 is one address", async (t) => {
    const { store, another } = await temporaryStore(t);
    const attempts = processes([store, await another()]);
    const many = await tried(
      attempts,
      60,
      (n) => `2001:db8:1:2::${n.toString(16)}`,
      (n) => `${n}@example.com`,
    );
    assert.equal(many, 30);
  });

  test("allows twenty attempts a minute per e-mail from unknown addresses, and its owner can still sign in from a known one", async (t) => {
    const { store, another, clock } = await temporaryStore(t);
    const person = await addPerson(store, ADA);
    await store.sessions.begin("h", person, { address: "198.51.100.7", network: "198.51.100.7" });
    const attempts = processes([store, await another()]);
    assert.equal(await tried(attempts, 60, (n) => `192.0.2.${n}`, ada), 20);
    assert.equal(await tried(attempts, 20, () => "198.51.100.7", ada), 5);
    // A process started later also knows the address.
    clock.nowMs += 30_000;
    assert.equal(await tried(processes([store]), 20, () => "198.51.100.8", ada), 0);
    clock.nowMs += 30_000;
    await tried(processes([store]), 60, (n) => `192.0.2.${n}`, ada);
    assert.equal(await tried(processes([store]), 20, () => "198.51.100.7", ada), 5);
  });

  test("counts expire after a minute, and a clock that steps back does not lock anyone out", async (t) => {
    const { store, clock } = await temporaryStore(t);
    await tried(processes([store]), 20, one, ada);
    clock.nowMs -= 3_600_000;
    assert.equal(await tried(processes([store]), 20, one, ada), 5);
    await store.signIns.forget();
    assert.equal(await tried(processes([store]), 1, one, ada), 0, "current attempts are still counted");
    clock.nowMs += 60_000;
    await store.signIns.forget();
    assert.equal(await tried(processes([store]), 20, one, ada), 5);
  });
});

test("rejects a flood from one address without a query", async () => {
  let looks = 0;
  const attempts = new Attempts(
    {
      isKnown: async () => {
        looks++;
        return false;
      },
      take: async () => 0,
    },
    () => 0,
  );
  await tried([attempts], 500, one, (n) => `${n}@example.com`);
  assert.equal(looks, 30);
});
