import { defineConfig } from 'vitest/config';

/** Tests of what is shipped: chart, alerts, image, page, packed client. Some need a browser, helm or promtool, others Kafka. */
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
