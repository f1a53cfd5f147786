import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createLogger, type LogSettings } from '../../src/ops/logging.ts';
import { keyHash } from 'payment-processor-contract/key-hash';

const SETTINGS: LogSettings = {
  LOG_LEVEL: 'trace',
  API_TOKEN_ID: 'token-id-of-ours',
  API_CLIENT_SECRET: 'client "secret"/of+ours',
  KAFKA_SASL_USERNAME: 'kafka-user',
  KAFKA_SASL_PASSWORD: 'kafka-password',
  SCHEMA_REGISTRY_USERNAME: 'registry-user',
  SCHEMA_REGISTRY_PASSWORD: 'registry-password',
  HTTP_AUTH_TOKEN: 'http-auth-token',
};
const BASIC = Buffer.from(`${SETTINGS.API_TOKEN_ID}:${SETTINGS.API_CLIENT_SECRET}`).toString('base64');

/** What no line may contain, in any encoding. */
const PLANTED = [
  SETTINGS.API_TOKEN_ID,
  SETTINGS.API_CLIENT_SECRET,
  JSON.stringify(SETTINGS.API_CLIENT_SECRET).slice(1, -1),
  encodeURIComponent(SETTINGS.API_CLIENT_SECRET),
  BASIC,
  'kafka-password',
  'registry-password',
  'http-auth-token',
  'DE89370400440532013000',
  '000123456789',
  'jane@example.org',
  'InternalAccount:jane',
  'Jane Doe',
  'order-of-jane',
];

function logInto(lines: string[]) {
  return createLogger(SETTINGS, { write: (line: string) => void lines.push(line) });
}

function expectNothingPlanted(lines: readonly string[]): void {
  for (const line of lines) {
    JSON.parse(line);
    for (const planted of PLANTED) expect(line).not.toContain(planted);
  }
}

function plantedError(): Error {
  const root = Object.assign(new Error(`connect to http://user:registry-password@host failed with Basic ${BASIC}`), {
    code: 'ECONNREFUSED',
    request: { headers: { authorization: `Basic ${BASIC}` } },
  });
  const middle = Object.assign(
    new TypeError('invalid "string": {"accountId":"InternalAccount:jane"} of jane@example.org'),
    {
      cause: root,
      body: '{"name":"Jane Doe"}',
      config: { password: 'kafka-password' },
    },
  );
  return Object.assign(
    new Error(`secret ${SETTINGS.API_CLIENT_SECRET}, IBAN DE89370400440532013000, account 000123456789`, {
      cause: middle,
    }),
    {
      rawResponse: 'Jane Doe',
    },
  );
}

describe('the log', () => {
  it('is JSON with level, ISO time, service and event', () => {
    const lines: string[] = [];
    logInto(lines).info({ event: 'lane-open', lane: 3, offset: 9_007_199_254_740_993n }, 'lane is open');
    const line = JSON.parse(lines[0]!) as Record<string, unknown>;
    expect(line).toMatchObject({
      level: 'info',
      service: 'payment-processor',
      event: 'lane-open',
      lane: 3,
      offset: '9007199254740993',
      msg: 'lane is open',
    });
    expect(line['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('contains no secret from an error, its causes, messages or fields, however it is logged', () => {
    const lines: string[] = [];
    const log = logInto(lines);
    const error = plantedError();
    log.error(error);
    log.error(error, 'with a text');
    log.error({ event: 'own-failure', err: error });
    log.error({ event: 'own-failure', failure: { nested: [error] } });
    log.child({ err: error, password: 'Jane Doe' }).child({ accountId: 'Jane Doe' }).fatal('from a child of a child');
    expect(lines).toHaveLength(5);
    expectNothingPlanted(lines);
  });

  it('shows the chain of causes with names, codes and stack frames', () => {
    const lines: string[] = [];
    logInto(lines).error({ event: 'own-failure', err: plantedError() });
    const { err } = JSON.parse(lines[0]!) as { err: Record<string, unknown> };
    expect(err).toMatchObject({
      name: 'Error',
      cause: { name: 'TypeError', cause: { name: 'Error', code: 'ECONNREFUSED' } },
    });
    expect(err['stack']).toEqual(expect.arrayContaining([expect.stringContaining('logging.test.ts')]));
  });

  it('contains no value of a possibly sensitive field, at any depth', () => {
    const lines: string[] = [];
    const log = logInto(lines);
    log.info({
      key: 'order-of-jane',
      one: { two: { three: { accountId: 'InternalAccount:jane', 'Client-Secret': 'x-secret-x' } } },
    });
    log.info({
      list: [{ rawResponse: 'Jane Doe' }],
      map: new Map([['password', 'Jane Doe']]),
      bytes: Buffer.from('Jane Doe'),
    });
    log.info({ body: { name: 'Jane Doe' }, authorization: 'Jane Doe', tokenId: 'Jane Doe', deadline: 5 });
    expectNothingPlanted(lines);
    expect(lines.join('')).not.toContain('x-secret-x');
    expect(lines[2]).toContain('"deadline":5');
  });

  it('contains no secret in texts and messages', () => {
    const lines: string[] = [];
    const log = logInto(lines);
    log.warn(`kafka-password and jane@example.org and Bearer http-auth-token`);
    log.warn({ event: 'lane-lost', problem: 'iban=DE89370400440532013000 of jane@example.org' }, 'registry-password');
    log.warn({ url: `https://kafka-user:kafka-password@broker/?s=${encodeURIComponent(SETTINGS.API_CLIENT_SECRET)}` });
    expectNothingPlanted(lines);
  });

  it('contains no part of a secret at the cut of a long text', () => {
    const lines: string[] = [];
    const log = logInto(lines);
    for (let length = 480; length < 505; length += 1) log.warn(`${'x'.repeat(length)} http-auth-token and more`);
    for (const line of lines) expect(line.replaceAll('[redacted]', '')).not.toMatch(/x http?/);
    expect(lines.at(-1)).toContain('[cut]');
  });

  it('survives circular references and endless fields', () => {
    const lines: string[] = [];
    const circle: Record<string, unknown> = { name: 'circle' };
    circle['again'] = circle;
    const error = new Error('first');
    error.cause = error;
    logInto(lines).error({ circle, err: error, many: Array.from({ length: 10_000 }, (_, index) => index) });
    expect(lines[0]!.length).toBeLessThan(20_000);
    JSON.parse(lines[0]!);
  });

  it('keeps our own offsets and reasons readable', () => {
    const lines: string[] = [];
    logInto(lines).error({
      event: 'lane-stopped',
      lane: 1,
      problem: 'commands from 123456789012 to 123456789999 were deleted',
    });
    expect(lines[0]).toContain('commands from 123456789012 to 123456789999 were deleted');
  });
});

describe('the hash of a key', () => {
  it('is short, the same for the same key, and does not show it', () => {
    expect(keyHash('order-of-jane')).toMatch(/^[0-9a-f]{16}$/);
    expect(keyHash('order-of-jane')).toBe(keyHash('order-of-jane'));
    expect(keyHash('order-of-jane')).not.toBe(keyHash('order-of-john'));
  });
});

it('a full disk under the log ends no process, and fills no memory', () => {
  const full = openSync('/dev/full', 'w');
  const program = `
    import { createLogger } from './src/ops/logging.ts';
    const log = createLogger(${JSON.stringify(SETTINGS)});
    for (let line = 0; line < 100_000; line += 1) log.info({ event: 'a-line', text: 'x'.repeat(1_000) });
    process.stderr.write(String(process.memoryUsage().rss < 300e6));
  `;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  expect(run).toMatchObject({ status: 0, signal: null });
  expect(run.stderr.toString()).toBe('true');
});
