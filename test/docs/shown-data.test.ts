/** JSON, YAML and settings that the pages show are read by what reads them. */
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readSomeSettings, SETTINGS, type SettingName } from '../../src/config.ts';
import { PAGES, placeOf, snippetsOf, type Snippet } from './snippets.ts';

/** Snippets of a language, each with its place. */
function cases(language: string): (Snippet & { place: string })[] {
  const shown = PAGES.flatMap(snippetsOf).filter((snippet) => snippet.language === language);
  return shown.map((snippet) => ({ place: placeOf(snippet), ...snippet }));
}

describe('JSON', () => {
  const document = parse(readFileSync('docs/asyncapi.yaml', 'utf8')) as {
    components: { messages: object; schemas: object };
  };
  // What is shown is shortened: members may be missing, and none may be there that the record does not have.
  const shortened = JSON.parse(JSON.stringify(document), (name, value: unknown) =>
    name === 'required' ? undefined : value,
  ) as object;
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ $id: 'pages', ...shortened });

  function problemsOf(pointer: string, value: unknown): string[] {
    const validate = ajv.getSchema(`pages#/components/${pointer}`);
    if (validate === undefined) return [`no ${pointer}`];
    return validate(value) === true
      ? []
      : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message ?? ''}`);
  }

  const RECORDS = {
    result: 'CommandResult',
    'transaction-status': 'TransactionStatusChanged',
    'quote-status': 'QuoteStatusChanged',
  };
  type Shown = { kind?: keyof typeof RECORDS; headers?: object; value?: object } & Record<string, unknown>;

  test.each(cases('json'))('$place is JSON', ({ text }) => {
    expect(() => JSON.parse(text) as unknown).not.toThrow();
  });

  test.each(cases('json').filter(({ page }) => page === 'docs/events.md'))(
    '$place shows what a record has, and nothing else',
    ({ text }) => {
      const shown = JSON.parse(text) as Shown;
      if (shown.kind !== undefined) {
        expect(problemsOf(`schemas/${RECORDS[shown.kind]}`, shown.value)).toEqual([]);
        expect(problemsOf(`messages/${RECORDS[shown.kind]}/headers`, shown.headers)).toEqual([]);
      } else if ('ce_id' in shown) expect(problemsOf('messages/CommandResult/headers', shown)).toEqual([]);
      else if ('outcome' in shown) expect(problemsOf('schemas/CommandResult', shown)).toEqual([]);
      else expect(problemsOf('schemas/QuoteStatusChanged', shown)).toEqual([]);
    },
  );
});

describe('settings', () => {
  const isSetting = (name: string): boolean => Object.hasOwn(SETTINGS, name.replace(/_FILE$/, ''));

  test.each(cases('properties'))('$place has settings with values that are taken', ({ text }) => {
    const given = Object.fromEntries(
      text.split('\n').flatMap((line) => {
        const [, name, value] = /^([A-Z_]+)=(\S+)/.exec(line) ?? [];
        return name === undefined || value === undefined ? [] : [[name, value] as const];
      }),
    );
    expect(Object.keys(given).filter((name) => !isSetting(name))).toEqual([]);
    const direct = Object.entries(given).filter(([name]) => Object.hasOwn(SETTINGS, name));
    // A password belongs to the mechanism; it is in a file that is not here.
    const read = readSomeSettings(
      { ...Object.fromEntries(direct), KAFKA_SASL_PASSWORD: 'x' },
      direct.map(([name]) => name as SettingName),
    );
    expect(read).toMatchObject({ ok: true });
  });

  test.each(cases('yaml'))('$place has values that the chart knows', ({ text }) => {
    const shown = parse(text) as Record<string, Record<string, unknown>>;
    const values = parse(readFileSync('helm/values.yaml', 'utf8')) as Record<string, unknown>;
    expect(Object.keys(shown).filter((name) => !Object.hasOwn(values, name))).toEqual([]);
    const settings = [...Object.keys(shown['settings'] ?? {}), ...Object.keys(shown['secretSettings'] ?? {})];
    expect(settings.filter((name) => !isSetting(name))).toEqual([]);
  });
});
