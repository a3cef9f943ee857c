import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isClose } from "../../../src/domain/decimal.ts";

/** An exact fraction. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

/** Compares by the definition, with as many digits as it takes. */
function exactly(got: string, expected: string, absolute: number, relative: number): boolean {
  const [a, b, abs, rel] = [got, expected, String(absolute), String(relative)].map(toFraction) as [
    Fraction,
    Fraction,
    Fraction,
    Fraction,
  ];
  const difference = { over: size(a.over * b.under - b.over * a.under), under: a.under * b.under };
  const share = { over: rel.over * size(b.over), under: rel.under * b.under };
  const isAtMost = (x: Fraction, y: Fraction) => x.over * y.under <= y.over * x.under;
  return isAtMost(difference, abs) || isAtMost(difference, share);
}

const size = (value: bigint) => (value < 0n ? -value : value);

function toFraction(text: string): Fraction {
  const [, sign, whole = "", part = "", exponent = "0"] =
    /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text) ?? assert.fail(text);
  const places = Number(exponent) - part.length;
  const digits = BigInt(`${whole}${part}`) * (sign === "-" ? -1n : 1n);
  return { over: digits * 10n ** BigInt(Math.max(places, 0)), under: 10n ** BigInt(Math.max(-places, 0)) };
}

const digits = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 25 }) },
  fc.string({ unit: fc.constantFrom(..."09"), maxLength: 60 }),
);
const exponent = fc.oneof(fc.constant(""), fc.integer({ min: -30, max: 30 }), fc.integer({ min: -700, max: 700 }));
const number = fc
  .tuple(fc.constantFrom("", "", "+", "-"), digits, fc.constantFrom("", "."), digits, exponent)
  .map(
    ([sign, whole, point, part, power]) =>
      `${sign}${whole || "0"}${point}${point && part}${power === "" ? "" : `e${power}`}`,
  );
const tolerance = fc.oneof(
  fc.constantFrom(0, 1e-6, 1e-9, 0.1, 1, 5e-324, 1e-300, 1.7976931348623157e308),
  fc.double({ min: 0, max: 1e9, noNaN: true }),
  fc.integer({ min: -320, max: 300 }).map((power) => Number(`1e${power}`)),
);

test("numbers are close exactly when exact arithmetic finds them so", () => {
  fc.assert(
    fc.property(number, number, tolerance, tolerance, (got, expected, absolute, relative) => {
      assert.equal(isClose(got, expected, absolute, relative), exactly(got, expected, absolute, relative));
    }),
    { numRuns: 20_000 },
  );
});

/** a + b × 10^places, as a decimal number without exponent. */
function plus(a: bigint, b: bigint, places: number): string {
  const sum = a * 10n ** BigInt(places) + b;
  const text = size(sum)
    .toString()
    .padStart(places + 1, "0");
  return `${sum < 0n ? "-" : ""}${text.slice(0, text.length - places)}.${text.slice(text.length - places)}`;
}

test("numbers at the very edge of a tolerance, and one digit beyond it", () => {
  const whole = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
  const power = fc.integer({ min: 0, max: 12 });
  const further = fc.integer({ min: 0, max: 40 });
  let [inside, outside] = [0, 0];
  fc.assert(
    fc.property(
      whole,
      power,
      further,
      fc.constantFrom(1n, -1n),
      fc.boolean(),
      (expected, power, further, side, isRelative) => {
        const places = power + further;
        const at = side * 10n ** BigInt(further) * (isRelative ? size(expected) : 1n);
        const tolerance = Number(`1e-${power}`);
        const tolerances: [number, number] = isRelative ? [0, tolerance] : [tolerance, 0];
        for (const beyond of [0n, side, -side]) {
          const got = plus(expected, at + beyond, places);
          const close = isClose(got, `${expected}`, ...tolerances);
          assert.equal(close, exactly(got, `${expected}`, ...tolerances), `${got} for ${expected}, ${tolerances}`);
          if (close) inside++;
          else outside++;
        }
      },
    ),
    { numRuns: 5_000 },
  );
  assert.ok(inside > 5_000 && outside > 1_000, `${inside}, ${outside}`);
});

const ZEROS = "0".repeat(310);
const [NINES, HUGE] = ["9".repeat(400), Number.MAX_VALUE];
/** got, expected, absolute, relative. */
const CLOSE: readonly (readonly [string, string, number, number])[] = [
  [`1${ZEROS}`, "1e310", 0, 0],
  ["1e400", "1000000e394", 0, 0],
  [`1${ZEROS}`, `1${ZEROS.slice(1)}1`, 1e-6, 1e-6],
  ["1e999999999", "1.0000005e999999999", 0, 1e-6],
  ["-1e999999999", "-1e999999999", 0, 0],
  ["1e-999999999", "0", 1e-6, 0],
  ["0e999999999", "0", 0, 0],
  ["-0", "0", 0, 0],
  ["+0.0", "-0e5", 0, 0],
  ["5e-324", "4e-324", 0, 0.25],
  ["1.000001", "1", 1e-6, 0],
  ["1100", "1000", 0, 0.1],
  ["900", "1000", 0, 0.1],
  ["-1", "1", 2, 0],
  ["0", "1", 0, 1],
  ["1e308", "-7e307", HUGE, 0],
  ["-1e308", "1e308", 0, 2],
  ["1e0000000000000000000000005", "100000", 0, 0],
  ["inf", "Infinity", 0, 0],
  ["-INF", "-infinity", 0, 0],
  ["+inf", "inf", 0, 0],
  ["nan", "-NaN", 0, 0],
];
const APART: readonly (readonly [string, string, number, number])[] = [
  ["0", `1${ZEROS}`, 1e-6, 1e-6],
  ["-7", "1e400", 1e-6, 1e-6],
  ["1e400", "1e401", 1e-6, 0.5],
  ["1e401", "1e400", 1e-6, 0.5],
  [NINES, `1${"0".repeat(400)}`, 0.5, 0],
  ["-1e400", "1e400", HUGE, 1],
  ["1e999999999", "1", 1e-6, 1e-6],
  ["1e-999999999", "0", 0, HUGE],
  ["5e-324", "4e-324", 0, 0],
  ["1e-400", "2e-400", 0, 0.25],
  ["1.0000010000000000000000000001", "1", 1e-6, 0],
  ["899.99999999999999999999999", "1000", 0, 0.1],
  ["0.001", "0", 0, 0.1],
  ["inf", "-inf", HUGE, HUGE],
  ["inf", "1e999", HUGE, HUGE],
  ["1e999", "inf", HUGE, HUGE],
  ["0", "inf", HUGE, HUGE],
  ["nan", "0", HUGE, HUGE],
  ["0", "nan", HUGE, HUGE],
  ["0x10", "16", HUGE, HUGE],
  ["0x1p3", "8", HUGE, HUGE],
  ["1e", "1", HUGE, HUGE],
  ["1_000", "1000", HUGE, HUGE],
  [".", "0", HUGE, HUGE],
  ["1.2.3", "1.2", HUGE, HUGE],
  ["--1", "1", HUGE, HUGE],
  ["", "0", HUGE, HUGE],
  ["1e1000000000000000", "1e1000000000000000", HUGE, HUGE],
];

test("numbers beyond doubles, infinities, NaN, signed zeros, denormals and texts that are no numbers", () => {
  const shown = (one: readonly unknown[]) => one.map((part) => `${part}`.slice(0, 40)).join(" | ");
  for (const one of CLOSE) assert.ok(isClose(...one), shown(one));
  for (const one of APART) assert.ok(!isClose(...one), shown(one));
});

test("the CPU time of a number is in proportion to its digits, and its exponent costs none", () => {
  const cpuMs = (work: () => void) => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const size = 1_000_000;
  const ones = "1".repeat(size);
  const pairs = [
    [`${ones}1`, `${ones}2`],
    [`1.${"0".repeat(size)}1`, "1"],
    [`0.${"0".repeat(size)}1`, `${ones}e-${size}`],
    [ones, ones.replace(/1$/, "0")],
    [`1e${"9".repeat(size)}`, "1"],
    ["1e999999999", "1"],
    ["1e-999999999999999", "1e999999999999999"],
  ] as const;
  for (const [got, expected] of pairs)
    for (const tolerance of [0, 1e-6, 1.23456789012345e-9]) {
      const used = cpuMs(() => isClose(got, expected, tolerance, tolerance));
      assert.ok(used < 3_000, `${got.slice(0, 9)}… and ${expected.slice(0, 9)}… took ${used} ms`);
    }
});
