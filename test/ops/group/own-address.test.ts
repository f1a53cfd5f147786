import type { NetworkInterfaceInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { readSomeSettings } from 'payment-processor-contract/config';
import { ownAddress } from '../../../src/ops/group/own-address.ts';

const at = (address: string, family: 'IPv4' | 'IPv6', internal = false): NetworkInterfaceInfo =>
  ({ address, family, internal }) as NetworkInterfaceInfo;
const LOOPBACK = { lo: [at('127.0.0.1', 'IPv4', true)] };

function told(environment: Record<string, string>, interfaces = {}, port = 9000): string | null {
  const read = readSomeSettings(environment, ['HTTP_ADVERTISED_ADDRESS', 'HTTP_HOST']);
  if (!read.ok) throw new Error(read.problems.join());
  return ownAddress(read.config, port, { ...LOOPBACK, ...interfaces });
}

describe('the address that a process announces', () => {
  it('is where it listens, unless the setting says otherwise', () => {
    expect(told({})).toBe('http://127.0.0.1:9000');
    expect(told({ HTTP_HOST: '10.0.0.7' })).toBe('http://10.0.0.7:9000');
    expect(told({ HTTP_ADVERTISED_ADDRESS: '10.0.0.8', HTTP_HOST: '0.0.0.0' })).toBe('http://10.0.0.8:9000');
    expect(told({ HTTP_ADVERTISED_ADDRESS: 'fd00::7' })).toBe('http://[fd00::7]:9000');
    expect(told({ HTTP_ADVERTISED_ADDRESS: 'pay-0.pay' })).toBe('http://pay-0.pay:9000');
    expect(told({ HTTP_ADVERTISED_ADDRESS: 'https://pay.example:8443/' })).toBe('https://pay.example:8443');
    expect(told({ HTTP_ADVERTISED_ADDRESS: 'https://pay.example:443' })).toBe('https://pay.example');
    expect(told({ HTTP_HOST: '10.0.0.7' }, {}, 80)).toBe('http://10.0.0.7');
    expect(told({ HTTP_ADVERTISED_ADDRESS: 'none' })).toBeNull();
  });

  it("is the machine's first address if it listens on all", () => {
    const interfaces = {
      eth0: [at('fe80::1', 'IPv6'), at('fd00::9', 'IPv6'), at('10.0.0.9', 'IPv4')],
      eth1: [at('10.1.0.9', 'IPv4')],
    };
    expect(told({ HTTP_HOST: '0.0.0.0' }, interfaces)).toBe('http://10.0.0.9:9000');
    expect(told({ HTTP_HOST: '::' }, { eth0: interfaces.eth0.slice(0, 2) })).toBe('http://[fd00::9]:9000');
    expect(told({ HTTP_HOST: '0.0.0.0' })).toBeNull();
  });

  it.each(['10.0.0.7:8080', 'http://user:secret@host', 'http://host/path', 'ftp://host', 'a b', 'x'.repeat(151)])(
    'is refused at the start where it cannot be used: %s',
    (text) => {
      const read = readSomeSettings({ HTTP_ADVERTISED_ADDRESS: text }, ['HTTP_ADVERTISED_ADDRESS']);
      expect(read).toMatchObject({ ok: false, problems: [expect.stringContaining('HTTP_ADVERTISED_ADDRESS')] });
    },
  );
});
