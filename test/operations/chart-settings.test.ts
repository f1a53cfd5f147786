import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSomeSettings, SETTINGS, type SettingName } from 'payment-processor-contract/config';
import { LEAST, merged, template } from './chart.ts';
import { ROOT } from './tools.ts';

interface ValuesSchema {
  properties: Record<'settings' | 'secretSettings', { properties: Record<string, unknown> }>;
}

/** The chart decides where the pod finds these. */
const SET_BY_THE_CHART = ['STATE_DIR', 'KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE'];

const names = Object.keys(SETTINGS) as SettingName[];
const plain = names.filter((name) => SETTINGS[name].secret !== true && !SET_BY_THE_CHART.includes(name));

/** Texts in every form of a setting, most of them wrong for most settings. */
const SAMPLES = [
  ...['0', '1', '10', '100', '6000', '65536', '1001', '-1', '1.5', '1e3', 'true', 'yes', '500ms', '15m', '7d', '7 d'],
  ...['http://host:1/x', 'ftp://host', 'broker:9092', 'a:1,b:2', 'broker', 'info', 'verbose', 'two-step', 'native'],
  ...['plain', 'scram-sha-512', 'oauth', 'transfer-in', 'create-quote=1h', '2026-01-31T00:00:00Z', 'a.b-c_d', 'a/b'],
];

describe("the schema of the chart's values", () => {
  it('has every setting once, secrets only by reference', async () => {
    const schema = JSON.parse(await readFile(join(ROOT, 'helm/values.schema.json'), 'utf8')) as ValuesSchema;
    expect(Object.keys(schema.properties.settings.properties)).toEqual(plain);
    expect(Object.keys(schema.properties.secretSettings.properties)).toEqual(
      names.filter((name) => SETTINGS[name].secret === true),
    );
  });

  it('takes every setting that the processor takes, as a text and where it is a number as a number', async () => {
    const taken = plain.flatMap((name) =>
      [...SAMPLES, SETTINGS[name].default ?? '']
        .filter((sample) => readSomeSettings({ [name]: sample }, [name]).ok)
        .flatMap((sample) => (/^\d+$/.test(sample) && isNumber(name) ? [sample, Number(sample)] : [sample]))
        .map((value) => [name, value] as const),
    );
    expect(taken.length).toBeGreaterThan(plain.length);
    const rounds = Math.max(...plain.map((name) => taken.filter(([taker]) => taker === name).length));
    // One value of each setting at a time; those that the chart counts by stay as they are.
    for (let round = 0; round < rounds; round += 1) {
      const settings = Object.fromEntries(
        plain
          .filter((name) => !['LANES', 'KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'API_BASE_URL'].includes(name))
          .flatMap((name) => {
            const values = taken.filter(([taker]) => taker === name);
            return values.length === 0 ? [] : [values[round % values.length]!];
          }),
      );
      expect(await template(merged(LEAST, { settings }))).toMatchObject({ code: 0 });
    }
  });

  it.each<[SettingName, unknown]>([
    ['KAFKA_BROKERS', 'broker'],
    ['SCHEMA_REGISTRY_URL', 'registry:8081'],
    ['KAFKA_SSL', 'yes'],
    ['KAFKA_SASL_MECHANISM', 'oauth'],
    ['LANES', 1001],
    ['LANES', 1.5],
    ['LEDGER_RETENTION', '7 d'],
    ['TOPIC_PREFIX', 'a/b'],
    ['IMMEDIATE_EXECUTION', 'direct'],
    ['LOG_LEVEL', 'verbose'],
  ])('refuses %s: %j', async (name, value) => {
    const { code, text } = await template(merged(LEAST, { settings: { [name]: value } }));
    expect(code).toBe(1);
    expect(text).toContain(name);
  });
});

function isNumber(name: SettingName): boolean {
  const read = readSomeSettings({ [name]: '500' }, [name]);
  return read.ok && typeof read.config[name] === 'number';
}
