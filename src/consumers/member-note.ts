/**
 * What a member tells its group of itself, in the metadata of its joining: the lanes that it has and, behind them, where
 * releases that know of nothing else pass over it, where its HTTP endpoints are, whether it is about to leave and whether the
 * payment service serves it. None of that changes by a join, so that a join never causes another. Whoever may join the group
 * can write there anything, so what is read is bounded and checked, and an address is nothing but a scheme, a host and a port. Pure.
 */
import kafkajs from 'kafkajs';

const { AssignerProtocol } = kafkajs;

const ADDRESS_CHARACTERS_MAX = 200;
/** A name, or an address; of IPv6 in brackets. */
const HOST_PATTERN = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])$/;
/** A thousand lanes and an address need a tenth of it. */
const METADATA_BYTES_MAX = 64 * 1024;

export interface MemberNote {
  readonly lanes: readonly number[];
  /** As `checkedAddress` returns it; null: it tells none. */
  readonly address: string | null;
  /** It serves its lanes until others have been given them, and goes then. */
  readonly isLeaving: boolean;
  /** The payment service does not serve it: members that it serves get the lanes. */
  readonly isUnserved: boolean;
}

/** Whether the payment service serves the member, as far as the group has to know. */
export interface MemberStanding {
  /** Called at each join. @returns whether the member says that the payment service does not serve it */
  announce(): boolean;
  /** Called at each heartbeat. @returns whether the member has to join anew, to say something else */
  hasNews(): boolean;
}

/** Of a member of another release, or a hostile one: it has nothing that we know of. */
const NOTHING: MemberNote = { lanes: [], address: null, isLeaving: false, isUnserved: false };

/** @returns what travels with the member's joining */
export function encodeMemberNote({ address, isLeaving, isUnserved, lanes }: MemberNote): Buffer {
  const told = {
    ...(address === null ? {} : { http: address }),
    ...(isLeaving ? { isLeaving } : {}),
    ...(isUnserved ? { isUnserved } : {}),
  };
  return Buffer.from(JSON.stringify(Object.keys(told).length === 0 ? lanes : [...lanes, told]));
}

/** Never throws. */
export function decodeMemberNote(memberMetadata: Buffer): MemberNote {
  if (memberMetadata.length === 0 || memberMetadata.length > METADATA_BYTES_MAX) return NOTHING;
  try {
    const userData = AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData;
    const parts: unknown = JSON.parse(userData?.toString() ?? '[]');
    if (!Array.isArray(parts)) return NOTHING;
    const told = parts.find((part): part is Record<string, unknown> => typeof part === 'object' && part !== null);
    return {
      lanes: parts.filter((part): part is number => Number.isInteger(part)),
      address: checkedAddress(told?.['http']),
      isLeaving: told?.['isLeaving'] === true,
      isUnserved: told?.['isUnserved'] === true,
    };
  } catch {
    return NOTHING;
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
