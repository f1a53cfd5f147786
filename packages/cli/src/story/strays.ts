/**
 * Messages of a key outside its lane: their publisher uses another partitioner, and no processor has moved them yet. It reads
 * every lane, so use it only for keys that their own lane does not know.
 */
import { createRegistry, type ClientSettings } from 'payment-processor-client/internal/settings';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import { topicNames } from 'payment-processor-contract/topics';
import { readTopics, within } from '../topic-reading.ts';
import { publishedMessage, type StoryLimits } from './read-story.ts';
import { keepSome, type PublishedMessage, type Story } from './story.ts';

const MESSAGES_MAX = 100;

/** @returns the story with them. @throws the Kafka client's error; an Error naming the topics that do not exist */
export async function withStrays(
  settings: ClientSettings,
  story: Story,
  { newest, readForMs }: StoryLimits,
): Promise<Story> {
  const { commands } = topicNames(settings.TOPIC_PREFIX);
  const typeOf = new Map(COMMAND_TYPES.map((type) => [commands[type], type]));
  const registry = createRegistry(settings);
  const messages: PublishedMessage[] = [];
  const cuts = new Set(story.cuts);
  let leftOut = 0;
  const reading = readTopics(settings, {
    topics: [...typeOf.keys()],
    newest,
    onCut: (cut) => void cuts.add(`${cut} (--newest)`),
    onRecord: async (record) => {
      const commandType = typeOf.get(record.topic);
      if (commandType === undefined || record.key?.toString() !== story.key) return;
      const message = { ...(await publishedMessage(registry, record, commandType)), movedFrom: null };
      leftOut += keepSome(messages, message, MESSAGES_MAX);
    },
  });
  const unread = await within(readForMs, 'the other lanes of the topics of commands', reading);
  for (const cut of unread) cuts.add(cut);
  if (leftOut > 0) cuts.add(`${leftOut} messages of the key are not shown`);
  return { ...story, messages, cuts: [...cuts], isCutShort: story.isCutShort || unread.length > 0 };
}
