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
import { OperatorError } from "../domain/operator-error.ts";

export const KEY_BYTES = 32;

/** The most keys of a file. They are bounded, because a secret that was sealed in form 1 (seal.ts) is opened with each key in turn. */
const MAX_KEYS = 16;

const ID_BYTES = 4;

export interface SealingKey {
  /** The first 4 bytes of a hash of the key. They identify the key without revealing it. */
  readonly id: Buffer;
  /** 32 bytes. */
  readonly bytes: Buffer;
}

/** A command that makes the file for the user `assay`, whom set-up creates and who runs the service. */
const MAKE = `(umask 077; head -c ${KEY_BYTES} /dev/urandom > FILE; chown assay: FILE)`;
const HOW_TO_MAKE = `create it as root with: ${MAKE}`;
/** The advice if the database already has secrets. With a new key, the service would start, but could not open any of them. */
const HOW_TO_COPY = `the database has webhook endpoints, whose secrets no new key can open: copy the old key file, for example from the machine of the backup; it must belong to the user assay, with mode 0600. If it is lost: ${MAKE}, then 'assay webhooks rotate ENDPOINT --now' for each endpoint`;

/** Mode bits that must not be set: write and execute for the group, and any access for others. */
const TOO_OPEN = 0o027;

export interface SecretKeyFile {
  readonly path: string;
  /**
   * Whether a missing file may be created. It must be false for a configured path: each of the machines that share the file would create
   * one of its own, and could not open the secrets of the others.
   */
  readonly make: boolean;
  /** Whether the database has secrets that only the keys of an existing file can open. */
  readonly hasSecrets?: boolean;
}

/** An invalid key file; the message is for the operator. */
export class SecretKeyError extends OperatorError {
  override readonly name = "SecretKeyError";
}

/**
 * Reads the keys for webhook secrets. Each key has 32 random bytes, and there are no separators. The first key seals.
 * @throws SecretKeyError if the file is missing, has too wide a mode (TOO_OPEN), a wrong size or a duplicate key.
 */
export function loadKeys({ path, make, hasSecrets = false }: SecretKeyFile): readonly [SealingKey, ...SealingKey[]] {
  const bytes = read(path) ?? (make ? makeKey(path) : undefined);
  if (!bytes) throw new SecretKeyError(`${path} does not exist; ${hasSecrets ? HOW_TO_COPY : HOW_TO_MAKE}`);
  if (bytes.length === 0 || bytes.length % KEY_BYTES !== 0 || bytes.length > MAX_KEYS * KEY_BYTES) {
    const rule = `must have ${KEY_BYTES} bytes for each of 1 to ${MAX_KEYS} keys`;
    throw new SecretKeyError(`${path} ${rule}, but it has ${bytes.length} bytes`);
  }
  const keys = Array.from({ length: bytes.length / KEY_BYTES }, (_, at) =>
    keyOf(bytes.subarray(at * KEY_BYTES, (at + 1) * KEY_BYTES)),
  );
  const ids = new Set(keys.map(({ id }) => id.toString("hex")));
  if (ids.size < keys.length) throw new SecretKeyError(`${path} has a duplicate key, or two keys with the same id`);
  return keys as [SealingKey, ...SealingKey[]];
}

/** @param bytes the 32 bytes of the key. @throws SecretKeyError if it has another length. */
export function keyOf(bytes: Buffer): SealingKey {
  if (bytes.length !== KEY_BYTES) throw new SecretKeyError(`a key must have ${KEY_BYTES} bytes, not ${bytes.length}`);
  const id = createHash("sha256").update("assay: id of a sealing key").update(bytes).digest().subarray(0, ID_BYTES);
  return { id, bytes };
}

/** Adds a new random key to the file, before all others, so that it seals. @throws SecretKeyError */
export function addKey(path: string): void {
  changeKeys(path, (keys) => {
    if (keys.length === MAX_KEYS) throw new SecretKeyError(`${path} already has ${MAX_KEYS} keys, the maximum`);
    return [keyOf(randomBytes(KEY_BYTES)), ...keys];
  });
}

/**
 * Removes all keys but the first from the file.
 * @param first the id that the first key must have.
 * @returns the number of removed keys.
 * @throws SecretKeyError if the first key has changed.
 */
export function forgetOldKeys(path: string, first: Buffer): number {
  let removed = 0;
  changeKeys(path, (keys) => {
    if (!keys[0].id.equals(first)) throw new SecretKeyError(`the first key of ${path} has changed: repeat the command`);
    removed = keys.length - 1;
    return [keys[0]];
  });
  return removed;
}

/**
 * Replaces the file atomically: a reader sees either the old keys or the new ones. The draft file is also a lock between commands. Without
 * the lock, of two keys that are added at the same time one could be lost, with all secrets that it had sealed.
 */
function changeKeys(
  named: string,
  change: (keys: readonly [SealingKey, ...SealingKey[]]) => readonly SealingKey[],
): void {
  loadKeys({ path: named, make: false });
  const path = realpathSync(named);
  const draft = `${path}.new`;
  let file: number;
  try {
    file = openSync(draft, "wx", 0o600);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw new SecretKeyError(`${path} cannot be changed: ${message}`);
    const reason =
      "another command is changing the key file, or was interrupted; remove this file if no such command runs";
    throw new SecretKeyError(`${draft} exists: ${reason}`);
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
      throw new SecretKeyError(`${path} is accessible to users other than its owner: set mode 600`);
    }
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Creates the file under another name, flushes it, and links it to its path. A reader therefore sees the complete file or none. If two
 * processes do this at the same time, both use the file that was linked first.
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
