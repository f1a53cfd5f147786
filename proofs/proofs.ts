/**
 * `npm run proofs`: the proofs that take too long for each change, one after the other, and one table at the end. Exit code
 * 0 when every one held, 1 when one fell.
 */
import { textTable } from 'payment-processor-cli/output';
import { BATCH_USAGE, chosenParts, logFolder, readBatchWords, runParts, type Part } from '../dev/batch.ts';
import { EXIT_CODE_FAILED, parseArguments } from 'payment-processor-local-kafka/command-line';

const MINUTES = 20;
const SEEDS = 1_000_000;

/** The tools first: they are built once. */
const CLUSTER =
  'node dev/operations/install-tools.ts cluster && TEST_HELM=helm3 node node_modules/vitest/vitest.mjs run --config vitest.cluster.config.ts';

const USAGE = `Usage: npm run proofs -- [options]

Runs the long proofs one after the other: ${partsOf(MINUTES, 1)
  .map(({ name }) => name)
  .join(', ')}.

${BATCH_USAGE}  --minutes N         how long those by time run, chaos and histories (default: ${MINUTES})
  --seed N            of chaos and histories (default: from the clock)
`;

function partsOf(minutes: number, seed: number): Part[] {
  const script = (name: string, ...words: string[]): string[] => ['npm', 'run', '--silent', name, '--', ...words];
  const byTime = ['--minutes', String(minutes), '--seed', String(seed)];
  return [
    {
      name: 'histories',
      title: `${minutes} min of simulated histories, seed ${seed}`,
      command: script('simulate', ...byTime),
      limitMinutes: minutes + 10,
    },
    {
      name: 'chaos',
      title: `${minutes} min of kills, freezes and outages, poison among the commands, seed ${seed}`,
      command: script('chaos', ...byTime, '--poison-every', '30s', '--coordinator-outage-every', '3m'),
      limitMinutes: minutes + 20,
    },
    {
      name: 'outages',
      title: 'each kind of outage lived through',
      command: script('chaos', '--scene', 'outages'),
      limitMinutes: 40,
    },
    {
      name: 'take-over',
      title: 'lanes taken over with a million remembered keys',
      command: ['node', 'proofs/bench/restarts.ts', '--keys', '1000000', '--lanes', '6'],
      limitMinutes: 60,
    },
    {
      name: 'restarts',
      title: 'results while processes come and go',
      command: ['node', 'proofs/bench/restarts.ts'],
      limitMinutes: 40,
    },
    {
      name: 'cluster',
      title: "the chart on Kubernetes' own servers",
      command: ['sh', '-c', CLUSTER],
      limitMinutes: 60,
    },
    {
      name: 'gameday',
      title: 'each alert by its fault, and the actions of its runbook',
      command: ['node', 'proofs/gameday/game-day.ts'],
      limitMinutes: 40,
    },
    {
      name: 'long',
      title: 'tests below proofs/long, the examples among them, and those of virtual time through a real Kafka',
      command: ['node', 'node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.proofs.config.ts'],
      limitMinutes: 90,
    },
  ];
}

const options = parseArguments(USAGE, (words) => {
  const read = readBatchWords(words, ['minutes', 'seed']);
  if (read === null) return null;
  const { minutes = MINUTES, seed = 1 + (Date.now() % SEEDS) } = read.numbers;
  return { ...read, parts: chosenParts(partsOf(minutes, seed), read.only) };
});
const say = (line: string): void => console.error(line);
const ends = await runParts(options.parts, await logFolder(options.logs, 'payment-proofs-'), say);
const rows = ends.map(({ log, name, reason, seconds }) => [name, String(seconds), reason ?? 'held', log]);
console.log(`\n${textTable(['proof', 'seconds', 'held or fell', 'log'], rows).join('\n')}`);
if (ends.some(({ verdict }) => verdict === 'fell')) process.exitCode = EXIT_CODE_FAILED;
