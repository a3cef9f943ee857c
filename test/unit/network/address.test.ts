import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { whyNotAllGlobal, whyNotGlobal } from "../../../src/network/address.ts";
import { NOT_GLOBAL_4, NOT_GLOBAL_6 } from "../../support/network/addresses.ts";

/** Addresses just outside of refused blocks, and some of well-known services. */
const GLOBAL = [
  ...["1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"],
  ...["126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0"],
  ...["191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0"],
  ...["198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0"],
  ...["223.255.255.255", "168.63.129.15", "168.63.129.17"],
  ...[
    "2000::1",
    "2001:200::1",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700::1111",
  ],
  ...["2a00:1450:4001:80b::200e", "3ffd::1", "3fff:1000::1"],
];

for (const address of GLOBAL) {
  test(`${address} is global unicast`, () => assert.equal(whyNotGlobal(address, []), null));
}

for (const address of [...NOT_GLOBAL_4, ...NOT_GLOBAL_6]) {
  test(`${address} is not global unicast`, () => assert.equal(typeof whyNotGlobal(address, []), "string"));
}

test("rejects text that is not an address", () => {
  for (const text of [
    "",
    " ",
    "127.1",
    "0x7f.0.0.1",
    "017.0.0.1",
    "1.1.1.1/32",
    "1.1.1.1:80",
    "[2606::1]",
    "localhost",
    "1.1.1.1\0",
  ]) {
    assert.equal(whyNotGlobal(text, []), "not an address", JSON.stringify(text));
  }
  assert.notEqual(whyNotGlobal("2606:4700::1111%eth0", []), null);
});

test("refuses this machine's own addresses in every notation", () => {
  assert.equal(whyNotGlobal("1.1.1.1", ["8.8.8.8", "1.1.1.1"]), "this machine's own");
  assert.equal(whyNotGlobal("2606:4700:0:0::1111", ["2606:4700::1111"]), "this machine's own");
  assert.equal(whyNotGlobal("1.1.1.2", ["1.1.1.1"]), null);
});

test("uses no address of a name if one of them is not allowed", () => {
  assert.equal(whyNotAllGlobal("hooks.example", ["1.1.1.1", "2606:4700::1111"]), null);
  assert.equal(
    whyNotAllGlobal("hooks.example", ["1.1.1.1", "10.0.0.1"]),
    "only public addresses are allowed: hooks.example, 10.0.0.1, is private",
  );
  assert.equal(whyNotAllGlobal("10.0.0.1", ["10.0.0.1"]), "only public addresses are allowed: 10.0.0.1 is private");
  assert.equal(
    whyNotAllGlobal("own.example", ["10.0.0.1"], () => null),
    null,
  );
});

const octet = fc.integer({ min: 0, max: 255 });
const hextet = fc.integer({ min: 0, max: 0xffff });

test("refuses IPv6 addresses that embed an IPv4 address, in every form", () => {
  fc.assert(
    fc.property(octet, octet, octet, octet, hextet, (a, b, c, d, any) => {
      const dotted = `${a}.${b}.${c}.${d}`;
      const [high, low] = [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)];
      const other = [(~((a << 8) | b) & 0xffff).toString(16), (~((c << 8) | d) & 0xffff).toString(16)].join(":");
      for (const carrier of [
        `::ffff:${dotted}`,
        `::${dotted}`,
        `::ffff:0:${dotted}`,
        `64:ff9b::${dotted}`,
        `64:ff9b:1:${high}:${low.padStart(4, "0").slice(0, 2)}:${low.padStart(4, "0").slice(2)}00::`,
        `64:ff9b:1::${dotted}`,
        `2002:${high}:${low}::${any.toString(16)}`,
        `2001:0:${high}:${low}:8000:${any.toString(16)}:${other}`,
        `2a00:1450:${any.toString(16)}::5efe:${dotted}`,
        `2a00:1450:${any.toString(16)}:0:200:5efe:${high}:${low}`,
      ]) {
        assert.notEqual(whyNotGlobal(carrier, []), null, carrier);
      }
    }),
  );
});

test("refuses IPv6 addresses outside of 2000::/3", () => {
  fc.assert(
    fc.property(hextet, fc.array(hextet, { minLength: 7, maxLength: 7 }), (first, rest) => {
      fc.pre(first >> 13 !== 1);
      const address = [first, ...rest].map((part) => part.toString(16)).join(":");
      assert.notEqual(whyNotGlobal(address, []), null, address);
    }),
  );
});
