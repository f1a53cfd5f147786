import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { raw, rawRequest } from './raw-requests.ts';
import { sandboxForTest } from './support.ts';

/** A thousand connections take some seconds on a machine that is busy with other tests. */
const FUZZ_TIMEOUT_MS = 60_000;

afterEach(() => {
  vi.restoreAllMocks();
});

test(
  'any bytes as a request get an answer below 500 or a closed connection, and the service goes on',
  async () => {
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const sandbox = await sandboxForTest();
    const { body: quote } = await sandbox.quote();
    const path = fc.oneof(
      fc.constantFrom(
        ...[
          '/transactions',
          '/quotes',
          '/transfer-in',
          '/sandbox/uma/receive',
          `/quotes/${quote.id}/execute`,
          '/quotes/%/execute',
        ],
        ...[
          `/transactions/${quote.transactionId}/reject`,
          '/transactions/%E0%A4%A/reject',
          '/',
          '',
          '/quotes//execute',
        ],
      ),
      fc.string({ unit: fc.constantFrom(...Array.from('/%.:aQ0?&=#\\')) }).map((text) => `/${text}`),
    );
    const query = fc.oneof(
      fc.constant(''),
      fc
        .array(
          fc.tuple(
            fc.constantFrom(
              'limit',
              'cursor',
              'status',
              'startDate',
              'endDate',
              'customerId',
              'sortOrder',
              '__proto__',
              '',
            ),
            fc.oneof(
              fc.string({ unit: fc.constantFrom(...Array.from('0123456789-:TZ%.+aé\u0001')) }),
              fc.constantFrom('5', 'asc', '%00', '%ff'),
            ),
          ),
        )
        .map((pairs) => `?${pairs.map(([name, value]) => `${name}=${value}`).join('&')}`),
    );
    const json = fc.oneof(
      fc.json(),
      fc.json().map((text) => text.slice(1)),
      fc
        .record(
          {
            source: fc.oneof(fc.constant({ sourceType: 'ACCOUNT', accountId: 'InternalAccount:a' }), fc.jsonValue()),
            destination: fc.oneof(
              fc.constant({ destinationType: 'ACCOUNT', accountId: 'ExternalAccount:b' }),
              fc.jsonValue(),
            ),
            lockedCurrencySide: fc.constantFrom('SENDING', 'RECEIVING', '__proto__'),
            lockedCurrencyAmount: fc.oneof(fc.nat(), fc.jsonValue()),
            senderCustomerInfo: fc.jsonValue(),
            amount: fc.jsonValue(),
            description: fc.string({ unit: 'binary' }),
            __proto__: fc.jsonValue(),
          },
          { requiredKeys: [] },
        )
        .map((value) => JSON.stringify(value)),
    );
    const body = fc.oneof(
      json.map((text) => Buffer.from(text)),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    );
    const headers = fc.subarray([
      'content-type: application/json',
      'idempotency-key: k',
      'idempotency-key:',
      'content-type: text/html',
    ]);
    const wellFramed = fc
      .tuple(
        fc.constantFrom('GET', 'POST', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE'),
        path,
        query,
        headers,
        body,
      )
      .map(([method, target, search, lines, content]) =>
        rawRequest(method, `/2025-10-13${target}${search}`, lines, content),
      );
    const anyBytes = fc
      .uint8Array({ maxLength: 200 })
      .map((bytes) => Buffer.concat([Buffer.from(bytes), Buffer.from('\r\n\r\n')]));
    await fc.assert(
      fc.asyncProperty(
        fc.oneof({ weight: 20, arbitrary: wellFramed }, { weight: 1, arbitrary: anyBytes }),
        async (bytes) => {
          const answer = await raw(sandbox, bytes);
          expect(answer).toMatch(/^(HTTP\/1.1 [1234]\d\d |$)/);
        },
      ),
      { numRuns: 1000 },
    );
    expect(errors).not.toHaveBeenCalled();
    expect((await sandbox.get('/transactions')).status).toBe(200);
    expect((await sandbox.books()).balanced).toBe(true);
  },
  FUZZ_TIMEOUT_MS,
);

test('any JSON at a control endpoint gets an answer below 500', async () => {
  const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const sandbox = await sandboxForTest();
  const paths = fc.constantFrom(
    'effects',
    'books',
    'faults',
    'accounts',
    'lookups',
    'settings',
    'reset',
    '__proto__',
    'x',
  );
  const methods = fc.constantFrom('GET', 'POST', 'DELETE');
  await fc.assert(
    fc.asyncProperty(methods, paths, fc.oneof(fc.json(), fc.string()), async (method, path, body) => {
      expect((await sandbox.control(method, path, body)).status).toBeLessThan(500);
    }),
    { numRuns: 200 },
  );
  expect(errors).not.toHaveBeenCalled();
});
