import { X509Certificate } from "node:crypto";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";

/**
 * The certificate authorities for receivers: Node's default ones and an additional one.
 * Created once, because reading some hundred certificates takes longer than a handshake.
 * @param added PEM; null for none.
 * @throws if it has no certificate.
 */
export function trustedAuthorities(added: string | null): SecureContext {
  if (added === null) return createSecureContext();
  new X509Certificate(added); // OpenSSL silently ignores invalid PEM
  return createSecureContext({ ca: [...getCACertificates("default"), added] });
}
