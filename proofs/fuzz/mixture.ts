/**
 * Poison in random mixtures through a real Kafka: in each round some batches into any lane of any input, of kinds of the
 * kit, of messages drawn at random and of batches with spoilt bytes; then good messages behind all of it, in every lane.
 * What was taken is answered or buried, and the good ones are answered as if nothing else had been there.
 */
import { POISONED_BYTES_MAX } from '../bench/process-memory.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { laneOf, readKey } from 'payment-processor-contract/keys';
import type { Draws } from '../simulation/draws.ts';
import { POISON_KINDS } from '../../test/support/poison.ts';
import type { PoisonInput } from '../../test/support/poison/kinds.ts';
import { batchOf, CODECS, encodeBatch, encodeRecords, type CodecName } from '../../test/support/record-batch.ts';
import { LANES } from '../../test/support/stack.ts';
import type { MessagePlace } from './letter-index.ts';
import { type Behind, type PoisonBench } from './poison-bench.ts';
import { makePoison } from './poison-trial.ts';
import { randomMessage, type RandomMessage } from './random-messages.ts';

export interface MixtureReport {
  rounds: number;
  /** Batches taken by the broker, by what they were. */
  taken: Record<string, number>;
  refused: Record<string, number>;
  /** What the messages drawn at random came to. */
  outcomes: Record<string, number>;
  residentBytesMax: number;
  wrong: string[];
}

const BATCHES_PER_ROUND_MAX = 8;
const MESSAGES_PER_BATCH_MAX = 6;
/** For all of a round. */
const ROUND_MS_MAX = 60_000;
const CODEC_NAMES = Object.keys(CODECS) as CodecName[];
const INPUTS: readonly PoisonInput[] = ['command', 'decision', 'observation'];
/** A kind about a key of its own is a copy the second time; a million messages are a round of their own. */
const KINDS = POISON_KINDS.filter(({ fixedKey, name }) => fixedKey === null && !/^\d+ messages/.test(name));

/** A message drawn at random that the broker took: its answer or its dead letter is due. */
interface Due {
  readonly what: string;
  readonly message: RandomMessage;
  readonly place: MessagePlace;
}

/** @param isOver asked before each round */
export async function fuzzMixture(bench: PoisonBench, draws: Draws, isOver: () => boolean): Promise<MixtureReport> {
  const report: MixtureReport = { rounds: 0, taken: {}, refused: {}, outcomes: {}, residentBytesMax: 0, wrong: [] };
  const keys: string[] = [];
  const avro = await goodAvro(bench);
  while (!isOver() && report.wrong.length === 0) {
    report.rounds += 1;
    const dues: Due[] = [];
    const batches = 1 + draws.below(BATCHES_PER_ROUND_MAX);
    const put: string[] = [];
    for (let index = 0; index < batches; index += 1) {
      const share = draws.random();
      if (share < 0.4) put.push(await putKind(bench, draws, report, keys));
      else if (share < 0.9) put.push(await putRandom(bench, draws, report, avro, dues));
      else put.push(await putSpoilt(bench, draws, report));
    }
    const behind = await putBehindAll(bench);
    const isSettled = (): boolean => dues.every((due) => outcomeOf(bench, due) !== null);
    const problem = await bench.settled(behind, isSettled, ROUND_MS_MAX);
    const wrong = problem === null ? [] : [problem];
    for (const { what, isHandled } of behind) if (!isHandled()) wrong.push(`not handled: ${what}`);
    for (const due of dues) {
      const outcome = outcomeOf(bench, due);
      if (outcome === null) wrong.push(`neither answered nor buried: ${due.what}`);
      else count(report.outcomes, outcome);
      const key = readKey(due.message.key);
      if (due.message.input === 'command' && key.ok) keys.push(key.key);
    }
    report.residentBytesMax = Math.max(report.residentBytesMax, await bench.residentBytesMax());
    if (report.residentBytesMax > POISONED_BYTES_MAX) wrong.push(`${report.residentBytesMax} bytes resident`);
    if (wrong.length > 0) report.wrong.push(...wrong, `round ${report.rounds}: ${put.join('; ')}`);
  }
  for (const key of new Set(keys)) report.wrong.push(...judgeKey(bench, key));
  return report;
}

/** One result for each revision of a key; what copies and conflicts get is beside that. */
function judgeKey(bench: PoisonBench, key: string): string[] {
  const revisions = bench.answersOf(key).map(({ value }) => value.revision);
  return new Set(revisions).size === revisions.length ? [] : [`${key}: results of revisions ${revisions.join(', ')}`];
}

async function putKind(bench: PoisonBench, draws: Draws, report: MixtureReport, keys: string[]): Promise<string> {
  const kind = draws.pick(KINDS);
  const lane = draws.below(LANES);
  const poison = await makePoison(bench, kind, lane);
  const partition = kind.partition === 'own' ? lane : (lane + 1) % LANES;
  const produced = await bench.put(bench.topicOf(kind.input, kind.commandType), partition, poison.batch);
  count(produced.kind === 'taken' ? report.taken : report.refused, 'kinds of the kit');
  if (kind.input === 'command' && poison.key !== null) keys.push(poison.key, ...poison.companions);
  return `${kind.name} into lane ${partition}`;
}

async function putRandom(
  bench: PoisonBench,
  draws: Draws,
  report: MixtureReport,
  avro: ReadonlyMap<string, Buffer>,
  dues: Due[],
): Promise<string> {
  const lane = draws.below(LANES);
  const first = randomMessage(draws, bench.keyOf(lane), (input, type) => avro.get(`${input} ${type}`) ?? null);
  const messages = [first];
  const more = draws.below(MESSAGES_PER_BATCH_MAX);
  for (let index = 0; index < more; index += 1) {
    const message = randomMessage(draws, bench.keyOf(lane), (input, type) => avro.get(`${input} ${type}`) ?? null);
    if (message.input === first.input && message.commandType === first.commandType) messages.push(message);
  }
  const topic = bench.topicOf(first.input, first.commandType);
  const partition = draws.chance(0.9) ? lane : draws.below(LANES);
  const codec = draws.pick(CODEC_NAMES);
  const produced = await bench.put(topic, partition, batchOf(messages, CODECS[codec]));
  count(produced.kind === 'taken' ? report.taken : report.refused, `random messages, ${codec}`);
  const what = `${messages.length} random messages of ${topic} into lane ${partition}, ${codec}`;
  if (produced.kind === 'taken' && first.input !== 'observation') {
    messages.forEach((message, index) => {
      const offset = produced.baseOffset + BigInt(index);
      dues.push({ what: `${what}, offset ${offset}`, message, place: { topic, partition, offset } });
    });
  }
  return what;
}

/** A batch whose compressed records have flipped bits; the broker lets some of them through. */
async function putSpoilt(bench: PoisonBench, draws: Draws, report: MixtureReport): Promise<string> {
  const lane = draws.below(LANES);
  const input = draws.pick(INPUTS);
  const type: CommandType = draws.pick(COMMAND_TYPES);
  const { compress, attributes } = CODECS[draws.pick(CODEC_NAMES)];
  const records = encodeRecords([{ key: bench.keyOf(lane), value: 'x'.repeat(draws.below(200)) }]);
  const body = Buffer.from(compress(records));
  for (let flips = 1 + draws.below(3); flips > 0; flips -= 1) {
    const at = draws.below(body.length);
    body[at] = (body[at] ?? 0) ^ (1 << draws.below(8));
  }
  const produced = await bench.put(bench.topicOf(input, type), lane, encodeBatch({ body, attributes }));
  count(produced.kind === 'taken' ? report.taken : report.refused, 'spoilt batches');
  return `a spoilt batch ${body.toString('hex').slice(0, 200)} of attributes ${attributes} into lane ${lane} of ${input}`;
}

async function putBehindAll(bench: PoisonBench): Promise<Behind[]> {
  const lanes = Array.from({ length: LANES }, (_, lane) => lane);
  const behind = await bench.putBehind('command', 'create-quote', lanes);
  for (const input of INPUTS.slice(1)) behind.push(...(await bench.putBehind(input, 'transfer-in', lanes)));
  return behind;
}

/** Its outcome, or null while it has none. */
function outcomeOf(bench: PoisonBench, { message, place }: Due): string | null {
  const [letter] = bench.deadLetters(place, message.key);
  const reason = letter?.headers['dlq-reason'];
  if (message.input === 'decision') return reason === undefined ? null : `decision: ${reason}`;
  const key = readKey(message.key);
  // A result may have answered another message of the key: which one, the fuzz does not know.
  const answer = key.ok ? bench.stack.journal.results(key.key)[0] : undefined;
  if (answer !== undefined) return `command: ${answer.value.outcome}${reason === undefined ? '' : `, ${reason}`}`;
  return reason === undefined ? null : `command: ${reason}`;
}

/** Good values in Avro, by input and type. */
async function goodAvro(bench: PoisonBench): Promise<Map<string, Buffer>> {
  const key = bench.keyOf(laneOf('x', LANES));
  const { commands, operatorDecisions } = bench.stack.topics;
  const decision = await bench.encode(operatorDecisions, {
    decision: 'EXECUTED',
    expectedRevision: 1,
    transactionId: null,
    operator: 'fuzz',
    reason: 'poison',
  });
  const transfer = await bench.encode(commands['transfer-in'], {
    source: { accountId: 'ExternalAccount:payer-x' },
    destination: { accountId: `InternalAccount:${key}-x` },
    amount: 100n,
  });
  const quote = await bench.encode(commands['create-quote'], {
    source: { sourceType: 'ACCOUNT', accountId: `InternalAccount:${key}-x`, otherFieldsJson: null },
    destination: { destinationType: 'UMA_ADDRESS', accountId: null, otherFieldsJson: '{"umaAddress":"$b@b.c"}' },
    lockedCurrencySide: 'SENDING',
    lockedCurrencyAmount: 1000n,
    lookupId: 'Lookup:any',
    immediatelyExecute: false,
    description: null,
    purposeOfPayment: null,
    senderCustomerInfo: { x: 'y' },
  });
  return new Map([
    ...COMMAND_TYPES.map((type): [string, Buffer] => [`decision ${type}`, decision]),
    ['command transfer-in', transfer],
    ['command create-quote', quote],
  ]);
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
