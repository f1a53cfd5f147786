/**
 * What a member shows to another when HTTP_AUTH_TOKEN is set: made of the token and of the address that is asked.
 *
 * The token itself goes to no other process, for an address may have been written by anybody who can join the group. What
 * a wrong host is given opens nothing elsewhere: a member takes only what was made for its own address, and only for its
 * report.
 */
import { createHmac } from 'node:crypto';

/** @param address as `checkedAddress` returns it */
export function memberKey(authToken: string, address: string): string {
  return createHmac('sha256', authToken).update(`payment-processor member ${address}`).digest('base64url');
}
