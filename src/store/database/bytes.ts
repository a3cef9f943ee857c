/** Turns byte arrays in a message from another thread into Buffers: a message keeps their bytes, but not the type Buffer. */
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
