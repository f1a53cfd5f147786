import { defineConfig } from 'vitest/config';

/** Tests that need a browser, helm or promtool, and neither Kafka nor a registry. */
export default defineConfig({
  test: {
    include: ['test/operations/**/*.test.ts'],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
