import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseNetworkBound, toBoundJson, whyBeyondAccount } from "../../../../src/domain/egress/bound.ts";
import {
  type Destination,
  decide,
  EGRESS_BOUNDS,
  fromNetworkJson,
  hasNetwork,
  type NetworkPolicy,
  NO_NETWORK,
  narrow,
  PolicyError,
  parseNetworkPolicy,
  toNetworkJson,
  whyNotNarrower,
} from "../../../../src/domain/egress/policy.ts";

const HOSTS = ["*.example.org", "*.a.example.org", "a.example.org", "b.a.example.org", "example.org", "c.example.net"];
const NETWORKS = ["203.0.113.0/24", "203.0.113.128/25", "203.0.112.0/20", "2001:db8::/32", "2001:db8:1::/48"];
const PORTS = [22, 80, 443];
const NAMES = [
  "a.example.org",
  "b.a.example.org",
  "x.y.a.example.org",
  "example.org",
  "z.example.org",
  "c.example.net",
];
const ADDRESSES = ["203.0.113.1", "203.0.113.200", "203.0.114.1", "2001:db8::1", "2001:db8:1::1", "8.8.8.8"];

/** Policies whose rules contain each other in many ways. */
const policies: fc.Arbitrary<NetworkPolicy> = fc.oneof(
  { weight: 1, arbitrary: fc.constant("none" as const) },
  {
    weight: 9,
    arbitrary: fc
      .tuple(
        fc.subarray([...HOSTS, ...NETWORKS], { minLength: 1 }),
        fc.array(fc.subarray(PORTS, { minLength: 1 }), { minLength: 11, maxLength: 11 }),
        fc.nat(100),
        fc.integer({ min: 1, max: 64 }),
      )
      .map(([all, ports, bytes_up, connections]) =>
        parseNetworkPolicy({
          allow: all.map((one, at) => ({ [one.includes("/") ? "cidr" : "host"]: one, ports: ports[at] })),
          bytes_up,
          connections,
        }),
      ),
  },
);

const DESTINATIONS: readonly Destination[] = PORTS.flatMap((port) => [
  ...NAMES.map((name) => ({ name, port })),
  ...ADDRESSES.map((address) => ({ address, port })),
]);

test("a narrowed policy allows exactly what both allow, and is within both", () => {
  fc.assert(
    fc.property(policies, policies, (upper, policy) => {
      const both = narrow(upper, policy);
      assert.equal(whyNotNarrower(upper, both), null);
      assert.equal(whyNotNarrower(policy, both), null);
      for (const destination of DESTINATIONS)
        assert.equal(
          decide(both, destination).isAllowed,
          decide(upper, destination).isAllowed && decide(policy, destination).isAllowed,
          JSON.stringify(destination),
        );
      if (both !== "none" && upper !== "none" && policy !== "none") {
        assert.equal(both.bytesUp, Math.min(upper.bytesUp, policy.bytesUp));
        assert.equal(both.connections, Math.min(upper.connections, policy.connections));
      }
      // Narrowing again changes nothing.
      assert.equal(whyNotNarrower(narrow(upper, both), both), null);
    }),
    { numRuns: 500 },
  );
});

test("a stored policy is read as it was written, also one with more rules than a request can have", () => {
  const hosts = (domain: string) =>
    Array.from({ length: 99 }, (_, at) => ({ host: `h${at}.${domain}.example.org`, ports: [443] }));
  const upper = parseNetworkPolicy({ allow: [...hosts("a"), { host: "*.b.example.org", ports: [443] }] });
  const policy = parseNetworkPolicy({ allow: [...hosts("b"), { host: "*.a.example.org", ports: [443] }] });
  const both = narrow(upper, policy);
  assert.ok(both !== "none" && both.allow.length === 198);
  assert.deepEqual(fromNetworkJson(JSON.parse(JSON.stringify(toNetworkJson(both)))), both);
  assert.equal(fromNetworkJson("none"), "none");
  for (const wrong of [
    null,
    "all",
    {},
    { allow: [] },
    { ...(toNetworkJson(policy) as object), bytes_up: undefined },
    { ...(toNetworkJson(policy) as object), allow: [{ ports: [1] }] },
    { ...(toNetworkJson(policy) as object), allow: [{ cidr: "203.0.113.1/24", ports: [1] }] },
  ])
    assert.throws(() => fromNetworkJson(wrong));
});

test("the rules of a policy have a bound of bytes", () => {
  const label = "x".repeat(60);
  const long = (length: number) => ({
    allow: Array.from({ length }, (_, at) => ({ host: `h${at}.${label}.${label}.${label}.example.org`, ports: [443] })),
  });
  const most = Math.floor(EGRESS_BOUNDS.bytes / 240);
  assert.doesNotThrow(() => parseNetworkPolicy(long(most - 5)));
  assert.throws(
    () => parseNetworkPolicy(long(most + 10)),
    (error) => error instanceof PolicyError && error.path === "allow" && /bytes together/.test(error.reason),
  );
});

test("a sandbox has a network from its creation on, whatever its policy becomes", () => {
  const network = parseNetworkPolicy({ allow: [{ host: "a.example.org", ports: [443] }] });
  assert.equal(hasNetwork(NO_NETWORK), false);
  assert.equal(hasNetwork({ version: 1, network }), true);
  assert.equal(hasNetwork({ version: 2, network: "none" }), true);
});

test("the bound of a project is within that of its account, also for each day", () => {
  const policy = { allow: [{ host: "*.example.org", ports: [443] }], bytes_up: 100 };
  const account = parseNetworkBound({ policy, bytes_up_per_day: 10 });
  assert.deepEqual(parseNetworkBound(toBoundJson(account)), account);
  const why = (json: object) => whyBeyondAccount(account, parseNetworkBound(json, account.policy));
  const inner = { allow: [{ host: "a.example.org", ports: [443] }] };
  assert.equal(why({ policy: inner }), null);
  assert.equal(why({ policy: inner, bytes_up_per_day: 10, bytes_down_per_day: 2 ** 50 }), null);
  assert.match(why({ policy: inner, bytes_up_per_day: 11 }) ?? "", /bytes_up_per_day .* 10/);
  assert.match(why({ policy: { ...inner, bytes_up: 101 } }) ?? "", /bytes_up .* 100/);
  for (const [value, path] of [
    [null, ""],
    ["none", ""],
    [[], ""],
    [{}, ""],
    [{ policy: "all" }, "policy"],
    [{ policy: { allow: [{ host: "*", ports: [1] }] } }, "policy.allow[0].host"],
    [{ policy: "none", bytes_up_per_day: 1.5 }, "bytes_up_per_day"],
    [{ policy: "none", bytes_down_per_day: 2 ** 50 + 1 }, "bytes_down_per_day"],
    [{ policy: "none", other: 1 }, ""],
  ] as const)
    assert.throws(
      () => parseNetworkBound(value),
      (error) => error instanceof PolicyError && error.path === path,
      JSON.stringify(value),
    );
});
