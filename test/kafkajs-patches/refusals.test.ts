/** A broker's refusal names the refused resources; as shipped, it says only that something was refused. */
import { expect, test } from 'vitest';
import { loadPatched } from './patched-module.ts';

const TOPIC_AUTHORIZATION_FAILED = 29;

/** The error of an answer in which two topics of three are refused. */
async function errorOf(): Promise<unknown> {
  const { parse } = loadPatched('src/protocol/requests/metadata/v0/response') as {
    parse: (data: object) => Promise<unknown>;
  };
  const topic = (name: string, topicErrorCode: number): object => ({
    topic: name,
    topicErrorCode,
    partitionMetadata: [],
  });
  const topics = [
    topic('open', 0),
    topic('closed', TOPIC_AUTHORIZATION_FAILED),
    topic('shut', TOPIC_AUTHORIZATION_FAILED),
  ];
  return parse({ brokers: [], topicMetadata: topics }).catch((error: unknown) => error);
}

test('the topics that a client may not see are named', async () => {
  const refused = { type: 'TOPIC_AUTHORIZATION_FAILED', resourceName: 'closed, shut' };
  expect(await errorOf()).toMatchObject(refused);
});
