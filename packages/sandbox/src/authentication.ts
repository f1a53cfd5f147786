/** HTTP Basic authentication with an API token id and a client secret. */

export interface Credentials {
  /** Null: any non-empty value. */
  tokenId: string | null;
  clientSecret: string | null;
}

/** The caller's token id, or null if the header is missing or wrong. */
export function authenticated(header: string | undefined, expected: Credentials): string | null {
  const match = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(header ?? '');
  if (match === null) return null;
  const pair = Buffer.from(match[1] ?? '', 'base64').toString();
  const colonAt = pair.indexOf(':');
  if (colonAt === -1) return null;
  const tokenId = pair.slice(0, colonAt);
  const clientSecret = pair.slice(colonAt + 1);
  return isAccepted(tokenId, expected.tokenId) && isAccepted(clientSecret, expected.clientSecret) ? tokenId : null;
}

function isAccepted(given: string, expected: string | null): boolean {
  return expected === null ? given !== '' : given === expected;
}
