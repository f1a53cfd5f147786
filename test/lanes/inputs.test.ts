/** Where the inputs of a lane stand, and which of them a commit moved. */
import { expect, test } from 'vitest';
import { Inputs } from '../../src/lanes/inputs.ts';
import type { LaneParts } from '../../src/lanes/parts.ts';
import { topicNames } from '../../src/records/topics.ts';

const silence = (): void => undefined;
const topics = topicNames('test');
const transfers = topics.commands['transfer-in'];

test('a commit tells of the inputs that it moved, and of no others: those that stand still are not told again', () => {
  const member = { seek: silence, resume: silence };
  const parts = { lane: 0, topics, commandTypes: ['transfer-in'], member };
  const inputs = new Inputs(parts as unknown as LaneParts, silence);
  const all = [transfers, topics.operatorDecisions, topics.observations];
  inputs.open(new Map(all.map((topic) => [topic, 0n])), null);
  expect(inputs.moved(inputs.next(new Map()))).toEqual([]);
  expect(inputs.moved(inputs.next(new Map([[transfers, 7n]])))).toEqual([[transfers, 7n]]);
  inputs.passFiltered(topics.observations, 0n, 4n);
  expect(inputs.moved(inputs.next(new Map()))).toEqual([[topics.observations, 5n]]);
});
