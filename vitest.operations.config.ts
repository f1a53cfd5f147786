import { defineConfig } from 'vitest/config';

/** Tests of what is shipped and deployed: chart, alerts, image, page, packed client, rights of each role, a changed password. Some need a browser, helm or promtool, others Kafka. */
export default defineConfig({
  test: {
    include: ['test/operations/**/*.test.ts'],
    globalSetup: ['test/support/engine.ts', 'test/access/secured-engine.ts'],
    maxWorkers: 2,
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
