/**
 * The credential that one member sends to another if HTTP_AUTH_TOKEN is set, derived from the token and the other's address.
 *
 * The token itself never leaves the process, because anyone who can join the group can announce an address. A key sent to the
 * wrong host is useless elsewhere: a member accepts only the key for its own address, and only for its report.
 */
import { createHmac } from 'node:crypto';

/** @param address as `checkedAddress` returns it */
export function memberKey(authToken: string, address: string): string {
  return createHmac('sha256', authToken).update(`payment-processor member ${address}`).digest('base64url');
}
