/** Checks Kafka itself, our topics, the processors' group with its lag, and the work that waits for people. */
import type { Config } from 'payment-processor-contract/config';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { KAFKA_SETTING_NAMES } from 'payment-processor-contract/kafka/kafka-client';
import { lanesInWords } from 'payment-processor-contract/keys';
import { checkTopics } from '../../../../src/producers/topic-admin.ts';
import { TOPIC_SETTING_NAMES } from 'payment-processor-contract/topic-definitions';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_SETTING_NAMES, cliKafka, type CliKafka } from '../context.ts';
import {
  notChecked,
  ok,
  problem,
  withSettings,
  type CheckName,
  type Finding,
  type CheckMessage,
  type CheckMessages,
} from './findings.ts';
import { readGroup, type GroupDescription } from '../kafka/group-members.ts';
import { checkDeadLetters, checkHolds, checkUnknownResults } from './people-checks.ts';
import { deletedText, heldText, readHeldBack, readLag, sumOf } from '../lag.ts';
import { missingRightInWords, missingRights } from '../../../../src/producers/rights-check.ts';
import { grantCommand, rightsOf, type Role } from 'payment-processor-contract/rights';

/** A longer wait has a cause worth reporting. */
const LAG_AGE_MAX_MS = 60_000;

const HIDDEN_HINT = '. If it does exist, Kafka hides it from users without rights on it: check with `doctor --rights`';
const BEHIND_KAFKA: readonly CheckName[] = ['topics', 'group', 'lag', 'holds', 'unknown-results', 'dead-letters'];
const TOPIC_NAMES_NEEDED = [...KAFKA_SETTING_NAMES, ...TOPIC_SETTING_NAMES, 'SANDBOX_COMMANDS'] as const;
const RIGHTS_NAMES_NEEDED = [...CLI_SETTING_NAMES, 'KAFKA_GROUP_ID', 'SANDBOX_COMMANDS'] as const;
const GROUP_NAMES_NEEDED = [...RIGHTS_NAMES_NEEDED, 'LANES'] as const;

/** Runs all checks of Kafka. If no broker answers, that is the only problem. */
export async function checkKafka(): Promise<Finding[]> {
  const cluster = await withSettings('kafka', KAFKA_SETTING_NAMES, async (settings) => {
    const { brokers, clusterId } = await withAdmin(cliKafka(settings), (admin) => admin.describeCluster());
    const list = brokers.map(({ host, port }) => `${host}:${port}`).join(', ');
    return ok(`${counted(brokers.length, 'broker')} (${list}), cluster id ${clusterId}`);
  });
  if (cluster.some(({ status }) => status !== 'ok')) {
    return [...cluster, ...BEHIND_KAFKA.map((check) => ({ check, ...notChecked('Kafka was not reached') }))];
  }
  let isLaneCountWrong = false;
  const topics = await withSettings('topics', TOPIC_NAMES_NEEDED, async (settings) => {
    const problems = await checkTopics(cliKafka(settings), settings, { sandboxCommands: settings.SANDBOX_COMMANDS });
    isLaneCountWrong = problems.some(({ kind }) => kind === 'lanes');
    if (problems.length > 0)
      return problems.map(({ kind, message }) => problem(kind === 'missing' ? message + HIDDEN_HINT : message));
    return ok(`the topics of ${settings.TOPIC_PREFIX} are as required (${counted(settings.LANES, 'lane')})`);
  });
  const group = withSettings('group', GROUP_NAMES_NEEDED, async (settings) =>
    isLaneCountWrong
      ? notChecked('LANES is wrong, so it is not known which lanes must have an owner')
      : checkGroup(cliKafka(settings), settings),
  );
  const rest = await Promise.all([
    group,
    withSettings('lag', GROUP_NAMES_NEEDED, checkLag),
    withSettings('holds', CLI_SETTING_NAMES, checkHolds),
    withSettings('unknown-results', CLI_SETTING_NAMES, checkUnknownResults),
    withSettings('dead-letters', CLI_SETTING_NAMES, checkDeadLetters),
  ]);
  return [...cluster, ...topics, ...rest.flat()];
}

type GroupSettings = Pick<Config, (typeof GROUP_NAMES_NEEDED)[number]>;

async function checkGroup(kafka: CliKafka, settings: GroupSettings): Promise<CheckMessages> {
  const { KAFKA_GROUP_ID: groupId } = settings;
  const group = await readGroup(kafka, groupId);
  switch (group.state) {
    case 'Stable':
      return stableFindings(group, settings);
    case 'PreparingRebalance':
    case 'CompletingRebalance':
      return problem(`${groupId} is reassigning its lanes (${group.state}): run this again in a few seconds`);
    default:
      return problem(
        `no processor runs with KAFKA_GROUP_ID=${groupId} (the group is ${group.state}): start one with \`npm start\``,
      );
  }
}

function stableFindings({ members }: GroupDescription, settings: GroupSettings): CheckMessages {
  const { KAFKA_GROUP_ID: groupId, LANES, TOPIC_PREFIX } = settings;
  const topics = topicNames(TOPIC_PREFIX);
  const lanesOf = (member: GroupDescription['members'][number], topic: string): readonly number[] =>
    member.assignment.get(topic) ?? [];
  const served = members.filter((member) =>
    Object.values(topics.commands).some((topic) => lanesOf(member, topic).length > 0),
  );
  if (served.length === 0) {
    const reads = [...new Set(members.flatMap(({ assignment }) => [...assignment.keys()]))];
    return problem(
      `no member of ${groupId} reads commands of TOPIC_PREFIX=${TOPIC_PREFIX}; they read ${reads.join(', ') || 'nothing'}. Either the processors have another TOPIC_PREFIX, or KAFKA_GROUP_ID names another group`,
    );
  }
  const findings: CheckMessage[] = [];
  for (const [type, topic] of Object.entries(topics.commands)) {
    const owned = new Set(members.flatMap((member) => lanesOf(member, topic)));
    const missing = Array.from({ length: LANES }, (_, lane) => lane).filter((lane) => !owned.has(lane));
    if (missing.length === 0 || (type === 'simulate-uma-receive' && !settings.SANDBOX_COMMANDS)) continue;
    findings.push(
      problem(
        `no member of ${groupId} owns ${missing.length === LANES ? 'any lane' : lanesInWords(missing)} of ${topic}: ` +
          'check that every processor has the same LANES and SANDBOX_COMMANDS, and restart those that differ',
      ),
    );
  }
  if (findings.length > 0) return findings;
  const owners = members.map((member) => {
    const lanes = [...new Set([...member.assignment.values()].flat())].sort((left, right) => left - right);
    return `${member.clientId} at ${member.clientHost.replace(/^\//, '')}: ${lanes.length === 0 ? 'standby' : lanesInWords(lanes)}`;
  });
  return ok(
    `${groupId} is stable, and every lane has an owner; ${counted(members.length, 'member')} (${owners.join('; ')})`,
  );
}

async function checkLag(settings: GroupSettings): Promise<CheckMessages> {
  const { commands, ...others } = topicNames(settings.TOPIC_PREFIX);
  const topics = Object.values(commands);
  const sandboxTopic = commands['simulate-uma-receive'];
  const isRead = (topic: string): boolean => topic !== sandboxTopic || settings.SANDBOX_COMMANDS;
  const kafka = cliKafka(settings);
  const [{ lanes, missing }, held] = await Promise.all([
    readLag(kafka, settings, topics),
    readHeldBack(kafka, [...topics.filter(isRead), ...Object.values(others)]),
  ]);
  const unread = held.map((partition) => problem(heldText(partition)));
  const { total } = sumOf(lanes.filter(({ topic }) => !isRead(topic)));
  if (total > 0n) unread.unshift(problem(unreadText(sandboxTopic, total)));
  const read = { lanes: lanes.filter(({ topic }) => isRead(topic)), missing: missing.filter(isRead) };
  return lagFindings(read, unread, Date.now());
}

function unreadText(topic: string, messages: bigint): string {
  return `no processor reads ${messages} messages of ${topic}, because SANDBOX_COMMANDS is off: set SANDBOX_COMMANDS=true if these processors call a sandbox, or stop publishing such messages`;
}

/** @param unread messages that no lag counts */
export function lagFindings(
  { lanes, missing }: Awaited<ReturnType<typeof readLag>>,
  unread: readonly CheckMessage[],
  nowMs: number,
): CheckMessage[] {
  if (lanes.length === 0) return [notChecked('there are no command topics')];
  const { oldestTimestampMs, total } = sumOf(lanes);
  const hidden = missing.map((topic) => notChecked(`${topic} does not exist, or Kafka hides it`));
  const others = [...lanes.flatMap(deletedText).map(problem), ...unread, ...hidden];
  if (oldestTimestampMs === null) return others.length > 0 ? others : [ok('every command is admitted')];
  const ageMs = Math.max(0, nowMs - oldestTimestampMs);
  const text = `${total} not admitted yet; the oldest has waited ${Math.round(ageMs / 1000)} s`;
  if (ageMs <= LAG_AGE_MAX_MS) return others.length > 0 ? others : [ok(text)];
  const where = lanes.filter(({ lag }) => lag > 0n).map(({ topic, lane, lag }) => `${topic} lane ${lane}: ${lag}`);
  return [...others, problem(`${text} (${where.join(', ')}): the processors' /health/ready shows the reason`)];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Asks the brokers for each right of a role, with the credentials of this command line. */
export function checkRights(role: Role): Promise<Finding[]> {
  return withSettings('rights', RIGHTS_NAMES_NEEDED, async (settings) => {
    const rights = rightsOf(role, settings);
    const missing = await missingRights(cliKafka(settings), rights);
    if (missing.length === 0) return ok(`Kafka allows all ${rights.length} rights that a ${role} needs`);
    const principal = `User:${settings.KAFKA_SASL_USERNAME ?? '<name>'}`;
    return missing.map((right) => problem(`${missingRightInWords(right)}: ${grantCommand(right, principal)}`));
  });
}
