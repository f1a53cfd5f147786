/**
 * Writes the sections of docs/settings.md from the table of settings; with `--check` only compares, and exits 1 when the file is stale.
 */
import { SETTINGS, type SettingName } from 'payment-processor-contract/config';
import { writeOrCheckPart } from './generated-file.ts';

function sectionOf(name: SettingName): string {
  const { default: fallback, meaning, secret } = SETTINGS[name];
  const lines = [
    `Default: ${defaultText(fallback)}`,
    ...(secret === true ? [`Secret: also as \`${name}_FILE\`.`] : []),
  ];
  return `## ${name}\n\n${meaning}\n\n${lines.join(' ')}\n\n`;
}

function defaultText(fallback: string | null): string {
  if (fallback === null) return 'none; required.';
  return fallback === '' ? 'none.' : `\`${fallback}\`.`;
}

const names = Object.keys(SETTINGS) as SettingName[];
writeOrCheckPart('docs/settings.md', 'packages/contract/src/config.ts', names.map(sectionOf).join(''));
