/** Kafka's own command line tools without its scripts: the Java arguments for each. */
import { delimiter, join } from 'node:path';
import { installed } from './cache.ts';
import { QUICK_START_FLAGS } from './jvm.ts';
import { KAFKA_TOOLS_PIN, kafkaPin } from './pins.ts';
import { findJava } from './tools.ts';

/** Main classes by script name. */
export const KAFKA_TOOLS: Readonly<Record<string, string>> = {
  'kafka-acls.sh': 'org.apache.kafka.tools.AclCommand',
  'kafka-configs.sh': 'kafka.admin.ConfigCommand',
  'kafka-topics.sh': 'org.apache.kafka.tools.TopicCommand',
  'kafka-transactions.sh': 'org.apache.kafka.tools.TransactionsCommand',
};

/** Java and its arguments before the main class. Installs the tools once. */
export async function kafkaToolsJava(onProgress: (line: string) => void): Promise<{ java: string; flags: string[] }> {
  const java = await findJava();
  const folders = [await installed(KAFKA_TOOLS_PIN, onProgress), await installed(kafkaPin(), onProgress)];
  const classPath = folders.map((jars) => join(jars, '*')).join(delimiter);
  return { java, flags: [...QUICK_START_FLAGS, '-cp', classPath] };
}
