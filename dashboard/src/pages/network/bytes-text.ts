const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;
const FORM = /^(\d+(?:\.\d+)?) ?([kmgt]i?)?b?$/i;

/** A number of bytes for a field, exactly: in the largest unit of which it is a whole number, as in `64 MiB`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && value % 1024 === 0 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value} ${UNITS[unit]}`;
}

/**
 * The number of bytes that a person has written: `64 MiB`, `1.5 GiB`, `1000`. `M` and `MB` mean `MiB`.
 * @throws RangeError, with a message for the person.
 */
export function bytesIn(text: string): number {
  const [, amount = "", unit = ""] = FORM.exec(text.trim()) ?? [];
  const power = " kmgt".indexOf(unit.charAt(0).toLowerCase() || " ");
  const bytes = Number(amount) * 1024 ** power;
  if (amount === "" || !Number.isSafeInteger(bytes))
    throw new RangeError(`"${text.slice(0, 40)}" is no number of bytes, such as 64 MiB`);
  return bytes;
}
