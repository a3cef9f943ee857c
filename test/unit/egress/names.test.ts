import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import { isNameAddress, NAME_SERVER, SandboxNames } from "../../../src/egress/names.ts";
import { textOf } from "../../../src/egress/protocol.ts";
import { destinationBytes } from "../../support/egress/relay.ts";

const policy = parseNetworkPolicy({
  allow: [
    { host: "api.example.com", ports: [443] },
    { host: "*.example.org", ports: [443] },
    { host: "deep.a.b.c.example.org", ports: [443] },
  ],
});

/** The texts of both addresses of a name. @throws if it has none. */
function addresses(names: SandboxNames, name: string, of = policy): readonly [string, string] {
  const found = names.addressesOf(of, name);
  if ("refused" in found) throw new Error(found.refused);
  const mapped = Buffer.from([...Array(10).fill(0), 255, 255, ...found.v4]);
  return [textOf(mapped), textOf(Buffer.from(found.v6))];
}

test("each name has addresses of its own, which lead back to it and stay the same", () => {
  const names = new SandboxNames();
  const wanted = ["api.example.com", "a.example.org", "b.example.org", "c.b.a.example.org"];
  const first = wanted.map((name) => addresses(names, name));
  assert.deepEqual(first[0], ["198.18.1.0", "fd00:a55a::100"]);
  assert.equal(new Set(first.flat()).size, 8);
  assert.deepEqual(
    wanted.map((name) => addresses(names, name)),
    first,
  );
  for (const [at, both] of first.entries())
    for (const address of both) {
      assert.equal(names.nameOf(destinationBytes(address)), wanted[at]);
      assert.ok(isNameAddress(address));
    }
});

test("other addresses stand for no name", () => {
  const names = new SandboxNames();
  addresses(names, "api.example.com");
  for (const address of [
    "198.18.0.255",
    "198.18.1.1",
    "198.19.255.255",
    "198.20.0.0",
    "198.17.255.255",
    "0.0.1.0",
    "127.0.0.1",
    "::",
    "::1",
    "::100",
    "::c612:100",
    "fd00:a55a::",
    "fd00:a55a::ff",
    "fd00:a55a::101",
    "fd00:a55a:0:1::100",
    "fd00:a55b::100",
    "64:ff9b::c612:100",
  ])
    assert.equal(names.nameOf(destinationBytes(address)), null, address);
  for (const address of [NAME_SERVER.v4, NAME_SERVER.v6]) {
    assert.equal(names.nameOf(destinationBytes(address)), null);
    assert.ok(isNameAddress(address));
  }
  assert.deepEqual(NAME_SERVER, { v4: "198.18.0.53", v6: "fd00:a55a::53" });
});

test("a name that the policy does not allow has no address, also if it had one", () => {
  const names = new SandboxNames();
  const before = addresses(names, "a.example.org");
  const refused = { refused: "a.example.org is not allowed by the policy of this sandbox" };
  assert.deepEqual(names.addressesOf("none", "a.example.org"), refused);
  assert.deepEqual(
    names.addressesOf(parseNetworkPolicy({ allow: [{ host: "b.example.org", ports: [443] }] }), "a.example.org"),
    refused,
  );
  assert.deepEqual(names.addressesOf(policy, "evil.test"), {
    refused: "evil.test is not allowed by the policy of this sandbox",
  });
  assert.deepEqual(addresses(names, "a.example.org"), before);
});

test("a name under a wildcard has at most three labels more, unless it has a rule of its own", () => {
  const names = new SandboxNames();
  addresses(names, "a.b.c.example.org");
  assert.throws(
    () => addresses(names, "a.b.c.d.example.org"),
    /a\.b\.c\.d\.example\.org has more than 3 labels below example\.org/,
  );
  addresses(names, "deep.a.b.c.example.org");
  const nested = parseNetworkPolicy({
    allow: [
      { host: "*.example.org", ports: [443] },
      { host: "*.x.y.example.org", ports: [443] },
    ],
  });
  addresses(names, "1.2.3.x.y.example.org", nested);
  assert.throws(() => addresses(names, "0.1.2.3.x.y.example.org", nested), /more than 3 labels/);
});

test("a sandbox gets at most 60 new names under wildcards in each minute", () => {
  let now = 0;
  const names = new SandboxNames(() => now);
  for (let at = 0; at < 60; at++) {
    now += 500;
    addresses(names, `n${at}.example.org`);
  }
  assert.throws(
    () => addresses(names, "more.example.org"),
    /more\.example\.org has no address yet: this sandbox has used 60 new names/,
  );
  addresses(names, "n0.example.org");
  addresses(names, "api.example.com");
  now = 60_500;
  addresses(names, "more.example.org");
  assert.throws(() => addresses(names, "again.example.org"), /has no address yet/);
});

test("the number of names is bounded, and names of rules do not compete with those under wildcards", () => {
  let now = 0;
  const names = new SandboxNames(() => now);
  for (let at = 0; at < 4_096; at++) {
    if (at % 60 === 0) now += 60_000;
    addresses(names, `n${at}.example.org`);
  }
  now += 60_000;
  assert.throws(
    () => addresses(names, "more.example.org"),
    /has no address: this sandbox has used 4096 names under wildcards/,
  );
  assert.equal(names.nameOf(destinationBytes(addresses(names, "n4095.example.org")[0])), "n4095.example.org");
  for (let at = 0; at < 4_096; at++)
    addresses(
      names,
      `r${at}.example.com`,
      parseNetworkPolicy({ allow: [{ host: `r${at}.example.com`, ports: [443] }] }),
    );
  assert.throws(() => addresses(names, "api.example.com"), /has no address: this sandbox has used 4096 names/);
});
