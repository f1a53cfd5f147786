/**
 * Where a member's HTTP endpoints are, as it tells the group in the metadata of its joining: behind the lanes that it has,
 * where releases that know of no address pass over it. Whoever may join the group can write there anything, so what is
 * read is bounded and checked, and is nothing but a scheme, a host and a port. Pure.
 */
import kafkajs from 'kafkajs';

const { AssignerProtocol } = kafkajs;

const ADDRESS_CHARACTERS_MAX = 200;
/** A name, or an address; of IPv6 in brackets. */
const HOST_PATTERN = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])$/;
/** A thousand lanes and an address need a tenth of it. */
const METADATA_BYTES_MAX = 64 * 1024;

/**
 * @param lanes that the member has now
 * @param address as `checkedAddress` returns it; null: it tells none
 * @returns what travels with its joining
 */
export function memberNote(lanes: readonly number[], address: string | null): Buffer {
  return Buffer.from(JSON.stringify(address === null ? lanes : [...lanes, { http: address }]));
}

/** @returns the address in the metadata of a member; null: none that could be used */
export function addressIn(memberMetadata: Buffer): string | null {
  if (memberMetadata.length === 0 || memberMetadata.length > METADATA_BYTES_MAX) return null;
  try {
    const userData = AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData;
    const parts: unknown = JSON.parse(userData?.toString() ?? '[]');
    const notes = Array.isArray(parts) ? parts.filter((part) => typeof part === 'object' && part !== null) : [];
    return checkedAddress((notes as { http?: unknown }[])[0]?.http);
  } catch {
    // Of another release, or hostile.
    return null;
  }
}

/** @returns `http://host:port` or `https://host:port`; null: anything else, credentials, paths and queries included */
export function checkedAddress(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > ADDRESS_CHARACTERS_MAX) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  // The origin of a scheme that is not the web's is "null".
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.port === '0') return null;
  // People copy it into commands: a URL's host may have characters that a shell takes for its own.
  if (!HOST_PATTERN.test(url.hostname)) return null;
  return [url.origin, `${url.origin}/`].includes(text.toLowerCase()) ? url.origin : null;
}
