import type { EffectsReport } from './sandbox-control.ts';

/** The report of a service that received no call. */
export const NO_EFFECTS: EffectsReport = {
  operations: {
    'transfer-in': {},
    'create-quote': {},
    'execute-quote': {},
    'reject-transaction': {},
    'simulate-uma-receive': {},
  },
  unkeyed: {},
  quotes: {},
  transactions: {},
  totals: {},
};
