/**
 * Checks that the installed kafkajs has our patches. As shipped, it delivers records of aborted transactions to
 * read_committed readers when two such transactions interleave: an aborted payment would be executed. The patches
 * (`patches/`) are applied after install. An install without scripts skips them, and one over an older release lacks the
 * newer ones.
 */
import { createRequire } from 'node:module';

interface FilteredMessage {
  readonly offset: string;
  readonly key: Buffer;
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
}

type Filter = (fetched: {
  messages: FilteredMessage[];
  abortedTransactions: { producerId: string; firstOffset: string }[];
}) => FilteredMessage[];

const PROBLEM =
  'kafkajs is installed without its patches: install with scripts allowed (npm ci runs patch-package after install). ' +
  'The packaged client contains a patched kafkajs, which the package manager must not replace (bundleDependencies)';

/** @returns the problem and its remedy, or null */
export function kafkajsProblem(): string | null {
  const require = createRequire(import.meta.url);
  const { requests } = require('kafkajs/src/protocol/requests') as {
    requests: Readonly<Record<string, { readonly versions: readonly string[] } | undefined>>;
  };
  const added = ['TopicIds', 'TopicOperations', 'OffsetForLeaderEpoch'].map((name) => requests[name]?.versions.length);
  if (added.some((versions = 0) => versions === 0)) return PROBLEM;
  const runner = require('kafkajs/src/consumer/runner') as { readonly prototype: { readonly rejoin?: unknown } };
  if (runner.prototype.rejoin === undefined) return PROBLEM;
  const filter = require('kafkajs/src/consumer/filterAbortedMessages') as Filter;
  const record = (offset: number, producerId: string): FilteredMessage => ({
    offset: String(offset),
    key: Buffer.from('key'),
    isControlRecord: false,
    batchContext: { producerId, inTransaction: true },
  });
  // Two aborted transactions, which the broker lists in another order than they began.
  const left = filter({
    messages: [record(0, '1'), record(1, '2'), record(2, '1')],
    abortedTransactions: [
      { producerId: '2', firstOffset: '1' },
      { producerId: '1', firstOffset: '0' },
    ],
  });
  return left.length === 0 ? null : PROBLEM;
}
