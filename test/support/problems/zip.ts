import { crc32, deflateRawSync } from "node:zlib";

/** A member of an archive, which can be invalid. */
export interface Member {
  /** Bytes are the name in an unknown encoding; a text is stored in UTF-8, and marked as such. */
  readonly name: string | Buffer;
  readonly data: string | Buffer;
  /** Type and permissions as in stat; a plain file by default. */
  readonly mode?: number;
  /** The size that the archive states; the right one by default. */
  readonly stated?: number;
  /** The bytes in the archive; the deflated data by default. */
  readonly packed?: Buffer;
  /** Whether the directory of the archive says that it begins where the member before it begins. Its own data are then left out. */
  readonly isSame?: boolean;
  /** A name in Unicode, in an extra field, which readers prefer to `name`. */
  readonly unicodeName?: string;
  /** The number of the system on which the archive was made; that of Unix by default. */
  readonly system?: number;
}

/** It is made once, because archives with many empty members need it tens of thousands of times. */
const EMPTY = deflateRawSync("");

/** A ZIP archive with these members as they are. */
export function zipOf(members: readonly Member[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  let last = 0;
  for (const {
    name,
    data,
    mode = 0o100644,
    stated,
    packed = packedOf(data),
    isSame,
    unicodeName,
    system = 3,
  } of members) {
    const content = Buffer.from(data);
    const path = Buffer.from(name);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    if (typeof name === "string") facts.writeUInt16LE(0x0800, 2); // names in UTF-8
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(crc32(content), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(stated ?? content.length, 18);
    facts.writeUInt16LE(path.length, 22);
    const extra = unicodeName === undefined ? Buffer.alloc(0) : unicodePath(path, unicodeName);
    facts.writeUInt16LE(extra.length, 24);
    const [local, entry, rest] = [Buffer.from("PK\x03\x04"), Buffer.from("PK\x01\x02\x14\0"), Buffer.alloc(14)];
    entry[5] = system;
    rest.writeUInt32LE((mode << 16) >>> 0, 6);
    if (!isSame) last = at;
    rest.writeUInt32LE(last, 10);
    directory.push(entry, facts, rest, path, extra);
    if (isSame) continue;
    bodies.push(local, facts, path, extra, packed);
    at += local.length + facts.length + path.length + extra.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...bodies, ...directory, end]);
}

/** The extra field 0x7075 of the ZIP format. */
function unicodePath(path: Buffer, name: string): Buffer {
  const head = Buffer.alloc(9);
  head.writeUInt16LE(0x7075, 0);
  head.writeUInt16LE(5 + Buffer.byteLength(name), 2);
  head.writeUInt8(1, 4);
  head.writeUInt32LE(crc32(path), 5);
  return Buffer.concat([head, Buffer.from(name)]);
}

function packedOf(data: string | Buffer): Buffer {
  return data.length === 0 ? EMPTY : deflateRawSync(Buffer.from(data));
}
