/**
 * What a member announces to its group when it joins, in the metadata: its lanes, the address of its HTTP endpoints, whether it is
 * about to leave, and whether it stands aside (`src/lanes/ownership/standing-aside.ts`). The lanes come first, because older releases skip the
 * rest.
 *
 * Anybody who may join the group can write anything there. So we bound and check all that we read, and an address is only a scheme,
 * a host and a port. Pure.
 */
import kafkajs, { type MemberMetadata } from 'kafkajs';

const { AssignerProtocol } = kafkajs;

const ADDRESS_CHARACTERS_MAX = 200;
/** A name or an address; IPv6 in brackets. */
const HOST_PATTERN = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])$/;
/** A thousand lanes and an address need a tenth of this. */
const METADATA_BYTES_MAX = 64 * 1024;

export interface MemberNote {
  /** The lanes that it had before this join. It announces those that it gets by this join only at its next one. */
  readonly lanes: readonly number[];
  /** As `checkedAddress` returns it; null: it announces none. */
  readonly address: string | null;
  /** It serves its lanes until others have them, and then leaves. */
  readonly isLeaving: boolean;
  /** The payment service does not serve it, or it cannot reach all brokers: its lanes go to members that can work. */
  readonly isUnserved: boolean;
}

/** Decides what the member announces as `isUnserved`. */
export interface AsideAnnouncer {
  /** Called at each join. @returns `isUnserved` */
  announce(): boolean;
  /** Called at each heartbeat. @returns whether the member must rejoin, to announce something else */
  shouldRejoin(): boolean;
}

/** For a member of another release, or a hostile one: we know nothing of it. */
const NOTHING: MemberNote = { lanes: [], address: null, isLeaving: false, isUnserved: false };

/** @returns the bytes for the metadata of the member's join */
export function encodeMemberNote({ address, isLeaving, isUnserved, lanes }: MemberNote): Buffer {
  const announced = {
    ...(address === null ? {} : { http: address }),
    ...(isLeaving ? { isLeaving } : {}),
    ...(isUnserved ? { isUnserved } : {}),
  };
  return Buffer.from(JSON.stringify(Object.keys(announced).length === 0 ? lanes : [...lanes, announced]));
}

/** Never throws. */
export function decodeMemberNote(memberMetadata: Buffer): MemberNote {
  try {
    const parts: unknown = JSON.parse(decoded(memberMetadata)?.userData.toString() ?? '[]');
    if (!Array.isArray(parts)) return NOTHING;
    const announced = parts.find((part): part is Record<string, unknown> => typeof part === 'object' && part !== null);
    return {
      lanes: parts.filter((part): part is number => Number.isInteger(part)),
      address: checkedAddress(announced?.['http']),
      isLeaving: announced?.['isLeaving'] === true,
      isUnserved: announced?.['isUnserved'] === true,
    };
  } catch {
    return NOTHING;
  }
}

/** What the member reads; empty: unknown. Never throws. */
export function subscribedTopics(memberMetadata: Buffer): readonly string[] {
  return decoded(memberMetadata)?.topics ?? [];
}

/** @returns null: it cannot be decoded */
function decoded(memberMetadata: Buffer): MemberMetadata | null {
  if (memberMetadata.length === 0 || memberMetadata.length > METADATA_BYTES_MAX) return null;
  try {
    return AssignerProtocol.MemberMetadata.decode(memberMetadata);
  } catch {
    return null;
  }
}

/** @returns an http(s) origin without its default port; null: anything else, such as a path or credentials */
export function checkedAddress(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > ADDRESS_CHARACTERS_MAX) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  // The origin of a non-web scheme is "null".
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.port === '0') return null;
  // People copy the address into commands, and a URL's host may have characters that a shell interprets.
  if (!HOST_PATTERN.test(url.hostname)) return null;
  const withDefaultPort = `${url.origin}:${url.protocol === 'http:' ? 80 : 443}`;
  return [url.origin, `${url.origin}/`, withDefaultPort].includes(text.toLowerCase()) ? url.origin : null;
}
