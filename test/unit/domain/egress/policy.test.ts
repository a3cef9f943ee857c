import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type Destination,
  decide,
  EGRESS_BOUNDS,
  EGRESS_BUDGETS,
  type EgressPolicy,
  networkPolicySchema,
  PolicyError,
  parseNetworkPolicy,
  toNetworkJson,
  whyNotNarrower,
} from "../../../../src/domain/egress/policy.ts";

const HOST = { host: "api.example.com", ports: [443] };
const allowing = (...allow: unknown[]) => parseNetworkPolicy({ allow }) as EgressPolicy;

test("a policy is canonical after it was parsed", () => {
  const policy = parseNetworkPolicy({
    allow: [
      { host: "API.Example.COM", ports: [443, 80] },
      { host: "*.EXAMPLE.org", ports: [443] },
      { host: "xn--bcher-kva.example", ports: [443] },
      { cidr: "203.0.113.0/24", ports: [5432] },
      { cidr: "2001:0DB8:0:0::/48", ports: [22] },
    ],
    bytes_up: 0,
    connections: 3,
  });
  assert.deepEqual(toNetworkJson(policy), {
    allow: [
      { host: "api.example.com", ports: [80, 443] },
      { host: "*.example.org", ports: [443] },
      { host: "xn--bcher-kva.example", ports: [443] },
      { cidr: "203.0.113.0/24", ports: [5432] },
      { cidr: "2001:db8::/48", ports: [22] },
    ],
    bytes_up: 0,
    bytes_down: EGRESS_BUDGETS.bytesDown.default,
    connections: 3,
    connections_per_minute: EGRESS_BUDGETS.connectionsPerMinute.default,
  });
  assert.deepEqual(parseNetworkPolicy(toNetworkJson(policy)), policy);
  assert.ok(networkPolicySchema.safeParse(toNetworkJson(policy)).success);
  assert.equal(parseNetworkPolicy("none"), "none");
});

const TOO_LONG = `${`${"a".repeat(60)}.`.repeat(4)}example.com`;

/** Hosts that are mistakes, and a part of the message. */
const WRONG_HOSTS: readonly (readonly [string, RegExp])[] = [
  ["*", /no rule allows every host/],
  ["", /at least two labels/],
  [".", /dot/],
  ["*.", /every name of a top-level domain/],
  ["*.*", /does not stand for all names/],
  ["*.com", /every name of a top-level domain/],
  ["**.example.org", /does not stand for all names/],
  ["*.*.example.org", /does not stand for all names/],
  ["a.*.example.org", /does not stand for all names/],
  ["api*.example.org", /does not stand for all names/],
  ["*example.org", /does not stand for all names/],
  [".example.org", /not the name/],
  ["api..example.org", /not the name/],
  ["example.org.", /ends with a dot/],
  ["*.example.org.", /ends with a dot/],
  ["com", /at least two labels/],
  ["localhost", /the sandbox itself/],
  ["a.localhost", /the sandbox itself/],
  ["*.localhost", /the sandbox itself/],
  ["-a.example.org", /not the name/],
  ["a-.example.org", /not the name/],
  ["a b.example.org", /spaces/],
  ["a\0.example.org", /outside of ASCII/],
  ["a/b.example.org", /not the name/],
  ["user@example.org", /not the name/],
  ["example.org/path", /not the name/],
  ["https://example.org", /has a port/],
  ["example.org:443", /has a port/],
  ["%65xample.org", /not the name/],
  ["bücher.example", /in ASCII, it is xn--bcher-kva\.example/],
  ["ｅｘａｍｐｌｅ.org", /in ASCII, it is example\.org/],
  ["exa\u00admple.org", /in ASCII, it is example\.org/],
  ["example。org", /in ASCII, it is example\.org/],
  ["xn--.example", /not the name/],
  ["127.0.0.1", /use "cidr"/],
  ["127.1", /use "cidr"/],
  ["2130706433", /use "cidr"/],
  ["0x7f000001", /use "cidr"/],
  ["0x7f.1", /use "cidr"/],
  ["1.2.3.0x4", /use "cidr"/],
  ["example.1", /use "cidr"/],
  ["*.0.0.1", /use "cidr"/],
  ["::1", /use "cidr"/],
  ["[::1]", /use "cidr"/],
  [`${"a".repeat(64)}.example.org`, /not the name/],
  [TOO_LONG, /more than 253/],
];

for (const [host, message] of WRONG_HOSTS) {
  test(`${JSON.stringify(host.slice(0, 40))} is not a host of a rule`, () => {
    assert.throws(
      () => allowing(HOST, { host, ports: [443] }),
      (error) => error instanceof PolicyError && error.path === "allow[1].host" && message.test(error.message),
    );
  });
}

const WRONG_NETWORKS: readonly (readonly [string, RegExp])[] = [
  ["", /not a network/],
  ["203.0.113.0", /not a network/],
  ["203.0.113.0/", /not a network/],
  ["203.0.113.0/33", /more than 32/],
  ["203.0.113.0/024", /not a network/],
  ["203.0.113.0/-1", /not a network/],
  ["203.0.113.0/24 ", /not a network/],
  ["203.0.113.7/24", /the network is 203\.0\.113\.0\/24/],
  ["203.0.113/24", /usual notation/],
  ["0313.0.113.0/24", /usual notation/],
  ["0xcb.0.113.0/24", /usual notation/],
  ["3405803776/24", /usual notation/],
  ["256.0.0.0/24", /usual notation/],
  ["example.org/24", /usual notation/],
  ["0.0.0.0/0", /too large/],
  ["128.0.0.0/7", /too large/],
  ["::/0", /IPv4-mapped/],
  ["2000::/3", /too large/],
  ["::ffff:203.0.113.0/120", /IPv4-mapped/],
  ["::ffff:0:0/96", /IPv4-mapped/],
  ["0:0:0:0:0:ffff:cb00:7100/120", /IPv4-mapped/],
  ["::fffe:0:0/95", /IPv4-mapped/],
  ["2001:db8::1/64", /the network is 2001:db8::\/64/],
  ["2001:db8::/129", /more than 128/],
  ["2001:db8::%eth0/64", /usual notation/],
  ["2001:db8:::/64", /usual notation/],
  ["[2001:db8::]/64", /usual notation/],
  ["198.18.0.0/15", /stand for names/],
  ["198.18.4.0/24", /stand for names/],
  ["198.0.0.0/8", /stand for names/],
  ["fd00:a55a::/32", /stand for names/],
  ["fd00:a55a:1::/48", /stand for names/],
  ["fd00::/16", /stand for names/],
];

for (const [cidr, message] of WRONG_NETWORKS) {
  test(`${JSON.stringify(cidr)} is not a network of a rule`, () => {
    assert.throws(
      () => allowing({ cidr, ports: [443] }),
      (error) => error instanceof PolicyError && error.path === "allow[0].cidr" && message.test(error.message),
    );
  });
}

const LONG = Array.from({ length: EGRESS_BOUNDS.rules + 1 }, (_, at) => ({ host: `h${at}.example.com`, ports: [443] }));
const budget = (field: string, value: unknown) => [{ allow: [HOST], [field]: value }, field] as const;

/** Policies that are mistakes, and the place of the mistake. */
const WRONG_POLICIES: readonly (readonly [unknown, string])[] = [
  [undefined, ""],
  [null, ""],
  ["", ""],
  ["all", ""],
  ["None", ""],
  [true, ""],
  [[], ""],
  [[HOST], ""],
  [{}, "allow"],
  [{ allow: "*" }, "allow"],
  [{ allow: [] }, "allow"],
  [{ allow: {} }, "allow"],
  [{ allow: LONG }, "allow"],
  [{ allow: [HOST], deny: [] }, ""],
  [JSON.parse('{"allow": [{"host": "a.example.com", "ports": [443]}], "__proto__": {}}'), ""],
  [JSON.parse('{"allow": [{"host": "a.example.com", "ports": [443], "__proto__": {}}]}'), "allow[0]"],
  [{ allow: ["api.example.com"] }, "allow[0]"],
  [{ allow: [null] }, "allow[0]"],
  [{ allow: [{ ports: [443] }] }, "allow[0]"],
  [{ allow: [{ ...HOST, cidr: "203.0.113.0/24" }] }, "allow[0]"],
  [{ allow: [{ ...HOST, protocol: "udp" }] }, "allow[0]"],
  [{ allow: [{ host: ["a.example.com"], ports: [443] }] }, "allow[0].host"],
  [{ allow: [{ host: "a.example.com" }] }, "allow[0].ports"],
  [{ allow: [{ host: "a.example.com", ports: [] }] }, "allow[0].ports"],
  [{ allow: [{ host: "a.example.com", ports: 443 }] }, "allow[0].ports"],
  [{ allow: [{ host: "a.example.com", ports: "*" }] }, "allow[0].ports"],
  ...[0, -1, 65_536, 1.5, "443", null, Number.NaN, 2 ** 53].map(
    (port) => [{ allow: [{ host: "a.example.com", ports: [80, port] }] }, "allow[0].ports[1]"] as const,
  ),
  [{ allow: [{ host: "a.example.com", ports: [443, 443] }] }, "allow[0].ports"],
  [{ allow: [{ host: "a.example.com", ports: [53] }] }, "allow[0].ports"],
  [{ allow: [{ host: "a.example.com", ports: Array.from({ length: 17 }, (_, at) => at + 1) }] }, "allow[0].ports"],
  [{ allow: [HOST, { host: "API.example.com", ports: [80] }] }, "allow[1]"],
  [
    {
      allow: [
        { cidr: "2001:db8::/64", ports: [80] },
        { cidr: "2001:DB8:0::/64", ports: [80] },
      ],
    },
    "allow[1]",
  ],
  [
    {
      allow: [
        { host: "a.example.com", ports: Array.from({ length: 16 }, (_, at) => at + 1) },
        { host: "b.example.com", ports: [443] },
      ],
    },
    "allow",
  ],
  ...[-1, 2 ** 44 + 1, 1.5, "1", null].map((value) => budget("bytes_up", value)),
  ...[-1, 2 ** 44 + 1].map((value) => budget("bytes_down", value)),
  ...[0, 65].map((value) => budget("connections", value)),
  ...[0, 601].map((value) => budget("connections_per_minute", value)),
];

for (const [policy, path] of WRONG_POLICIES) {
  test(`${JSON.stringify(policy)?.slice(0, 100)} is not a policy`, () => {
    assert.throws(
      () => parseNetworkPolicy(policy),
      (error) => error instanceof PolicyError && error.path === path && error.message.length > 10,
    );
  });
}

test("the bounds themselves are allowed", () => {
  const { rules, ports } = EGRESS_BOUNDS;
  const allow = Array.from({ length: rules }, (_, at) => ({
    host: `h${at}.example.com`,
    ports: Array.from({ length: ports }, (_, port) => port + 1000),
  }));
  for (const end of ["least", "most"] as const) {
    const budgets = Object.values(EGRESS_BUDGETS).map((budget) => [budget.field, budget[end]]);
    parseNetworkPolicy({ allow, ...Object.fromEntries(budgets) });
  }
  allowing({ cidr: "10.0.0.0/8", ports: [1, 65_535] }, { cidr: "2001::/16", ports: [1] });
  allowing({ cidr: "203.0.113.7/32", ports: [1] }, { cidr: "2001:db8::1/128", ports: [1] });
});

test("any JSON is a policy or a PolicyError", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.string({ unit: "binary" }), (value, other, text) => {
      for (const policy of [
        value,
        { allow: value },
        { allow: [other] },
        { allow: [{ host: text, ports: [443] }] },
        { allow: [{ cidr: text, ports: [1] }] },
      ]) {
        try {
          parseNetworkPolicy(policy);
        } catch (error) {
          assert.ok(error instanceof PolicyError, String(error));
        }
      }
    }),
  );
});

const POLICY = allowing(
  { host: "api.example.com", ports: [443, 8443] },
  { host: "*.example.org", ports: [443] },
  { host: "git.example.org", ports: [22] },
  { cidr: "203.0.113.0/24", ports: [5432] },
  { cidr: "2001:db8::/64", ports: [5432] },
);

const DECISIONS: readonly (readonly [Destination, string | { readonly refused: string }])[] = [
  [{ name: "api.example.com", port: 443 }, "api.example.com"],
  [{ name: "api.example.com", port: 8443 }, "api.example.com"],
  [{ name: "api.example.com", port: 80 }, { refused: "port 80 of api.example.com" }],
  [{ name: "example.com", port: 443 }, { refused: "example.com" }],
  [{ name: "x.api.example.com", port: 443 }, { refused: "x.api.example.com" }],
  [{ name: "xapi.example.com", port: 443 }, { refused: "xapi.example.com" }],
  [{ name: "example.org", port: 443 }, { refused: "example.org" }],
  [{ name: "a.example.org", port: 443 }, "*.example.org"],
  [{ name: "b.a.example.org", port: 443 }, "*.example.org"],
  [{ name: "aexample.org", port: 443 }, { refused: "aexample.org" }],
  [{ name: "a.example.org.evil.test", port: 443 }, { refused: "a.example.org.evil.test" }],
  [{ name: "git.example.org", port: 22 }, "git.example.org"],
  [{ name: "git.example.org", port: 443 }, "*.example.org"],
  [{ name: "git.example.org", port: 80 }, { refused: "port 80 of git.example.org" }],
  [{ name: "203.0.113.7", port: 5432 }, { refused: "203.0.113.7" }],
  [{ address: "203.0.113.7", port: 5432 }, "203.0.113.0/24"],
  [{ address: "203.0.113.7", port: 443 }, { refused: "port 443 of 203.0.113.7" }],
  [{ address: "203.0.114.0", port: 5432 }, { refused: "203.0.114.0" }],
  [{ address: "203.0.112.255", port: 5432 }, { refused: "203.0.112.255" }],
  [{ address: "::ffff:203.0.113.7", port: 5432 }, { refused: "::ffff:203.0.113.7" }],
  [{ address: "2001:db8::ffff", port: 5432 }, "2001:db8::/64"],
  [{ address: "2001:0DB8:0::1", port: 5432 }, "2001:db8::/64"],
  [{ address: "2001:db8:0:1::", port: 5432 }, { refused: "2001:db8:0:1::" }],
  [{ address: "2001:db8::1%eth0", port: 5432 }, { refused: "2001:db8::1%eth0" }],
  [{ address: "203.0.113.07", port: 5432 }, { refused: "203.0.113.07" }],
  [{ address: "api.example.com", port: 443 }, { refused: "api.example.com" }],
];

for (const [destination, expected] of DECISIONS) {
  test(`${JSON.stringify(destination)} is ${typeof expected === "string" ? "allowed" : "refused"}`, () => {
    const decision = decide(POLICY, destination);
    if (typeof expected === "string") assert.deepEqual(decision, { isAllowed: true, rule: expected });
    else
      assert.deepEqual(decision, {
        isAllowed: false,
        reason: `${expected.refused} is not allowed by the policy of this sandbox`,
      });
  });
}

test("no network allows nothing", () => {
  assert.deepEqual(decide("none", { name: "example.org", port: 443 }), {
    isAllowed: false,
    reason: "example.org is not allowed by the policy of this sandbox",
  });
});

/** Upper bounds, requests, and the beginning of the reason if the request is not within the bound. */
const NARROWER: readonly (readonly [readonly unknown[], readonly unknown[], string | null])[] = [
  [[HOST], [HOST], null],
  [[{ host: "*.example.com", ports: [443, 80] }], [HOST], null],
  [[{ host: "*.example.com", ports: [443] }], [{ host: "*.s3.example.com", ports: [443] }], null],
  [[{ host: "*.example.com", ports: [443] }], [{ host: "*.example.com", ports: [443] }], null],
  [[{ host: "*.example.com", ports: [443] }], [{ host: "example.com", ports: [443] }], "port 443 of example.com"],
  [
    [{ host: "*.s3.example.com", ports: [443] }],
    [{ host: "*.example.com", ports: [443] }],
    "port 443 of *.example.com",
  ],
  [[HOST], [{ host: "*.api.example.com", ports: [443] }], "port 443 of *.api.example.com"],
  [[HOST], [{ host: "api.example.com", ports: [443, 80] }], "port 80 of api.example.com"],
  [[HOST, { host: "*.example.com", ports: [80] }], [{ host: "api.example.com", ports: [443, 80] }], null],
  [[HOST], [{ cidr: "203.0.113.0/24", ports: [443] }], "port 443 of 203.0.113.0/24"],
  [[{ cidr: "203.0.113.0/24", ports: [443] }], [HOST], "port 443 of api.example.com"],
  [[{ cidr: "203.0.113.0/24", ports: [443] }], [{ cidr: "203.0.113.128/25", ports: [443] }], null],
  [
    [{ cidr: "203.0.113.128/25", ports: [443] }],
    [{ cidr: "203.0.113.0/24", ports: [443] }],
    "port 443 of 203.0.113.0/24",
  ],
  [[{ cidr: "2001:db8::/32", ports: [443] }], [{ cidr: "2001:db8:5::/48", ports: [443] }], null],
  [[{ cidr: "16.0.0.0/8", ports: [443] }], [{ cidr: "1000::/16", ports: [443] }], "port 443 of 1000::/16"],
];

for (const [upper, requested, reason] of NARROWER) {
  test(`${JSON.stringify(requested)} is ${reason === null ? "" : "not "}within ${JSON.stringify(upper)}`, () => {
    const why = whyNotNarrower(allowing(...upper), allowing(...requested));
    assert.equal(why, reason === null ? null : `${reason} is not within the upper bound of the policy`);
  });
}

test("budgets can only be lowered, and follow the bound if they are not stated", () => {
  const upper = parseNetworkPolicy({
    allow: [HOST],
    bytes_up: 5,
    bytes_down: 2 ** 40,
    connections: 2,
    connections_per_minute: 9,
  });
  const silent = parseNetworkPolicy({ allow: [HOST] }, upper);
  assert.deepEqual(silent, { ...(upper as EgressPolicy), bytesDown: EGRESS_BUDGETS.bytesDown.default });
  assert.equal(whyNotNarrower(upper, silent), null);
  for (const { field } of Object.values(EGRESS_BUDGETS)) {
    const bound = Number((toNetworkJson(upper) as Record<string, unknown>)[field]);
    const requested = parseNetworkPolicy({ allow: [HOST], [field]: bound + 1 }, upper);
    assert.equal(
      whyNotNarrower(upper, requested),
      `${field} is above the upper bound of the policy, which is ${bound}`,
    );
  }
});

test("no network is within every bound, and only it is within the bound of no network", () => {
  assert.equal(whyNotNarrower("none", "none"), null);
  assert.equal(whyNotNarrower(POLICY, "none"), null);
  assert.equal(whyNotNarrower("none", POLICY), "the upper bound of the policy allows no network");
});

const label = fc.constantFrom("a", "b", "example");
const name = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join("."));
const port = fc.constantFrom(1, 2, 3);
const ports = fc.uniqueArray(port, { minLength: 1, maxLength: 3 });
const octet = fc.integer({ min: 0, max: 3 });
const rule = fc.oneof(
  fc.record({ host: fc.tuple(fc.boolean(), name).map(([wild, host]) => (wild ? `*.${host}` : host)), ports }),
  fc.record({
    cidr: fc
      .tuple(octet, fc.integer({ min: 28, max: 32 }))
      .map(([last, bits]) => `10.0.0.${(last >> (32 - bits)) << (32 - bits)}/${bits}`),
    ports,
  }),
);
const policies = fc.uniqueArray(rule, {
  minLength: 1,
  maxLength: 4,
  selector: (item) => ("host" in item ? item.host : item.cidr),
});

test("whatever a narrower policy allows, its bound allows", () => {
  let within = 0;
  fc.assert(
    fc.property(policies, policies, name, octet, port, (upper, requested, host, last, number) => {
      const [bound, policy] = [allowing(...upper), allowing(...requested)];
      if (whyNotNarrower(bound, policy) !== null) return;
      within++;
      for (const destination of [
        { name: host, port: number },
        { name: `a.b.${host}`, port: number },
        { address: `10.0.0.${last}`, port: number },
      ])
        if (decide(policy, destination).isAllowed)
          assert.ok(decide(bound, destination).isAllowed, JSON.stringify(destination));
    }),
    { numRuns: 3_000 },
  );
  assert.ok(within > 50, `only ${within} policies were narrower`);
});
