import assert from "node:assert/strict";
import { test } from "node:test";
import {
  boundIn,
  mistakeIn,
  rulesOf,
  type WrittenRule,
  writtenOf,
} from "../../../dashboard/src/pages/network/bound-form.ts";
import { bytesIn, bytesText } from "../../../dashboard/src/pages/network/bytes-text.ts";
import { parseNetworkBound, toBoundJson, whyBeyondAccount } from "../../../src/domain/egress/bound.ts";

const POLICY = {
  allow: [
    { host: "api.example.com", ports: [80, 443] },
    { cidr: "203.0.113.0/24", ports: [5432] },
  ],
  bytes_up: 1_000,
  bytes_down: 1.5 * 2 ** 30,
  connections: 8,
  connections_per_minute: 60,
};
const BOUND = { policy: POLICY, bytes_up_per_day: 2 ** 40, bytes_down_per_day: null };

test("bytes are written exactly, and read in the units that people write", () => {
  for (const bytes of [0, 1, 1_000, 1_023, 1_024, 1_536, 2 ** 20, 3 * 2 ** 30, 2 ** 44, 2 ** 50])
    assert.equal(bytesIn(bytesText(bytes)), bytes, bytesText(bytes));
  assert.deepEqual([1_000, 1_536, 2 ** 20, 3 * 2 ** 30, 2 ** 50].map(bytesText), [
    "1000 B",
    "1536 B",
    "1 MiB",
    "3 GiB",
    "1024 TiB",
  ]);
  for (const [text, bytes] of [
    ["1000", 1_000],
    ["1000 B", 1_000],
    ["64 MiB", 2 ** 26],
    ["64mib", 2 ** 26],
    [" 64 M ", 2 ** 26],
    ["1.5 GiB", 1.5 * 2 ** 30],
    ["2kb", 2_048],
  ] as const)
    assert.equal(bytesIn(text), bytes, text);
  for (const text of ["", "MiB", "-1", "1e9", "0x10", "1.0001 KiB", "1,000", "64 PiB", "9".repeat(30), "1 MiB 2"])
    assert.throws(() => bytesIn(text), RangeError, text);
});

test("a bound that goes through the form is the same bound", () => {
  for (const bound of [
    BOUND,
    { policy: "none", bytes_up_per_day: null, bytes_down_per_day: 5 } as const,
    { ...BOUND, bytes_up_per_day: 0 },
  ]) {
    const json = toBoundJson(parseNetworkBound(bound));
    assert.deepEqual(boundIn(writtenOf(json), json.policy === "none" ? null : rulesOf(json)), json);
  }
});

test("an address without a prefix is sent as a network, and a name as a host", () => {
  const rules = ["1.2.3.4", "2001:db8::1", "::/0", "api.example.com", "example.com:443", "*.example.org"];
  const bound = boundIn(
    writtenOf(BOUND),
    rules.map((destination, key) => ({ key, destination, ports: "443" })),
  );
  assert.ok(bound.policy !== "none");
  assert.deepEqual(
    bound.policy.allow.map((rule) => ("cidr" in rule && rule.cidr !== undefined ? "cidr" : "host")),
    ["cidr", "cidr", "cidr", "host", "host", "host"],
  );
});

/** The message with which the service refuses a bound, as src/admin/network.ts makes it. */
function refused(bound: unknown): Error {
  try {
    const why = whyBeyondAccount(parseNetworkBound(BOUND), parseNetworkBound(bound));
    return new Error(`the bound is not within that of the account: ${why}`);
  } catch (error) {
    return error as Error;
  }
}

test("each mistake is shown at its field, whether the service or the form finds it", () => {
  const written = writtenOf(BOUND);
  const rules: readonly WrittenRule[] = [...rulesOf(BOUND), { key: 2, destination: "a.example.org", ports: "443" }];
  const cases: readonly (readonly [changed: Partial<typeof written>, rules: readonly WrittenRule[], field: string])[] =
    [
      [{}, [{ key: 0, destination: "*", ports: "443" }], "destination0"],
      [{}, [...rulesOf(BOUND), { key: 2, destination: "10.1.2.3/8", ports: "443" }], "destination2"],
      [{}, [...rulesOf(BOUND), { key: 2, destination: "api.example.com", ports: "443" }], "destination2"],
      [{}, [{ key: 0, destination: "api.example.com", ports: "53" }], "ports0"],
      [{}, [{ key: 0, destination: "api.example.com", ports: "70000" }], "ports0"],
      [{}, [{ key: 0, destination: "api.example.com", ports: "https" }], "ports0"],
      [{}, rules, "destination2"],
      [{ bytes_up: "2 TiB" }, rulesOf(BOUND), "bytes_up"],
      [{ bytes_down: "20 TiB" }, rulesOf(BOUND), "bytes_down"],
      [{ bytes_down: "all" }, rulesOf(BOUND), "bytes_down"],
      [{ connections: "0" }, rulesOf(BOUND), "connections"],
      [{ connections: "9" }, rulesOf(BOUND), "connections"],
      [{ connections_per_minute: "x" }, rulesOf(BOUND), "connections_per_minute"],
      [{ connections_per_minute: "61" }, rulesOf(BOUND), "connections_per_minute"],
      [{ bytes_up_per_day: "2 TiB" }, rulesOf(BOUND), "bytes_up_per_day"],
      [{ bytes_down_per_day: "2000 TiB" }, rulesOf(BOUND), "bytes_down_per_day"],
    ];
  for (const [changed, given, field] of cases) {
    const error = (() => {
      try {
        return refused(boundIn({ ...written, ...changed }, given));
      } catch (mistake) {
        return mistake as Error;
      }
    })();
    const mistake = mistakeIn(error, given);
    assert.equal(mistake.field, field, error.message);
    assert.notEqual(mistake.text, "");
  }
  assert.deepEqual(mistakeIn(new Error("the service is unreachable"), rules), {
    field: null,
    text: "the service is unreachable",
  });
});
