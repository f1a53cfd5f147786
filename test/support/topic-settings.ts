/** Changes settings of topics, as an operator does while they are in use. */
import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { eventually } from './watch.ts';

type TopicSettings = Readonly<Record<string, string>>;

/** Returns once a broker uses them: it gets them from its controller a moment after the controller has accepted them. */
export async function changeTopics(kafka: Kafka, topics: readonly string[], changes: TopicSettings): Promise<void> {
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
  // The request replaces all of a topic's own settings, so it carries the others as well.
  await withAdmin(kafka, async (admin) => {
    const own = await ownSettings(admin, resources);
    await admin.alterConfigs({
      validateOnly: false,
      resources: resources.map((resource, index) => ({
        ...resource,
        configEntries: Object.entries({ ...own[index], ...changes }).map(([name, value]) => ({ name, value })),
      })),
    });
  });
  await eventually(
    () => withAdmin(kafka, (admin) => ownSettings(admin, resources)),
    (all) => all.every((own) => Object.entries(changes).every(([name, value]) => own[name] === value)),
    `${topics.join(', ')} to have the new settings`,
  );
}

/** In the order of the topics, without what they have by default. */
async function ownSettings(
  admin: Admin,
  topics: readonly { type: kafkajs.ConfigResourceTypes; name: string }[],
): Promise<TopicSettings[]> {
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [...topics] });
  return topics.map(({ name }) => {
    const entries = resources.find(({ resourceName }) => resourceName === name)?.configEntries ?? [];
    const own = entries.filter(({ configSource }) => configSource === kafkajs.ConfigSource.TOPIC_CONFIG);
    return Object.fromEntries(own.map(({ configName, configValue }) => [configName, configValue]));
  });
}
