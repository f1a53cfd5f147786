/** Where the other members of the group find this process's HTTP endpoints. */
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Config } from 'payment-processor-contract/config';
import { checkedAddress } from '../../consumers/member-note.ts';

const EVERY_ADDRESS = ['0.0.0.0', '::', ''];

/**
 * @param port that is listened on
 * @param interfaces as the system tells them
 * @returns `http://host:port`; null: it is told to nobody, for the settings say so or there is none
 */
export function ownAddress(
  settings: Pick<Config, 'HTTP_ADVERTISED_ADDRESS' | 'HTTP_HOST'>,
  port: number,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): string | null {
  const { HTTP_ADVERTISED_ADDRESS: told, HTTP_HOST: host } = settings;
  if (told === 'none') return null;
  if (told?.includes('//') === true) return checkedAddress(told);
  const asked = told ?? (EVERY_ADDRESS.includes(host) ? firstAddress(interfaces) : host);
  if (asked === null) return null;
  return checkedAddress(`http://${isIPv6(asked) ? `[${asked}]` : asked}:${port}`);
}

/** IPv4 before IPv6; addresses that count on one link alone are of no use to others. */
function firstAddress(interfaces: ReturnType<typeof networkInterfaces>): string | null {
  const found = Object.values(interfaces).flatMap((addresses = []) => addresses.filter(({ internal }) => !internal));
  const usable = found.filter(({ address }) => !/^(169\.254\.|fe80:)/i.test(address));
  return (usable.find(({ family }) => family === 'IPv4') ?? usable[0])?.address ?? null;
}
