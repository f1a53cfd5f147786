import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { COMPILE_CACHE } from './dev/compile-cache.ts';
import { testFiles } from './test/support/test-groups.ts';
import { LongestFirst } from './test/support/longest-first.ts';

// Workers inherit it, and childEnvironment() hands it on.
process.env['NODE_COMPILE_CACHE'] ??= COMPILE_CACHE;
const files = testFiles();

export default defineConfig({
  test: {
    // Tests with Kafka mostly wait: five workers keep two cores busy.
    maxWorkers: 2 * Math.min(2, availableParallelism()) + 1,
    sequence: { sequencer: LongestFirst },
    // What a file imports is loaded once for each worker. Kept apart, half of the time of tests in this process would go to loading.
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A busy machine stands still for longer than vitest's own second.
    expect: { poll: { timeout: 30_000 } },
    projects: [
      { extends: true, test: { name: 'pure', include: files.pure } },
      // The process itself is in question: it is the file's own.
      { extends: true, test: { name: 'processes', include: files.processes, isolate: true } },
      { extends: true, test: { name: 'kafka', include: files.kafka, globalSetup: ['test/support/engine.ts'] } },
      {
        extends: true,
        test: {
          name: 'secured',
          include: files.secured,
          globalSetup: ['test/support/engine.ts', 'test/access/secured-engine.ts'],
        },
      },
    ],
  },
});
