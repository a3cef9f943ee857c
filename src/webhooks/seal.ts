import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Sealer } from "../domain/sealer.ts";
import { KEY_BYTES, loadKey, SecretKeyError, type SecretKeyFile } from "./key-file.ts";

const ALGORITHM = "aes-256-gcm";
/** First byte of what is sealed, so that another form can be told from this one. */
const FORM = 1;
/** Random for each secret: 96 bits are enough for the few that one key will ever seal. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals with the key of a file: form (1 byte), nonce (12), ciphertext, tag (16).
 * The endpoint's id is authenticated with it, so a sealed secret cannot be moved to another row.
 * @throws SecretKeyError when the file cannot be used.
 */
export function fileSealer(file: SecretKeyFile): Sealer {
  return keySealer(loadKey(file));
}

/** @param key 32 bytes. */
export function keySealer(key: Buffer): Sealer {
  if (key.length !== KEY_BYTES) throw new SecretKeyError(`the key must have ${KEY_BYTES} bytes, not ${key.length}`);
  return {
    seal(id, secret) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(id, "utf8"));
      const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.from([FORM]), nonce, sealed, cipher.getAuthTag()]);
    },

    open(id, sealed) {
      const body = sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES);
      if (sealed[0] !== FORM || sealed.length < 1 + NONCE_BYTES + TAG_BYTES) throw cannotOpen(id);
      try {
        const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
        const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(id, "utf8"));
        decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
        return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
      } catch {
        throw cannotOpen(id);
      }
    },
  };
}

function cannotOpen(id: string): SecretKeyError {
  return new SecretKeyError(`the secret of endpoint ${id} cannot be opened: it was sealed with another key file`);
}
