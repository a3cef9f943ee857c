import { createHash, randomBytes, randomUUID } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

export const KEY_BYTES = 32;

/** Each is tried for a value of form 1, so there is a bound. */
const MAX_KEYS = 16;

const ID_BYTES = 4;

export interface Key {
  /** The start of a hash of the key: it tells keys apart and reveals nothing of use. 4 bytes. */
  readonly id: Buffer;
  /** 32 bytes. */
  readonly bytes: Buffer;
}

/** For the user that the set-up makes, who has to read it. */
const HOW_TO_MAKE = `(umask 077; head -c ${KEY_BYTES} /dev/urandom > FILE; chown assay: FILE)`;

/** Bits of the mode by which more than the owner, and a group for reading, gets at the key. */
const TOO_OPEN = 0o027;

export interface SecretKeyFile {
  readonly path: string;
  /**
   * Whether it may be made when it is not there. Never one that somebody named: machines
   * that share it would each make their own, and none could open what the others sealed.
   */
  readonly make: boolean;
}

/** A key file that cannot be used; the message is for the operator. */
export class SecretKeyError extends Error {
  override readonly name = "SecretKeyError";
}

/**
 * The keys that webhook secrets are sealed with: 32 random bytes each and nothing else. The first one seals.
 * @throws SecretKeyError when the file is missing, has another size, has a key twice or can be read by everyone.
 */
export function loadKeys({ path, make }: SecretKeyFile): readonly [Key, ...Key[]] {
  const bytes = read(path) ?? (make ? makeKey(path) : undefined);
  if (!bytes) throw new SecretKeyError(`${path} is not there; make it as root with: ${HOW_TO_MAKE}`);
  if (bytes.length === 0 || bytes.length % KEY_BYTES !== 0 || bytes.length > MAX_KEYS * KEY_BYTES) {
    const rule = `must have ${KEY_BYTES} bytes for each of 1 to ${MAX_KEYS} keys`;
    throw new SecretKeyError(`${path} ${rule}, but it has ${bytes.length} bytes`);
  }
  const keys = Array.from({ length: bytes.length / KEY_BYTES }, (_, at) =>
    keyOf(bytes.subarray(at * KEY_BYTES, (at + 1) * KEY_BYTES)),
  );
  const ids = new Set(keys.map(({ id }) => id.toString("hex")));
  if (ids.size < keys.length) throw new SecretKeyError(`${path} has a key twice, or two keys of the same id`);
  return keys as [Key, ...Key[]];
}

/** @param bytes 32 of them. */
export function keyOf(bytes: Buffer): Key {
  if (bytes.length !== KEY_BYTES) throw new SecretKeyError(`a key must have ${KEY_BYTES} bytes, not ${bytes.length}`);
  const id = createHash("sha256").update("assay: id of a sealing key").update(bytes).digest().subarray(0, ID_BYTES);
  return { id, bytes };
}

/** Puts a new random key in front of the others, so that it seals from now on. @throws SecretKeyError */
export function addKey(path: string): void {
  changeKeys(path, (keys) => {
    if (keys.length === MAX_KEYS) throw new SecretKeyError(`${path} has ${MAX_KEYS} keys, which is the most`);
    return [keyOf(randomBytes(KEY_BYTES)), ...keys];
  });
}

/**
 * Leaves only the first key.
 * @param first the id that the first key must have.
 * @returns how many keys were removed.
 * @throws SecretKeyError when another key has become the first one.
 */
export function forgetOldKeys(path: string, first: Buffer): number {
  let removed = 0;
  changeKeys(path, (keys) => {
    if (!keys[0].id.equals(first)) throw new SecretKeyError(`${path} has got another first key: repeat the command`);
    removed = keys.length - 1;
    return [keys[0]];
  });
  return removed;
}

/**
 * Replaces the file as a whole: a reader sees the old keys or the new ones. The draft is also the lock between
 * commands, or of two that add a key at once one key would be lost together with what it had sealed.
 */
function changeKeys(named: string, change: (keys: readonly [Key, ...Key[]]) => readonly Key[]): void {
  loadKeys({ path: named, make: false });
  const path = realpathSync(named);
  const draft = `${path}.new`;
  let file: number;
  try {
    file = openSync(draft, "wx", 0o600);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw new SecretKeyError(`${path} cannot be changed: ${message}`);
    const reason = "another command changes the key file, or was interrupted; remove it if no such command runs";
    throw new SecretKeyError(`${draft} is there: ${reason}`);
  }
  try {
    const keys = change(loadKeys({ path, make: false }));
    const { mode, uid, gid } = statSync(path);
    writeFileSync(file, Buffer.concat(keys.map(({ bytes }) => bytes)));
    fchownSync(file, uid, gid);
    fchmodSync(file, mode & 0o777);
    fsyncSync(file);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    if (error instanceof SecretKeyError) throw error;
    throw new SecretKeyError(`${path} cannot be changed: ${(error as Error).message}`);
  } finally {
    closeSync(file);
  }
  flushDirectory(path);
}

function read(path: string): Buffer | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    if ((fstatSync(file).mode & TOO_OPEN) !== 0) {
      throw new SecretKeyError(`${path} can be read or changed by others than its owner: chmod 600 it`);
    }
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Made beside its place and linked there when it is on the disk: whoever reads it meanwhile
 * sees all of it or nothing, and of two that make one at the same time both use the first.
 */
function makeKey(path: string): Buffer | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, randomBytes(KEY_BYTES), { mode: 0o600, flag: "wx", flush: true });
    try {
      linkSync(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  } finally {
    rmSync(draft, { force: true });
  }
  flushDirectory(path);
  return read(path);
}

function flushDirectory(path: string): void {
  const directory = openSync(dirname(path), "r");
  fsyncSync(directory);
  closeSync(directory);
}
