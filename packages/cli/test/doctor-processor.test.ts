/** What `doctor` says of the processor that it is pointed at, and of the other members of its group. */
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { startHostileService } from '../../../test/support/hostile-service.ts';
import { checkProcessor } from '../src/doctor/service-checks.ts';

afterEach(() => void vi.unstubAllEnvs());

/** A processor that answers the paths with these statuses and bodies. */
async function processorThat(
  answers: Readonly<Record<string, readonly [status: number, body: unknown]>>,
): Promise<void> {
  const processor = await startHostileService(({ headers, path }) => {
    const isAllowed = path === '/health/ready' || headers.authorization === 'Bearer secret';
    const [httpStatus, body] = isAllowed ? (answers[path] ?? [404, null]) : [401, null];
    return { httpStatus, body: JSON.stringify(body) };
  });
  onTestFinished(() => processor.close());
  vi.stubEnv('HTTP_HOST', '127.0.0.1');
  vi.stubEnv('HTTP_PORT', new URL(processor.baseUrl).port);
  vi.stubEnv('HTTP_AUTH_TOKEN', 'secret');
}

async function said(): Promise<string[]> {
  const findings = await checkProcessor();
  return findings.map(({ message, status }) => `${status}: ${message.replace(/^http:\/\/127\.0\.0\.1:\d+/, '')}`);
}

test('a lane that another member stopped is named, with its reason, though this member is ready', async () => {
  const stopped = {
    reason: 'lane 0 is stopped: records were deleted by retention',
    processes: ['pod-b'],
    isBlocking: true,
  };
  const slow = { reason: 'one call waits', processes: ['pod-b'], isBlocking: false };
  await processorThat({ '/health/ready': [200, { reasons: [] }], '/api/group': [200, { reasons: [stopped, slow] }] });
  expect(await said()).toEqual([
    'ok: /health/ready is ready',
    'problem: pod-b is not ready: lane 0 is stopped: records were deleted by retention',
  ]);
});

test('what this member said itself is not said again', async () => {
  const reason = 'lane 0 is stopped: it was truncated';
  const everybody = { reason, processes: ['pod-a', 'pod-b'], isBlocking: true };
  await processorThat({ '/health/ready': [503, { reasons: [reason] }], '/api/group': [200, { reasons: [everybody] }] });
  expect(await said()).toEqual([`problem: /health/ready is not ready (HTTP 503): ${reason}`]);
});

test('without the token, and of an answer that is none of ours, it says that the others were not asked', async () => {
  await processorThat({ '/health/ready': [200, { reasons: [] }], '/api/group': [200, 'hello'] });
  expect((await said())[1]).toMatch(
    /^not-checked: because .*\/api\/group, which reports the other members, gave no valid answer/,
  );
  vi.stubEnv('HTTP_AUTH_TOKEN', 'wrong');
  expect((await said())[1]).toMatch(
    /^not-checked: because .*\/api\/group, which reports the other members, .*HTTP 401: set the HTTP_AUTH_TOKEN/,
  );
});
