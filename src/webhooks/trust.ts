import { X509Certificate } from "node:crypto";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";

/**
 * The certificate authorities for receivers: those of Node, and an additional one. They are read once, because reading more than a hundred
 * certificates takes longer than a handshake.
 * @param added the certificate of the additional authority, in PEM; null if there is none.
 * @throws if `added` contains no valid certificate.
 */
export function trustedAuthorities(added: string | null): SecureContext {
  if (added === null) return createSecureContext();
  new X509Certificate(added); // OpenSSL silently ignores invalid PEM
  return createSecureContext({ ca: [...getCACertificates("default"), added] });
}
