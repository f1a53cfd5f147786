/** The address at which other members reach this process's HTTP endpoints. */
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Config } from 'payment-processor-contract/config';
import { checkedAddress } from '../../consumers/member-note.ts';

const WILDCARDS = ['0.0.0.0', '::', ''];

/**
 * @param port the listening port
 * @param interfaces as the system reports them
 * @returns an http(s) origin, as `checkedAddress` does; null: the settings say `none`, or there is no usable address
 */
export function ownAddress(
  settings: Pick<Config, 'HTTP_ADVERTISED_ADDRESS' | 'HTTP_HOST'>,
  port: number,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): string | null {
  const { HTTP_ADVERTISED_ADDRESS: advertised, HTTP_HOST: host } = settings;
  if (advertised === 'none') return null;
  if (advertised?.includes('//') === true) return checkedAddress(advertised);
  const asked = advertised ?? (WILDCARDS.includes(host) ? firstAddress(interfaces) : host);
  if (asked === null) return null;
  return checkedAddress(`http://${isIPv6(asked) ? `[${asked}]` : asked}:${port}`);
}

/** IPv4 before IPv6. Other hosts cannot use link-local addresses. */
function firstAddress(interfaces: ReturnType<typeof networkInterfaces>): string | null {
  const found = Object.values(interfaces).flatMap((addresses = []) => addresses.filter(({ internal }) => !internal));
  const usable = found.filter(({ address }) => !/^(169\.254\.|fe80:)/i.test(address));
  return (usable.find(({ family }) => family === 'IPv4') ?? usable[0])?.address ?? null;
}
