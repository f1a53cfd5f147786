/**
 * Commands taken from the runbooks unchanged: found in the text, words in capitals filled in, and run by a shell that has
 * `cli`, `kubectl exec` and Kafka's tools, like an operator's shell.
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KAFKA_TOOLS, kafkaToolsJava } from 'payment-processor-local-kafka/kafka-tools';
import { childEnvironment } from '../../test/support/child-environment.ts';
import { ADMIN_PROPERTIES } from './access.ts';

const MAIN = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));
const RUNBOOKS = new URL('../../docs/runbooks/', import.meta.url);
/** Placeholders for the reader; other words in capitals are values. */
const TO_FILL_IN = /\b(?:KEY|FILE|TOPIC|LANE|TYPE|P\/O|OFFSET|ID|HASH|INSTANT|N|TRANSACTIONAL_ID)\b|"?\.\.\."?/g;
/** Starting a JVM on a busy machine, plus a command that waits for an answer. */
const RUN_MS_MAX = 90_000;

export interface PastedRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** @throws Error unless the runbook has a command that begins with this text */
export function commandIn(text: string, beginning: string): string {
  const spans = [
    ...text.matchAll(/`((?:cli|kubectl) [^`]+)`/g),
    ...text.matchAll(/^ *((?:cli|kafka-[a-z-]+\.sh) .+)$/gm),
  ];
  const found = spans.map(([, command = '']) => command.trim()).find((command) => command.startsWith(beginning));
  if (found === undefined) throw new Error(`no command of the runbook begins with ${beginning}`);
  return found;
}

/** @throws Error if the text lacks one of the words, or one is left unfilled */
export function filledIn(command: string, words: Readonly<Record<string, string>>): string {
  let filled = command;
  for (const [word, value] of Object.entries(words)) {
    if (!filled.includes(word)) throw new Error(`${command} has no ${word} to fill in`);
    filled = filled.replaceAll(new RegExp(`(?<![\\w-])${word.replaceAll('.', '\\.')}(?![\\w])`, 'g'), () => value);
  }
  const values = new Set(Object.values(words).join(' ').match(TO_FILL_IN));
  const left = (filled.match(TO_FILL_IN) ?? []).filter((word) => !values.has(word));
  if (left.length > 0) throw new Error(`${filled}: ${left.join(', ')} is not filled in`);
  return filled;
}

export function runbookText(name: string): Promise<string> {
  return readFile(new URL(`${name}.md`, RUNBOOKS), 'utf8');
}

/** @param directory for `admin.properties` */
export async function runPasted(
  command: string,
  directory: string,
  environment: Readonly<Record<string, string>>,
): Promise<PastedRun> {
  const { flags, java } = await kafkaToolsJava(() => undefined);
  await writeFile(join(directory, 'admin.properties'), ADMIN_PROPERTIES);
  const start = [java, ...flags].map((word) => `'${word}'`).join(' ');
  const tools = Object.entries(KAFKA_TOOLS).map(([tool, main]) => `${tool}() { ${start} ${main} "$@"; }`);
  // Only `kubectl exec POD --`: this shell is the pod.
  const others = [`cli() { '${process.execPath}' '${MAIN}' "$@"; }`, 'kubectl() { shift 3; "$@"; }'];
  const script = [...others, ...tools, command].join('\n');
  const env = { ...childEnvironment(), ...environment, PAYMENTS_OPERATOR: 'game-day' };
  return new Promise((resolve) => {
    execFile(
      'bash',
      ['--norc', '-c', script],
      { cwd: directory, env, timeout: RUN_MS_MAX },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      },
    );
  });
}
