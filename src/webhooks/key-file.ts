import { randomBytes, randomUUID } from "node:crypto";
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

export const KEY_BYTES = 32;

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
 * The key that webhook secrets are sealed with: 32 random bytes, nothing else.
 * @throws SecretKeyError when it is missing, has another size or can be read by everyone.
 */
export function loadKey({ path, make }: SecretKeyFile): Buffer {
  const key = read(path) ?? (make ? makeKey(path) : undefined);
  if (!key) throw new SecretKeyError(`${path} is not there; make it as root with: ${HOW_TO_MAKE}`);
  if (key.length !== KEY_BYTES) {
    throw new SecretKeyError(`${path} must have exactly ${KEY_BYTES} bytes, but it has ${key.length}`);
  }
  return key;
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
  const directory = openSync(dirname(path), "r");
  fsyncSync(directory);
  closeSync(directory);
  return read(path);
}
