/** Three to five steps of an axis, each 1, 2 or 5 times a power of ten; the last is the maximum. */
export function steps(top: number): readonly number[] {
  if (top <= 0) return [0, 1];
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.ceil(top / step) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

/** The positions with a label, if each label is several positions wide; none overflows at the end. */
export function labelled(places: number, taken: number): readonly number[] {
  const every = Math.max(1, Math.ceil(taken));
  return Array.from({ length: Math.floor(places / every) }, (_, i) => i * every);
}
