/**
 * Whether two texts are equal, apart from white space at the ends of lines and at the end of the text. They are compared byte by byte: to
 * split a text of a million lines into strings would block the process for a second.
 */
export function isSame(output: Buffer, expected: Buffer): boolean {
  return stripped(output).equals(stripped(expected));
}

const LINE_END = 0x0a;
const WHITE = Uint8Array.from({ length: 256 }, (_, byte) => Number("\0\t\v\f\r ".includes(String.fromCharCode(byte))));

function stripped(bytes: Buffer): Buffer {
  const kept = Buffer.allocUnsafe(bytes.length);
  let size = 0;
  /** The size up to the last byte that is not white space: of the present line, and of the whole text. */
  let lineEnd = 0;
  let textEnd = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === LINE_END) size = lineEnd;
    kept[size++] = byte;
    if (WHITE[byte] === 1) continue;
    lineEnd = size;
    if (byte !== LINE_END) textEnd = size;
  }
  return kept.subarray(0, textEnd);
}
