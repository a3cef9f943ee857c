import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { KeyRing } from "../domain/sealer.ts";
import { keyOf, loadKeys, type SealingKey, SecretKeyError, type SecretKeyFile } from "./key-file.ts";

const ALGORITHM = "aes-256-gcm";
/** The form of a sealed secret, which is its first byte. Form 1 does not contain the id of the key, so each key is tried in turn. */
const WITHOUT_ID = 1;
const WITH_ID = 2;
/** The nonce of each secret is random. 96 bits are enough for the number of secrets that one key seals. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

type Keys = readonly [SealingKey, ...SealingKey[]];

/**
 * Seals with the first key of a file. A sealed secret consists of the form (1 byte), the id of the key (4 bytes, only in form 2), the nonce
 * (12 bytes), the ciphertext and the tag (16 bytes). The id of the endpoint is authenticated with it, so a sealed secret cannot be moved to
 * another row; in form 2, the bytes before the nonce are authenticated as well. While the file has one key, secrets are sealed in form 1:
 * releases without key rotation, which may run at the same time during an upgrade, can open this form.
 *
 * The file is read again whenever a secret is sealed, and if no known key opens a secret, so a new key needs no restart.
 * @throws SecretKeyError if the file is invalid, also when a method reads it again.
 */
export function fileSealer(file: SecretKeyFile): KeyRing {
  const first = loadKeys(file);
  return ring(first, () => loadKeys({ ...file, make: false }));
}

/** Seals with a key that is not in a file. @param key 32 bytes. */
export function keySealer(key: Buffer): KeyRing {
  const keys: Keys = [keyOf(key)];
  return ring(keys, () => keys);
}

function ring(first: Keys, read: () => Keys): KeyRing {
  let keys = first;
  const seal = (id: string, secret: string) => {
    keys = read();
    return sealWith(keys[0], keys.length > 1, id, secret);
  };
  return {
    seal,

    open(id, sealed) {
      const known = opened(keys, id, sealed);
      if (known) return known.secret;
      keys = read();
      return (opened(keys, id, sealed) ?? cannotOpen(id)).secret;
    },

    renew(id, sealed) {
      keys = read();
      const { secret, key } = opened(keys, id, sealed) ?? cannotOpen(id);
      return key === keys[0] ? null : sealWith(keys[0], true, id, secret);
    },

    newest() {
      keys = read();
      return keys[0].id;
    },
  };
}

function sealWith(key: SealingKey, named: boolean, id: string, secret: string): Buffer {
  const head = named ? Buffer.concat([Buffer.from([WITH_ID]), key.id]) : Buffer.from([WITHOUT_ID]);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key.bytes, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated(head, id));
  const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  return Buffer.concat([head, nonce, sealed, cipher.getAuthTag()]);
}

/** @returns undefined if none of the keys opens it. */
function opened(keys: Keys, id: string, sealed: Buffer): { secret: string; key: SealingKey } | undefined {
  if (sealed[0] !== WITHOUT_ID && sealed[0] !== WITH_ID) return undefined;
  for (const key of keys) {
    const headBytes = sealed[0] === WITH_ID ? 1 + key.id.length : 1;
    if (sealed.length < headBytes + NONCE_BYTES + TAG_BYTES) continue;
    const head = sealed.subarray(0, headBytes);
    if (sealed[0] === WITH_ID && !head.subarray(1).equals(key.id)) continue;
    const nonce = sealed.subarray(headBytes, headBytes + NONCE_BYTES);
    const body = sealed.subarray(headBytes + NONCE_BYTES, sealed.length - TAG_BYTES);
    try {
      const decipher = createDecipheriv(ALGORITHM, key.bytes, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(authenticated(head, id));
      decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
      return { secret: Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8"), key };
    } catch {
      // It was sealed with another key or for another endpoint, or it was modified.
    }
  }
  return undefined;
}

/** The data that is authenticated in addition to the secret: in form 1, only the id of the endpoint. */
function authenticated(head: Buffer, id: string): Buffer {
  const name = Buffer.from(id, "utf8");
  return head[0] === WITHOUT_ID ? name : Buffer.concat([head, name]);
}

function cannotOpen(id: string): never {
  throw new SecretKeyError(`the secret of endpoint ${id} cannot be decrypted: it was encrypted with another key file`);
}
