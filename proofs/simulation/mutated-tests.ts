/** Runs, under each mutation that no history notices, the test file that does. */
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createVitest, type CliOptions, type Vitest } from 'vitest/node';
import { switchedSources } from './mutated-sources.ts';
import { ROOT, type Mutation } from './mutations.ts';

declare module 'vitest' {
  interface ProvidedContext {
    mutationInForce: number;
  }
}

export type ToldByTest = Mutation & { readonly toldBy: string };

/** A mutated processor may wait without end. Beside other work, what syncs to a disk has taken a minute. */
const TEST_MS_MAX = 120_000;
const NONE = -1;

/**
 * @param onTried receives what failed, in words; null: nothing noticed the mutation
 * @throws if a test fails without a mutation: it would notice every one
 */
export async function tryWithTests(
  mutations: readonly ToldByTest[],
  onTried: (mutation: ToldByTest, failure: string | null) => void,
): Promise<void> {
  if (mutations.length === 0) return;
  const sources = switchedSources(mutations.map(({ name }) => name));
  const plugin = {
    name: 'mutated-sources',
    enforce: 'pre',
    load: (id: string) => sources.get(pathToFileURL(id).href) ?? null,
  } as const;
  const options = {
    config: false,
    root: fileURLToPath(ROOT),
    include: ['{test,proofs,packages/*/test}/**/*.test.ts'],
    setupFiles: ['proofs/simulation/mutation-in-force.ts'],
    testTimeout: TEST_MS_MAX,
    reporters: [{}],
    bail: 1,
    // It would have the sources of other mutations.
    fsModuleCache: false,
    watch: false,
  } satisfies CliOptions;
  const vitest = await createVitest(options, { plugins: [plugin] });
  try {
    for (const [mutation] of Map.groupBy(
      mutations,
      ({ toldBy, toldByTest = '' }) => `${toldBy} ${toldByTest}`,
    ).values()) {
      const failure = mutation === undefined ? null : await failureOf(vitest, mutation, NONE);
      if (failure !== null) throw new Error(`without a mutation: ${failure}`);
    }
    for (const [index, mutation] of mutations.entries()) onTried(mutation, await failureOf(vitest, mutation, index));
  } finally {
    await vitest.close();
    // A test that fails under a mutation is no failure of this process.
    process.exitCode = undefined;
  }
}

async function failureOf(vitest: Vitest, by: ToldByTest, mutation: number): Promise<string | null> {
  const { toldBy: file, toldByTest = '' } = by;
  vitest.provide('mutationInForce', mutation);
  vitest.setGlobalTestNamePattern(toldByTest);
  const specifications = await vitest.globTestSpecifications([`${file}.test.ts`]);
  if (specifications.length !== 1) throw new Error(`${file}: ${specifications.length} test files`);
  // It keeps what failed before, and would go no further.
  vitest.state.filesMap.clear();
  vitest.state.idMap.clear();
  vitest.state.clearErrors();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  for (const module of testModules) {
    for (const test of module.children.allTests('failed'))
      return `${test.fullName}: ${test.result().errors?.[0]?.message ?? 'without an error'}`;
    for (const error of module.errors()) return `${file}: ${error.message}`;
  }
  return unhandledErrors.length > 0 ? `${file}: ${String(unhandledErrors[0])}` : null;
}
