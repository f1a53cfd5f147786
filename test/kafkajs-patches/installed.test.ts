/** The startup check distinguishes the patched kafkajs from the one that is shipped. */
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { kafkajsProblem } from 'payment-processor-contract/kafka/patched-kafkajs';

test('the patched kafkajs passes', () => {
  expect(kafkajsProblem()).toBeNull();
});

test('a filter that lets aborted records through is named, with the remedy', () => {
  const require = createRequire(import.meta.url);
  const place = require.resolve('kafkajs/src/consumer/filterAbortedMessages');
  require(place);
  const loaded = require.cache[place]!;
  const filter: unknown = loaded.exports;
  loaded.exports = ({ messages }: { messages: unknown[] }) => messages;
  try {
    expect(kafkajsProblem()).toContain('npm ci');
  } finally {
    loaded.exports = filter;
  }
});
