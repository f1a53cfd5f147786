/** Node's and OpenSSL's codes for faults of a TLS handshake. Pure. */

/** OpenSSL's faults of the peer's certificate, and Node's fault of its name. */
const CERTIFICATE_NOT_TRUSTED: readonly string[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_SIGNATURE_FAILURE',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'HOSTNAME_MISMATCH',
  'ERR_TLS_CERT_ALTNAME_INVALID',
];

/** Whether we do not trust the peer's certificate. */
export function isCertificateFault(code: string): boolean {
  return CERTIFICATE_NOT_TRUSTED.includes(code);
}

/** Whether the handshake failed for another reason. */
export function isTlsFault(code: string): boolean {
  return code.startsWith('ERR_SSL_') || code === 'EPROTO';
}

/** The remedy for an untrusted certificate, by its fault. */
export function certificateRemedy(
  code: string,
  remedies: { expired: string; name: string; authority: string },
): string {
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return remedies.expired;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') return remedies.name;
  return remedies.authority;
}
