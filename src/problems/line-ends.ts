import type { LazyFile } from "./files.ts";

const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d];

/**
 * The file with the line ends of Unix, if all its lines end as on Windows. Any other file is left as it is, because a carriage return can be
 * a part of its content.
 */
export function withUnixLineEnds({ size, read }: LazyFile): LazyFile {
  return { size, read: () => converted(read()) };
}

function converted(content: Buffer): Buffer {
  if (!content.includes(CARRIAGE_RETURN)) return content;
  const result = Buffer.allocUnsafe(content.length);
  let length = 0;
  for (let at = 0; at < content.length; at++) {
    const byte = content[at] as number;
    const isBefore = byte === CARRIAGE_RETURN && content[at + 1] === LINE_FEED;
    const isLone = byte === CARRIAGE_RETURN ? !isBefore : byte === LINE_FEED && content[at - 1] !== CARRIAGE_RETURN;
    if (isLone) return content;
    if (!isBefore) result[length++] = byte;
  }
  return result.subarray(0, length);
}
