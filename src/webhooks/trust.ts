import { X509Certificate } from "node:crypto";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";

/**
 * Whose certificates receivers may show: those that Node knows, and one more if need be.
 * Made once: reading some hundred certificates takes longer than a handshake.
 * @param added PEM; null for none.
 * @throws when it has no certificate.
 */
export function trustedAuthorities(added: string | null): SecureContext {
  if (added === null) return createSecureContext();
  new X509Certificate(added); // or OpenSSL would pass over it in silence
  return createSecureContext({ ca: [...getCACertificates("default"), added] });
}
