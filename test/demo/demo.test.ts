/** The demo as a process of its own, on the Kafka and registry of the test run. Killed: packages/local-kafka/test/supervision.test.ts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { gone, runScript, type Script } from '../../packages/local-kafka/test/processes.ts';

/** About fifteen seconds on two cores; a loaded machine may need several times that. */
const DEMO_MS_MAX = 180_000;

/** Takes the logs that failed demos leave behind. */
let temporary = '';

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'demo-test-'));
});

afterAll(async () => {
  await rm(temporary, { recursive: true, force: true });
});

function runDemo(...words: string[]): Script {
  return runScript(new URL('../../dev/demo/main.ts', import.meta.url).href, words, {
    KAFKA_BROKERS: inject('kafkaBrokers').join(','),
    SCHEMA_REGISTRY_URL: inject('schemaRegistryUrl'),
    TMPDIR: temporary,
  });
}

/** Standard output up to the first line that begins so, or to the end. */
async function textUntil(script: Script, beginning: string | null): Promise<string> {
  const lines: string[] = [];
  for (;;) {
    const next = await script.lines.next();
    if (next.done === true) break;
    lines.push(next.value);
    if (beginning !== null && next.value.startsWith(beginning)) break;
  }
  return lines.join('\n');
}

function pidIn(text: string): number {
  return Number(/\(process (\d+),/.exec(text)?.[1]);
}

test(
  'all checks are ok, with an answer lost on the way too; --keep prints the settings and stays until Ctrl-C',
  async () => {
    const lostAnswer = '{"kind":"drop-after","operation":"transfer-in","count":1}';
    const script = runDemo('--', '--keep', '--sandbox-fault', lostAnswer);
    const text = await textUntil(script, 'Ctrl-C');
    expect(text).toMatch(/^ +[\d.]+ s {2}result +transfer-in-1 +ACCEPTED +a copy: same event again$/m);
    expect(text).toMatch(/^ +[\d.]+ s {2}quote +Quote:…\w{6} +PENDING -> PROCESSING +by execution-1$/m);
    expect(text).toContain('transfer-in           transfer-in-1         calls 2, effects 1');
    expect(text).not.toContain('NOT OK');
    expect(text).toMatch(/^All \d+ checks are ok\.$/m);
    expect(text).toMatch(/^export API_BASE_URL=http:\/\/127\.0\.0\.1:\d+\/2025-10-13$/m);
    expect(text).toMatch(/^export TOPIC_PREFIX=payments-demo-\w{8}$/m);
    // Plain text: nothing for a terminal.
    expect(text).not.toContain('\u001b');

    script.child.kill('SIGINT');
    script.child.kill('SIGINT');
    expect(await script.ended).toBe(0);
    await gone([pidIn(text)]);
  },
  DEMO_MS_MAX,
);

test(
  'says what is wrong and exits with 1 when the service refuses the transfers',
  async () => {
    const script = runDemo('--sandbox-fault', '[{"kind":"status","operation":"transfer-in","httpStatus":400}]');
    const text = await textUntil(script, null);
    expect(await script.ended).toBe(1);
    expect(text).toContain('NOT OK  the transfer-in: expected ACCEPTED; seen: REFUSED (INJECTED_FAULT)');
    expect(text).toContain('NOT OK  effects of the transfer-in key, published three times: expected 1; seen: 0');
    expect(text).toContain('ok      the quote: ACCEPTED');
    expect(text).toMatch(/^\d of \d+ checks are NOT OK: the transfer-in; /m);
    await gone([pidIn(text)]);
  },
  DEMO_MS_MAX,
);

test.each([
  [['--sandbox-fault', 'nonsense'], '--sandbox-fault is not JSON'],
  [['--sandbox-fault', '{"kind":"surprise"}'], '--sandbox-fault is not a fault rule'],
  [['--kept'], '--kept'],
])('refuses %j with exit code 2, the problem and the usage', async (words, problem) => {
  const script = runDemo(...words);
  expect(await script.ended).toBe(2);
  expect(script.errorText()).toContain(problem);
  expect(script.errorText()).toContain('Usage: npm run demo');
});

test('says what is missing when one of the two addresses of an existing Kafka is not set', async () => {
  const script = runScript(new URL('../../dev/demo/main.ts', import.meta.url).href, [], {
    KAFKA_BROKERS: '127.0.0.1:1',
    SCHEMA_REGISTRY_URL: '',
    TMPDIR: temporary,
  });
  expect(await script.ended).toBe(1);
  expect(script.errorText()).toContain('SCHEMA_REGISTRY_URL is required and not set');
  expect(script.errorText()).toContain('env -u KAFKA_BROKERS -u SCHEMA_REGISTRY_URL npm run demo');
});
