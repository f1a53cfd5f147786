/** How one message of the decisions topic is read. */
import { expect, test } from 'vitest';
import type { IntakeOptions } from '../../src/consumers/command-intake.ts';
import { readDecision, type DecisionIntake } from '../../src/consumers/decision-intake.ts';
import { aPolicy } from '../ledger/entries.ts';
import { AS_JSON, taken } from './received.ts';

const DECISION = { decision: 'RETRY', expectedRevision: 1, operator: 'dana', reason: 'ticket 4711' };
const options: IntakeOptions = {
  registry: { decode: () => Promise.reject(new Error('it is JSON')) },
  laneCount: 1,
  maxAgeMs: aPolicy().commandMaxAgeMs,
};

function read(changes: object): DecisionIntake {
  const message = taken(JSON.stringify({ ...DECISION, ...changes }), { headers: AS_JSON });
  return readDecision(options, { topic: 'decisions', lane: 0 }, message) as DecisionIntake;
}

test('a decision in JSON is read', () => {
  expect(read({})).toMatchObject({
    kind: 'decision',
    key: 'key-1',
    decision: { ...DECISION, transactionId: null },
  });
});

test.each(['decision', 'transactionId', 'operator', 'reason'])(
  'one whose %s is not Unicode is a dead letter: it would stand in the result as another text',
  (name) => {
    const intake = read({ [name]: 'a\ud800' });
    expect(intake).toMatchObject({ kind: 'dead-letter', letter: { reason: 'UNREADABLE' } });
    expect(intake.kind === 'dead-letter' ? intake.letter.message : '').toContain(`${name} is not Unicode`);
  },
);
