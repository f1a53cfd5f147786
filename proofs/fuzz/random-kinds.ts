/** Poison drawn at random, through a real Kafka: messages, and batches whose compressed records have flipped bits. */
import { readKey } from 'payment-processor-contract/keys';
import { batchKind, type Expected, type PoisonKind } from '../../test/support/poison/kinds.ts';
import { batchOf, CODECS, encodeBatch, encodeRecords, type CodecName } from '../../test/support/record-batch.ts';
import { Draws } from '../simulation/draws.ts';
import { randomMessage, randomTarget } from './random-messages.ts';

const CODEC_NAMES = Object.keys(CODECS) as CodecName[];
const SPOILT_SHARE = 0.1;
const OTHER_LANE_SHARE = 0.1;
/** A command is answered or buried; nobody knows the key of a decision, so it is buried; an observation may be good. */
const ANYTHING: Expected = {
  broker: 'either',
  answers: ['ACCEPTED', 'REFUSED', 'INVALID', 'EXPIRED', 'FAILED', 'none'],
  burials: [
    ...(['no', 'UNREADABLE', 'UNKNOWN_SCHEMA', 'NO_KEY', 'INVALID_KEY', 'TOO_LARGE', 'SET_ASIDE'] as const),
    ...(['REFUSED_DECISION', 'UNREADABLE_BATCH'] as const),
  ],
  copy: 'either',
  companions: 'answered',
};

/** The same seed and number draw the same kind. */
export function randomKind(seed: number, number: number): PoisonKind {
  const draws = new Draws(seed, `kind ${number}`);
  const codec = CODECS[draws.pick(CODEC_NAMES)];
  if (draws.chance(SPOILT_SHARE)) return spoiltKind(`random ${number}: spoilt`, draws, codec);
  const target = randomTarget(draws);
  const isBuried = target.input === 'decision';
  const expected = isBuried ? { ...ANYTHING, burials: ANYTHING.burials.filter((one) => one !== 'no') } : ANYTHING;
  const partition = draws.chance(OTHER_LANE_SHARE) ? 'other' : 'own';
  return batchKind(
    `random ${number}: ${target.commandType}`,
    expected,
    async ({ encode, key: ownKey }) => {
      const message = await randomMessage(draws, target, ownKey, encode);
      const key = readKey(message.key);
      return {
        batch: batchOf([message], codec),
        message,
        key: target.input === 'command' && key.ok ? key.key : null,
      };
    },
    { ...target, partition },
  );
}

/** Of an observation: what it decompresses to is nobody's command. The broker lets some of them through. */
function spoiltKind(name: string, draws: Draws, { attributes, compress }: (typeof CODECS)[CodecName]): PoisonKind {
  return batchKind(
    name,
    ANYTHING,
    ({ key }) => {
      const body = Buffer.from(compress(encodeRecords([{ key, value: 'x'.repeat(draws.below(200)) }])));
      for (let flips = 1 + draws.below(3); flips > 0; flips -= 1) {
        const at = draws.below(body.length);
        body[at] = (body[at] ?? 0) ^ (1 << draws.below(8));
      }
      return { batch: encodeBatch({ body, attributes }) };
    },
    { input: 'observation' },
  );
}
