/** An axis of values. */
export interface Axis {
  readonly ticks: readonly { readonly value: number; readonly label: string }[];
  /** Returns the height of a value: 0 at the axis of time, 1 at the top of the plot. */
  readonly position: (value: number) => number;
}

/**
 * A linear axis from zero to the last tick, which is at least `top`. The ticks are 1, 2 or 5 times a power of ten apart. There
 * are three to five of them if `top` is above zero.
 */
export function linear(top: number, unit: (value: number) => string): Axis {
  const values = steps(top);
  const highest = values.at(-1) ?? 1;
  return { ticks: values.map((value) => ({ value, label: unit(value) })), position: (value) => value / highest };
}

/** A logarithmic axis between two values above zero. */
export function logarithmic(low: number, high: number, unit: (value: number) => string): Axis {
  const [from, span] = [Math.log10(low), Math.log10(high) - Math.log10(low)];
  const powers = Array.from({ length: 13 }, (_, i) => 10 ** (i - 2));
  const within = (values: readonly number[]) => values.filter((value) => value >= low && value <= high);
  const tens = within(powers);
  const values = tens.length > 1 ? tens : within(powers.flatMap((power) => [power, 2 * power, 5 * power]));
  const position = (value: number) => Math.min(1, Math.max(0, (Math.log10(value) - from) / span));
  return { ticks: values.map((value) => ({ value, label: unit(value) })), position };
}

/** Round values from zero to at least `top`, in steps of 1, 2 or 5 times a power of ten. */
export function steps(top: number): readonly number[] {
  if (top <= 0) return [0, 1];
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.ceil(top / step) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}
