import { X509Certificate } from "node:crypto";
import { createSecureContext, DEFAULT_CIPHERS, getCACertificates, type SecureContext } from "node:tls";

/**
 * The certificate authorities for receivers: those of Node, and an additional one. They are read once, because reading more than a hundred
 * certificates takes longer than a handshake.
 * @param added the certificate of the additional authority, in PEM; null if there is none.
 * @throws if `added` contains no valid certificate.
 */
export function trustedAuthorities(added: string | null): SecureContext {
  if (added === null) return createSecureContext({ ciphers: CIPHERS });
  checkAuthority(added); // OpenSSL silently ignores invalid PEM
  return createSecureContext({ ciphers: CIPHERS, ca: [...getCACertificates("default"), added] });
}

/** @throws if the text contains no valid certificate in PEM. */
export function checkAuthority(pem: string): void {
  new X509Certificate(pem);
}

/**
 * The ciphers of Node without the exchange of keys in finite fields, whose modulus the receiver chooses: with 10,000 bits, one handshake
 * takes 0.7 s of CPU time.
 */
const CIPHERS = `${DEFAULT_CIPHERS}:!kDHE`;
