/** schemas/bundle: each file stands alone, and is what we write and register. */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import avsc from 'avsc';
import { describe, expect, test } from 'vitest';
import { loadSchema } from '../src/schemas.ts';
import { recordOfTopic, topicNames } from '../src/topics.ts';

const FILES = globSync('schemas/bundle/*.avsc').sort();

test('the bundle has a file for every record, those of the topics among them', () => {
  const names = (pattern: string): string[] => globSync(pattern).map((file) => basename(file));
  expect(names('schemas/bundle/*.avsc').sort()).toEqual(names('schemas/*.avsc').sort());
  const ofTopics = [...recordOfTopic(topicNames('payments')).values()].map((record) => `${record}.avsc`);
  expect(names('schemas/bundle/*.avsc')).toEqual(expect.arrayContaining(ofTopics));
});

describe.each(FILES)('%s', (file) => {
  test('is read alone by an Avro library, and is the schema that is registered', () => {
    const schema = JSON.parse(readFileSync(file, 'utf8')) as avsc.Schema;
    const name = basename(file, '.avsc');
    expect(avsc.Type.forSchema(schema).name).toBe(`payments.v1.${name}`);
    expect(schema).toEqual(loadSchema(name));
  });

  test('says of each field what it is', () => {
    const { fields } = loadSchema(basename(file, '.avsc'));
    expect(fields.filter(({ doc = '' }) => doc === '').map(({ name }) => name)).toEqual([]);
  });
});
