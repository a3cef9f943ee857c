/** Whether the bytes are equal without white space at the ends of lines and of the whole. Linear: both can be large. */
export function isSame(output: Buffer, expected: Buffer): boolean {
  return stripped(output) === stripped(expected);
}

/** One character for each byte. */
function stripped(bytes: Buffer): string {
  const lines = bytes.toString("latin1").split("\n").map(withoutEnd);
  while (lines.at(-1) === "") lines.pop();
  return lines.join("\n");
}

const WHITE = "\0\t\v\f\r ";

function withoutEnd(line: string): string {
  let end = line.length;
  while (end > 0 && WHITE.includes(line.charAt(end - 1))) end--;
  return line.slice(0, end);
}
