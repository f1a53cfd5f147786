import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'proofs/**/*.test.ts'],
    exclude: ['test/operations/**', 'test/cluster/**'],
    globalSetup: ['test/support/engine.ts'],
    // Two workers: each test file brings processes of its own, and small machines have two cores.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A busy machine stands still for longer than vitest's own second.
    expect: { poll: { timeout: 30_000 } },
  },
});
