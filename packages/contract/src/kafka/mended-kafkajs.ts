/**
 * Asks the kafkajs that is installed whether it is the mended one. As shipped it hands records of aborted transactions to
 * readers of committed ones when two such transactions interleave: an aborted payment would be executed. The mends are
 * applied after install (`patches/`), which an install without scripts leaves out, and a release that was put over an older
 * one lacks the newer of them.
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
  'kafkajs is installed without its mends: install with scripts allowed (npm ci runs patch-package after install); ' +
  'the packaged client brings its own, which the package manager must leave as it is (bundleDependencies)';

/** @returns what is wrong and what to do, or null */
export function kafkajsProblem(): string | null {
  const require = createRequire(import.meta.url);
  const { requests } = require('kafkajs/src/protocol/requests') as { requests: Readonly<Record<string, unknown>> };
  if (requests['TopicIds'] === undefined || requests['TopicOperations'] === undefined) return PROBLEM;
  const runner = require('kafkajs/src/consumer/runner') as { readonly prototype: { readonly rejoin?: unknown } };
  if (runner.prototype.rejoin === undefined) return PROBLEM;
  const filter = require('kafkajs/src/consumer/filterAbortedMessages') as Filter;
  const record = (offset: number, producerId: string): FilteredMessage => ({
    offset: String(offset),
    key: Buffer.from('key'),
    isControlRecord: false,
    batchContext: { producerId, inTransaction: true },
  });
  // Two transactions that were both aborted, named by the broker in another order than they began.
  const left = filter({
    messages: [record(0, '1'), record(1, '2'), record(2, '1')],
    abortedTransactions: [
      { producerId: '2', firstOffset: '1' },
      { producerId: '1', firstOffset: '0' },
    ],
  });
  return left.length === 0 ? null : PROBLEM;
}
