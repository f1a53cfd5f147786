import type { EffectsReport } from './sandbox-control.ts';

/** Of a service that nobody has called. */
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
