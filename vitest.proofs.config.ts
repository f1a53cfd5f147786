import { defineConfig } from 'vitest/config';
import { COMPILE_CACHE } from './dev/compile-cache.ts';
import { testsOfEitherStack } from './test/support/test-groups.ts';

process.env['NODE_COMPILE_CACHE'] ??= COMPILE_CACHE;

/**
 * Long tests, each kind of poison, and those that npm test runs in virtual time once more through a real Kafka, registry and
 * processes.
 */
export default defineConfig({
  test: {
    include: ['proofs/long/**/*.test.ts', 'test/promises/i6-fuzz.test.ts', ...testsOfEitherStack()],
    globalSetup: ['test/support/engine.ts'],
    env: { TEST_STACK: 'real', POISON_KINDS: 'all' },
    maxWorkers: 2,
    testTimeout: 240_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
