import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** The key of a process for its links, in its memory only, with a certificate that nobody else has signed. */
export interface LinkIdentity {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
  /** SHA-256 of the certificate in DER, hexadecimal. */
  readonly fingerprint: string;
}

const TAG = { integer: 0x02, bits: 0x03, id: 0x06, text: 0x0c, time: 0x18, sequence: 0x30, set: 0x31, version: 0xa0 };
/** ecdsa-with-SHA256 (1.2.840.10045.4.3.2) and commonName (2.5.4.3), as the content of an object identifier. */
const ECDSA_WITH_SHA256 = Buffer.from("2a8648ce3d040302", "hex");
const COMMON_NAME = Buffer.from("550403", "hex");
/** The certificate is valid at any time: how long it counts is decided by the row of its process in the database. */
const [FROM, UNTIL] = ["20000101000000Z", "99991231235959Z"];

/**
 * Makes a key and a certificate for it. The certificate says nothing but the key, because the database says whose key it is. Node can read
 * X.509 certificates but not make them, so its few fields are encoded here, in DER.
 */
export function newIdentity(): LinkIdentity {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(TAG.sequence, der(TAG.id, ECDSA_WITH_SHA256));
  const commonName = der(TAG.sequence, der(TAG.id, COMMON_NAME), der(TAG.text, Buffer.from("assay link")));
  const name = der(TAG.sequence, der(TAG.set, commonName));
  const validity = der(TAG.sequence, ...[FROM, UNTIL].map((time) => der(TAG.time, Buffer.from(time))));
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40; // positive, and as short as DER demands
  const content = der(
    TAG.sequence,
    der(TAG.version, der(TAG.integer, Buffer.of(2))),
    der(TAG.integer, serial),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = sign("sha256", content, privateKey);
  const certificate = der(TAG.sequence, content, algorithm, der(TAG.bits, Buffer.of(0), signature));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: pem(certificate),
    fingerprint: fingerprintOf(certificate),
  };
}

/** @param certificate in DER. */
export function fingerprintOf(certificate: Buffer): string {
  return createHash("sha256").update(certificate).digest("hex");
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.of(tag, ...length), content]);
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString("base64").replace(/.{64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
