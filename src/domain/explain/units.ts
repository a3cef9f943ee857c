/** Formats numbers for readers. */

export function bytesText(bytes: number): string {
  if (bytes >= 1 << 20) return `${trim(bytes / (1 << 20))} MiB`;
  return bytes >= 1 << 10 ? `${trim(bytes / (1 << 10))} KiB` : countText(bytes, "byte");
}

export function secondsText(seconds: number): string {
  return seconds >= 1 ? `${seconds.toFixed(2)} s` : `${Math.round(seconds * 1000)} ms`;
}

export function countText(count: number, what: string, many = `${what}s`): string {
  return `${count} ${count === 1 ? what : many}`;
}

/** One decimal place, none for whole numbers: 256, 3.4. */
function trim(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}
