/** Questions about topics in one turn are asked as one, as long as the brokers answer it. */
import { KafkaJSConnectionError, KafkaJSNonRetriableError } from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { BatchedQuestions } from '../../src/consumers/batched-questions.ts';

type Send = ConstructorParameters<typeof BatchedQuestions<string>>[0];

function asked(send: Send): { questions: BatchedQuestions<string>; sent: (readonly string[])[] } {
  const sent: (readonly string[])[] = [];
  const questions = new BatchedQuestions<string>((topics) => {
    sent.push(topics);
    return send(topics);
  });
  return { questions, sent };
}

const answer: Send = async (topics) => new Map(topics.map((topic) => [topic, `of ${topic}`]));

describe('questions about topics', () => {
  test('of one turn are sent as one, each topic once; the next turn asks anew', async () => {
    const { sent, questions } = asked(answer);
    const answers = await Promise.all(['a', 'b', 'a'].map((topic) => questions.ask(topic)));
    expect(answers).toEqual(['of a', 'of b', 'of a']);
    await questions.ask('a');
    expect(sent).toEqual([['a', 'b'], ['a']]);
  });

  test('one topic that may not be asked about does not hide the others', async () => {
    const { sent, questions } = asked(async (topics) => {
      if (topics.includes('secret')) throw new KafkaJSNonRetriableError('not yours');
      return answer(topics);
    });
    const answers = await Promise.allSettled(['a', 'secret', 'b'].map((topic) => questions.ask(topic)));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(sent).toEqual([['a', 'secret', 'b'], ['a'], ['secret'], ['b']]);
  });

  test('about partitions of a topic stay together', async () => {
    const { sent, questions } = asked(async (names) => {
      if (names.includes('secret/0')) throw new KafkaJSNonRetriableError('not yours');
      return answer(names);
    });
    const answers = await Promise.allSettled(['a/0', 'secret/0', 'a/1', 'secret/1'].map((name) => questions.ask(name)));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect(sent.slice(1)).toEqual([
      ['a/0', 'a/1'],
      ['secret/0', 'secret/1'],
    ]);
  });

  test('are not sent again one by one where no broker answers', async () => {
    const { sent, questions } = asked(() => Promise.reject(new KafkaJSConnectionError('away')));
    const answers = await Promise.allSettled(['a', 'b'].map((topic) => questions.ask(topic)));
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(sent).toHaveLength(1);
  });

  test('a topic that the answer leaves out does not exist', async () => {
    const { questions } = asked((topics) => answer(topics.filter((topic) => topic !== 'gone')));
    const answers = await Promise.allSettled(['a', 'gone'].map((topic) => questions.ask(topic)));
    expect(answers).toMatchObject([
      { value: 'of a' },
      { reason: { message: "gone does not exist: the brokers' answer does not mention it" } },
    ]);
  });
});
