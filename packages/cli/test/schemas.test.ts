import { describe, expect, test } from 'vitest';
import { loadSchema } from 'payment-processor-contract/schemas';
import { recordOfTopic, subjectOf, topicNames } from 'payment-processor-contract/topics';
import { environmentOf, freshPrefix } from '../../client/test/fixtures.ts';
import { runCli } from './run-cli.ts';

async function registry(
  environment: Record<string, string>,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const response = await fetch(`${environment['SCHEMA_REGISTRY_URL'] ?? ''}${path}`, {
    method,
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return response.json();
}

describe('schemas', () => {
  test('are missing before they are registered, and once they are, again changes nothing', async () => {
    const prefix = freshPrefix('schemas');
    const environment = environmentOf(prefix);
    const subjects = [...recordOfTopic(topicNames(prefix)).keys()].map(subjectOf);

    const before = await runCli(environment, '--output', 'json', 'schemas', 'check');
    expect(before.code).toBe(6);
    expect(before.documents.map(({ subject }) => subject)).toEqual(subjects);
    for (const { problem } of before.documents) expect(problem).toMatch(/run `npm run cli -- schemas register`/);

    const first = await runCli(environment, '--output', 'json', 'schemas', 'register');
    expect(first).toMatchObject({ code: 0 });
    expect(first.documents.map(({ subject, action }) => [subject, action])).toEqual(
      subjects.map((subject) => [subject, 'registered']),
    );
    const second = await runCli(environment, '--output', 'json', 'schemas', 'register');
    expect(second.documents.map(({ schemaId }) => schemaId)).toEqual(first.documents.map(({ schemaId }) => schemaId));
    expect(second.documents.every(({ action }) => action === 'exists')).toBe(true);

    expect(await runCli(environment, 'schemas', 'check')).toMatchObject({ code: 0 });
    for (const subject of subjects) {
      expect(await registry(environment, 'GET', `/config/${subject}`)).toEqual({
        compatibilityLevel: 'FULL_TRANSITIVE',
      });
      expect(await registry(environment, 'GET', `/subjects/${subject}/versions`)).toEqual([1]);
    }
  });

  test('of a release that only documents more are one new version, which is none of a stranger to the earlier release', async () => {
    const environment = environmentOf(freshPrefix('documented'));
    const [[topic = '', record = ''] = []] = recordOfTopic(topicNames(environment['TOPIC_PREFIX'] ?? ''));
    const subject = subjectOf(topic);
    const plain = JSON.stringify(loadSchema(record), (name, part: unknown) => (name === 'doc' ? undefined : part));
    await registry(environment, 'POST', `/subjects/${subject}/versions`, { schema: plain });
    const check = await runCli(environment, '--output', 'json', 'schemas', 'check');
    expect(check.documents.find((state) => state.subject === subject)?.problem).toMatch(/does not have our schema/);
    for (const action of ['registered', 'exists', 'exists']) {
      const run = await runCli(environment, '--output', 'json', 'schemas', 'register');
      expect(run.documents.find((state) => state.subject === subject)).toMatchObject({ action });
      expect(await registry(environment, 'GET', `/subjects/${subject}/versions`)).toEqual([1, 2]);
    }
    expect(await runCli(environment, 'schemas', 'check')).toMatchObject({ code: 0 });
    // The earlier release asks for its own, and finds that the latest says the same.
    const before = await registry(environment, 'POST', `/subjects/${subject}`, { schema: plain });
    expect(before).toMatchObject({ version: 1 });
  });

  // The registry itself would let them where the subject has the level NONE.
  test.each([
    ['FULL_TRANSITIVE', /incompatible with versions/],
    ['NONE', /does not have our schema/],
  ])('that do not fit an earlier version, %s, are not registered', async (level, problem) => {
    const prefix = freshPrefix('incompatible');
    const environment = environmentOf(prefix);
    const subject = subjectOf(topicNames(prefix).commands['create-quote']);
    const other = { ...loadSchema('CreateQuote'), fields: [{ name: 'needed', type: 'string' }] };
    await registry(environment, 'POST', `/subjects/${subject}/versions`, { schema: JSON.stringify(other) });
    await registry(environment, 'PUT', `/config/${subject}`, { compatibility: level });

    const check = await runCli(environment, '--output', 'json', 'schemas', 'check');
    expect(check.code).toBe(6);
    expect(check.documents.find((state) => state.subject === subject)?.problem).toMatch(problem);
    const run = await runCli(environment, 'schemas', 'register');
    expect(run.code).toBe(6);
    expect(run.stderr).toContain(subject);
    expect(await registry(environment, 'GET', `/subjects/${subject}/versions`)).toEqual([1]);
  });

  test('that are the latest of their subject and not ours are reported, with what to do', async () => {
    const environment = environmentOf(freshPrefix('latest'));
    await runCli(environment, 'schemas', 'register');
    const subject = subjectOf(topicNames(environment['TOPIC_PREFIX'] ?? '').commands['transfer-in']);
    const own = loadSchema('TransferIn');
    const documented = { schema: JSON.stringify({ ...own, doc: 'in other words' }) };
    await registry(environment, 'POST', `/subjects/${subject}/versions`, documented);
    expect(await runCli(environment, 'schemas', 'check')).toMatchObject({ code: 0 });
    const misspelt = { name: 'amont', type: ['null', 'long'], default: null };
    const foreign = { schema: JSON.stringify({ ...own, fields: [...own.fields, misspelt] }) };
    const { id } = (await registry(environment, 'POST', `/subjects/${subject}/versions`, foreign)) as { id: number };
    const check = await runCli(environment, '--output', 'json', 'schemas', 'check');
    expect(check.code).toBe(6);
    const state = check.documents.find((document) => document['subject'] === subject);
    expect(state?.['problem']).toMatch(
      new RegExp(`latest version of the subject .*, 3 \\(schema id ${id}\\), is not our TransferIn.*DELETE /subjects/`),
    );
    expect(check.documents.filter(({ problem }) => problem !== null)).toHaveLength(1);
  });

  test('cannot be checked without a registry: says where and what to do', async () => {
    const run = await runCli(
      { ...environmentOf('any'), SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' },
      'schemas',
      'check',
    );
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/http:\/\/127\.0\.0\.1:1 does not answer .*check SCHEMA_REGISTRY_URL/);
  });
});
