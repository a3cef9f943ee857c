/** Turns byte arrays from another thread into Buffers again: messages between threads lose that type. */
export function asBuffers(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length);
  if (typeof value !== "object" || value === null) return value;
  const inner = value as Record<string, unknown>;
  for (const name in inner) {
    const there = inner[name];
    if (typeof there === "object") inner[name] = asBuffers(there);
  }
  return value;
}
