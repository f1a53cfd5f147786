import { defineConfig } from 'vitest/config';

/** Tests that need a browser, helm or promtool; the image alone needs Kafka and a registry, too. */
export default defineConfig({
  test: {
    include: ['test/operations/**/*.test.ts'],
    globalSetup: ['test/support/engine.ts', 'test/access/secured-engine.ts'],
    maxWorkers: 2,
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
