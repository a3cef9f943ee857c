import { createSocket, type RemoteInfo } from "node:dgram";
import type { TestContext } from "node:test";

const TYPE_A = 1;

/**
 * A name server on the loopback address, which stands for all name servers of the internet.
 * @param addressOf the IPv4 address of a name; null if there is no such name.
 * @returns `ADDRESS:PORT`.
 */
export async function fakeNameServer(
  t: Pick<TestContext, "after">,
  addressOf: (name: string) => string | null = () => "127.0.0.1",
): Promise<string> {
  const socket = createSocket("udp4");
  socket.on("message", (query: Buffer, from: RemoteInfo) =>
    socket.send(answered(query, addressOf), from.port, from.address),
  );
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  t.after(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

/** The answer to a query with one question and without further records of interest. */
function answered(query: Buffer, addressOf: (name: string) => string | null): Buffer {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 5;
  const address = addressOf(labels.join("."));
  const isAnswered = address !== null && query.readUInt16BE(at + 1) === TYPE_A;
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(address === null ? 0x8183 : 0x8180, 2); // NXDOMAIN, or no error
  head.writeUInt16BE(isAnswered ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  if (!isAnswered) return head;
  return Buffer.concat([
    head,
    Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split(".").map(Number)]),
  ]);
}
