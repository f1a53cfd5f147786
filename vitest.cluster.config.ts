import { defineConfig } from 'vitest/config';

/** The chart against Kubernetes' own API server and controllers; no Kafka, no registry, no containers. */
export default defineConfig({
  test: {
    include: ['test/cluster/**/*.test.ts'],
    globalSetup: ['test/cluster/setup.ts'],
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
