/** What a hosted CI runs: commands that there are, by actions that cannot change, with no right but to read. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const FOLDER = '.github/workflows/';
const PINNED = /^actions\/[a-z-]+@[0-9a-f]{40}$/;

const workflow = z.looseObject({
  on: z.record(z.string(), z.unknown()),
  permissions: z.strictObject({ contents: z.literal('read') }),
  jobs: z.record(
    z.string(),
    z.looseObject({
      'timeout-minutes': z.int().max(360),
      permissions: z.undefined().optional(),
      strategy: z.looseObject({ matrix: z.record(z.string(), z.array(z.string())) }).optional(),
      steps: z.array(z.looseObject({ uses: z.string().regex(PINNED).optional(), run: z.string().optional() })),
    }),
  ),
});

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

/** The steps of a workflow that run something, each with every value of its job's matrix. */
function commandsOf(file: string): string[] {
  const { jobs } = workflow.parse(parse(readFileSync(FOLDER + file, 'utf8')));
  return Object.values(jobs).flatMap(({ steps, strategy }) =>
    steps.flatMap(({ run = '' }) => {
      const [, name = ''] = /\$\{\{ matrix\.(\w+) \}\}/.exec(run) ?? [];
      const values = strategy?.matrix[name] ?? [];
      return name === '' ? [run] : values.map((value) => run.replace(`\${{ matrix.${name} }}`, value));
    }),
  );
}

test.each(readdirSync(FOLDER))('%s may only read, and runs scripts that there are', (file) => {
  const named = commandsOf(file).flatMap((command) =>
    [...command.matchAll(/npm run (?:--silent )?(\S+)/g)].map(([, name = '']) => name),
  );
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
});

test('each change is tried by .ci/run, and each night by the proofs and the matrix', () => {
  expect(commandsOf('change.yml').join('\n')).toContain('bash .ci/run');
  const night = commandsOf('night.yml').join('\n');
  for (const script of ['proofs', 'matrix']) expect(night).toContain(`npm run --silent ${script} `);
  const { on } = workflow.parse(parse(readFileSync(`${FOLDER}night.yml`, 'utf8')));
  expect(Object.keys(on)).toContain('schedule');
});
