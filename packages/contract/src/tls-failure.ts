/** What Node and OpenSSL call the faults of a TLS handshake. Pure. */

/** What OpenSSL finds in a certificate of the other side, and Node in the name that it is for. */
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

/** Whether the certificate of the other side was not believed by us. */
export function isCertificateFault(code: string): boolean {
  return CERTIFICATE_NOT_TRUSTED.includes(code);
}

/** Whether the handshake failed for anything else. */
export function isTlsFault(code: string): boolean {
  return code.startsWith('ERR_SSL_') || code === 'EPROTO';
}

/** What mends a certificate that is not trusted, by what is wrong with it. */
export function certificateRemedy(
  code: string,
  remedies: { expired: string; name: string; authority: string },
): string {
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return remedies.expired;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') return remedies.name;
  return remedies.authority;
}
