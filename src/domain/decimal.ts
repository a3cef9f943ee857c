/**
 * Decimal numbers in texts, compared exactly. Doubles cannot do that: they end at 1.8e308, and they have only the first 17 digits of
 * a large integer. The functions take time in proportion to the texts: no number is written out with the zeros that
 * its exponent stands for.
 */

/** A finite number: ± digits × 10^last. There are no zeros at either end of the digits. The number zero has no digits. */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  /** The place of the last digit: 0 for units. */
  readonly last: number;
}

/** A text with a longer exponent is not a number. Within this bound, doubles represent the places of digits exactly. */
const MAX_EXPONENT_DIGITS = 15;

const INFINITE = /^[+-]?inf(?:inity)?$/i;
const NOT_A_NUMBER = /^[+-]?nan$/i;
const LONGEST_NAME = "+infinity".length;

/**
 * Whether a number of an output is as close to that of an answer as the tolerances demand: |got - expected| is at most `absolute`,
 * or at most `relative` × |expected|. A tolerance is the decimal number that JSON has for it: 1e-6 is 10^-6 and not the nearest double.
 * An infinity is close to an infinity of the same sign, and NaN to NaN. All other texts, including hexadecimal numbers, are no numbers,
 * and close to nothing.
 */
export function isClose(got: string, expected: string, absolute: number, relative: number): boolean {
  const [a, b] = [toDecimal(got), toDecimal(expected)];
  if (!a || !b) return !a && !b && isSameName(got, expected);
  if (isEqual(a, b)) return true;
  const sure = byDoubles(Number(got), Number(expected), absolute, relative);
  if (sure !== null) return sure;
  const tolerances = [toleranceOf(absolute), toleranceOf(relative)] as const;
  return (
    byIntegers(a, b, tolerances) ??
    (isWithin(a, b, toTerms(tolerances[0])) || isWithin(a, b, toTerms(tolerances[1], b)))
  );
}

/** Parsed tolerances. They are kept, because all numbers of a comparison have the same tolerances. */
const KNOWN_TOLERANCES = new Map<number, Decimal>();
const MOST_KNOWN = 16;

function toleranceOf(tolerance: number): Decimal {
  const known = KNOWN_TOLERANCES.get(tolerance);
  if (known) return known;
  const decimal = toDecimal(String(tolerance)) ?? ZERO_DECIMAL;
  if (KNOWN_TOLERANCES.size >= MOST_KNOWN) KNOWN_TOLERANCES.clear();
  KNOWN_TOLERANCES.set(tolerance, decimal);
  return decimal;
}

/** Up to this many places between the highest and the lowest digit, integers are faster than a sum of terms. */
const MOST_PLACES = 700;
const POWERS = Array.from({ length: MOST_PLACES + 1 }, (_, exponent) => 10n ** BigInt(exponent));

/** Whether a number is close enough, computed with integers in units of the lowest place; null if there are too many places. */
function byIntegers(a: Decimal, b: Decimal, [absolute, relative]: readonly [Decimal, Decimal]): boolean | null {
  const share = { digits: relative.digits, last: relative.last + b.last };
  const unit = Math.min(a.last, b.last, absolute.last, share.last);
  const highest = Math.max(
    ...[a, b, absolute].map(({ digits, last }) => last + digits.length),
    share.last + relative.digits.length + b.digits.length,
  );
  if (!(highest - unit <= MOST_PLACES)) return null;
  const inUnits = ({ digits, last }: Pick<Decimal, "digits" | "last">) => BigInt(digits) * (POWERS[last - unit] ?? 0n);
  const [got, expected] = [inUnits(a), inUnits(b)];
  const difference = a.isNegative === b.isNegative ? got - expected : got + expected;
  const distance = difference < 0n ? -difference : difference;
  return distance <= inUnits(absolute) || distance <= inUnits(share) * BigInt(b.digits);
}

function isEqual(a: Decimal, b: Decimal): boolean {
  return a.digits === b.digits && (a.digits === "" || (a.last === b.last && a.isNegative === b.isNegative));
}

function isSameName(got: string, expected: string): boolean {
  if (got.length > LONGEST_NAME || expected.length > LONGEST_NAME) return false;
  if (INFINITE.test(got)) return INFINITE.test(expected) && got.startsWith("-") === expected.startsWith("-");
  return NOT_A_NUMBER.test(got) && NOT_A_NUMBER.test(expected);
}

/** Upper bounds of the error of the few roundings in byDoubles: in relation to the numbers, and for numbers near zero. */
const [RELATIVE_ERROR, LEAST_ERROR] = [1e-14, 1e-300];

/** Whether a number is close enough, computed with doubles; null if their rounding could change the result. */
function byDoubles(got: number, expected: number, absolute: number, relative: number): boolean | null {
  const difference = Math.abs(got - expected);
  const most = Math.max(absolute, relative * Math.abs(expected));
  // The error of an answer near zero counts times the relative tolerance.
  const doubt = (Math.abs(got) + Math.abs(expected) + most) * RELATIVE_ERROR + (1 + relative) * LEAST_ERROR;
  if (!Number.isFinite(difference + most + doubt)) return null;
  if (difference + doubt <= most) return true;
  return difference - doubt > most ? false : null;
}

const [PLUS, MINUS, POINT, ZERO, NINE] = [0x2b, 0x2d, 0x2e, 0x30, 0x39];

/** @returns null for a text that is no finite decimal number, or has an exponent of more than 15 digits. */
function toDecimal(text: string): Decimal | null {
  const sign = text.charCodeAt(0);
  const from = sign === PLUS || sign === MINUS ? 1 : 0;
  const point = endOfDigits(text, from);
  const fraction = text.charCodeAt(point) === POINT ? point + 1 : point;
  const end = endOfDigits(text, fraction);
  const all = text.slice(from, point) + text.slice(fraction, end);
  if (all === "") return null;
  let exponent = 0;
  if (end < text.length) {
    const found = exponentIn(text, end);
    if (found === null) return null;
    exponent = found;
  }
  let [first, after] = [0, all.length];
  while (first < after && all.charCodeAt(first) === ZERO) first++;
  while (after > first && all.charCodeAt(after - 1) === ZERO) after--;
  const last = exponent - (end - fraction) + (all.length - after);
  return { isNegative: sign === MINUS, digits: all.slice(first, after), last };
}

function endOfDigits(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code >= ZERO && code <= NINE; code = text.charCodeAt(at)) at++;
  return at;
}

function exponentIn(text: string, at: number): number | null {
  if (text[at] !== "e" && text[at] !== "E") return null;
  const sign = text.charCodeAt(at + 1);
  let from = sign === PLUS || sign === MINUS ? at + 2 : at + 1;
  if (from === text.length || endOfDigits(text, from) < text.length) return null;
  while (text.charCodeAt(from) === ZERO) from++;
  if (text.length - from > MAX_EXPONENT_DIGITS) return null;
  return Number(text.slice(from)) * (sign === MINUS ? -1 : 1);
}

/** coefficient × digits × 10^last, with a small coefficient. */
interface Term {
  readonly coefficient: number;
  readonly digits: string;
  readonly last: number;
}

/** -tolerance × |factor|: a term for each digit of the tolerance. */
function toTerms({ digits, last }: Decimal, factor: Decimal = ONE): Term[] {
  return [...digits].map((digit, at) => ({
    coefficient: -Number(digit),
    digits: factor.digits,
    last: factor.last + last + digits.length - 1 - at,
  }));
}

const ONE: Decimal = { isNegative: false, digits: "1", last: 0 };
const ZERO_DECIMAL: Decimal = { isNegative: false, digits: "", last: 0 };

/** Whether |a - b| is at most the tolerance. @param tolerance a sum of negative terms. */
function isWithin(a: Decimal, b: Decimal, tolerance: readonly Term[]): boolean {
  const [plus, minus] = [1, -1].map(
    (coefficient) =>
      (one: Decimal): Term => ({ ...one, coefficient }),
  ) as [(one: Decimal) => Term, (one: Decimal) => Term];
  if (a.isNegative !== b.isNegative) return !isPositive([plus(a), plus(b), ...tolerance]);
  return !isPositive([plus(a), minus(b), ...tolerance]) && !isPositive([plus(b), minus(a), ...tolerance]);
}

/**
 * Whether the sum of the terms is above zero. The sum is built from the highest place downwards, and ends where the lower places cannot
 * change its sign: together, they are between -`below` and `above` units of the present place. The sum therefore stays small. While it is
 * zero, places without digits, of which there can be any number between two terms, are skipped.
 */
function isPositive(all: readonly Term[]): boolean {
  const terms = all
    .filter(({ coefficient, digits }) => coefficient !== 0 && digits !== "")
    .map((term) => ({ ...term, first: term.last + term.digits.length - 1 }));
  const total = (sign: 1 | -1) => terms.reduce((sum, one) => sum + Math.max(0, sign * one.coefficient), 0);
  const [above, below] = [Math.max(1, total(1)), Math.max(1, total(-1))];
  let [sum, place] = [0, Number.POSITIVE_INFINITY];
  for (;;) {
    let highest = Number.NEGATIVE_INFINITY;
    for (const { first, last } of terms) if (last <= place) highest = Math.max(highest, Math.min(first, place));
    if (highest === Number.NEGATIVE_INFINITY) return sum > 0;
    if (sum === 0) place = highest;
    sum *= 10;
    for (const { coefficient, digits, first, last } of terms)
      if (place <= first && place >= last) sum += coefficient * (digits.charCodeAt(first - place) - ZERO);
    if (sum >= below) return true;
    if (sum <= -above) return false;
    place--;
  }
}
