/**
 * Writes docs/settings.md from the table of settings; with `--check` only compares, and exits 1 when the file is stale.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { EXIT_CODE_CONFIG, SETTINGS, type SettingName } from '../../src/config.ts';

const root = new URL('../../', import.meta.url);
const target = new URL('docs/settings.md', root);

/** Read and checked at the start, and used by nothing so far; to be emptied as the parts that use them are built. */
const WITHOUT_EFFECT: readonly SettingName[] = [
  'STATE_DIR',
  'POLL_INTERVAL_MS',
  'POLL_START',
  'POLL_TERMINAL_FOR',
  'POLL_MAX_CALLS_PER_MINUTE',
];

const header = `# Settings

Generated from src/config.ts by \`npm run generate\`; edit the table there, not this file.

The processor is configured by environment variables alone. All of them are read and checked before anything is started;
every problem is listed at once, by name and never with a secret's value, and the process ends with exit code ${EXIT_CODE_CONFIG}.

- A variable that is empty counts as not set, except \`API_IDEMPOTENT_OPERATIONS\`, where empty means: none.
- A secret may be given as a file instead: \`<NAME>_FILE\` holds the path, a newline at the end of the file is left out.
  Setting both is an error.
- Settings that end in \`_MS\` are whole numbers of milliseconds. Other durations are a number and a unit: \`500ms\`,
  \`30s\`, \`15m\`, \`24h\`, \`7d\`.
- \`COMMAND_MAX_AGE\` lists types as \`type=duration\`, separated by commas; types left out keep their default
  (\`simulate-uma-receive\`: 15m).

Checked together:

- \`KAFKA_HEARTBEAT_INTERVAL_MS\` is less than half of \`KAFKA_SESSION_TIMEOUT_MS\`.
- \`LEDGER_RETENTION\` is longer than the longest \`COMMAND_MAX_AGE\`, and not shorter than \`API_IDEMPOTENCY_RETENTION\`.
- \`KAFKA_SASL_MECHANISM\` comes with \`KAFKA_SASL_USERNAME\` and \`KAFKA_SASL_PASSWORD\`.

`;

function sectionOf(name: SettingName): string {
  const { default: fallback, meaning, secret } = SETTINGS[name];
  const lines = [
    `Default: ${defaultText(fallback)}`,
    ...(secret === true ? [`Secret: also as \`${name}_FILE\`.`] : []),
    ...(WITHOUT_EFFECT.includes(name) ? ['No effect yet.'] : []),
  ];
  return `## ${name}\n\n${meaning}\n\n${lines.join(' ')}\n\n`;
}

function defaultText(fallback: string | null): string {
  if (fallback === null) return 'none; required.';
  return fallback === '' ? 'none.' : `\`${fallback}\`.`;
}

const names = Object.keys(SETTINGS) as SettingName[];
const text = `${(header + names.map(sectionOf).join('')).trimEnd()}\n`;

if (process.argv.includes('--check')) {
  if (storedText() !== text) {
    console.error('docs/settings.md is not what src/config.ts says: run `npm run generate` and commit the result.');
    process.exit(1);
  }
} else {
  mkdirSync(new URL('.', target), { recursive: true });
  writeFileSync(target, text);
}

function storedText(): string | null {
  try {
    return readFileSync(target, 'utf8');
  } catch {
    return null;
  }
}
