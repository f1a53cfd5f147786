/** What to do about each finding: in words, with a runbook and a command to copy. Plain data. */

/**
 * @typedef {object} Step
 * @property {string} advice
 * @property {string | null} runbook its name; null: there is none
 * @property {string | null} command for a shell; `cli` stands for the command line of the processor that answers
 */
/** @typedef {Step & { text: string, isBad: boolean }} Finding `advice` begins with the reason, if that is known */

const DOCTOR = 'cli doctor';
const LAG = 'cli lag';

/** For each reason of readiness, by how the reason begins; the first match counts. @type {Readonly<Record<string, Step>>} */
const REASONS = {
  starting: step(
    'Kafka or the registry does not answer. The process retries by itself. Check them, and the network.',
    'PaymentsKafkaNotAnswering',
    DOCTOR,
  ),
  'refused by Kafka': step(
    'Correct the credentials, rights or certificate. The process retries by itself, and rereads files.',
    'PaymentsKafkaRefused',
    'cli doctor --rights --role processor',
  ),
  'Kafka access cannot be checked': step('Check the brokers and the network.', 'PaymentsKafkaNotAnswering', DOCTOR),
  draining: step(
    'It is shutting down: it ends its calls, commits the answers and hands over its lanes. Nothing to do.',
    null,
    null,
  ),
  'not yet assigned': step(
    'After a start this passes within seconds. If not, Kafka or the registry does not answer: see the log.',
    'PaymentsKafkaNotAnswering',
    DOCTOR,
  ),
  'group not confirmed': step(
    'Check the brokers and the network. Another member may take over its lanes.',
    'PaymentsMemberNotReady',
    DOCTOR,
  ),
  acquiring: step(
    'A takeover passes within seconds; longer after a crash or with a large ledger.',
    'PaymentsLanesNotOpen',
    DOCTOR,
  ),
  releasing: step('The lanes go to another member within seconds.', null, null),
  lane: step(
    'It stopped rather than guess. An operator must decide: see the runbook. The other lanes continue.',
    'PaymentsLaneStopped',
    DOCTOR,
  ),
  'lost repeatedly': step(
    'The processor retries. After three failures it sets the message aside. See the log.',
    'PaymentsLaneStalled',
    DOCTOR,
  ),
  'the schema registry cannot be used, but no command waits': step(
    'Commands with a known schema continue. Fix this before a process restarts: it would exit, or wait.',
    'PaymentsRegistryRefused',
    'cli schemas check',
  ),
  'the schema registry': step(
    'Commands whose schema is not known yet wait in Kafka. None is lost or refused. Check the registry.',
    'PaymentsOldestUnansweredTooOld',
    'cli schemas check',
  ),
  'payment service not checked': step('After a start this passes within seconds.', null, null),
  'stands aside, and other members have the lanes: brokers': step(
    'No command waits for it. Check the network from its node to each broker. It gets lanes again once all answer.',
    'PaymentsMemberNotReady',
    DOCTOR,
  ),
  'stands aside': step(
    'No command waits for it. Fix the setting, here or at the service. It gets lanes again once its check succeeds.',
    'PaymentsServiceHeld',
    DOCTOR,
  ),
  'payment service held: wrong credentials': step(
    'Commands wait in Kafka. None is refused. Fix the credentials at the service or in our Secret. Files are reread within 15 s.',
    'PaymentsServiceHeld',
    DOCTOR,
  ),
  'payment service held': step(
    'These members make no calls and check the service every few seconds. Commands of their lanes wait in Kafka; none is refused. After a minute, members that the service serves take over the lanes.',
    'PaymentsServiceHeld',
    DOCTOR,
  ),
  'payment service unreachable': step(
    'Commands are queued and retried until their time limits. Check the payment service and the network.',
    'PaymentsBreakerOpen',
    DOCTOR,
  ),
  'breaker open': step(
    'Their commands are queued and retried until their time limits. Check the payment service.',
    'PaymentsBreakerOpen',
    DOCTOR,
  ),
};
const LEDGER_SHORTENED = step(
  'If this lasts for more than a minute, delete no volume and do not scale to 0: only the store still knows some of the calls. See the runbook.',
  'lost-internal-topic',
  DOCTOR,
);
const NO_STEP = step('See the log.', null, DOCTOR);

/** For the page's own findings. */
export const STEPS = {
  memberGone: step(
    'It ended, was killed, or lost its place in the group. Read its log, and check that it restarts. The next owner of its lanes settles calls that it had begun.',
    'member-gone',
    DOCTOR,
  ),
  memberSilent: step(
    "It is in Kafka's group, so it may be at work. See its own page or log, and check the network between the members.",
    'member-gone',
    DOCTOR,
  ),
  lanesUnreported: step('A takeover passes within seconds; longer after a crash.', 'PaymentsLanesNotOpen', DOCTOR),
  otherRelease: step(
    'Normal during an upgrade. Totals on this page lack what it does not report.',
    'member-gone',
    null,
  ),
  held: step(
    'The command prints who holds them, why and since when. Release them once the reason no longer applies.',
    'PaymentsHoldLasts',
    'cli holds',
  ),
  unknown: step(
    'Find out at the payment service whether money moved, then decide: resolve KEY.',
    'unknown-results',
    'cli unknown list',
  ),
  behind: step('', 'PaymentsOldestUnansweredTooOld', LAG),
  callFaults: step(
    'Calls are retried, or their doubt is settled, as each operation allows. Check the payment service.',
    'PaymentsBreakerOpen',
    DOCTOR,
  ),
  deadLetters: step(
    'If the message was fine, fix the cause, ask the publisher, then redrive it. If not, tell the publisher, then acknowledge it.',
    'PaymentsDeadLetters',
    'cli dead-letters list --open',
  ),
  ownFailures: step(
    'This is a bug: see own-failure in the log. A message or command that fails three times is set aside.',
    'PaymentsOwnFailures',
    'cli dead-letters list --reason SET_ASIDE',
  ),
  oldDoubt: step(
    'Repeating the call or looking it up settles this, as soon as the payment service answers.',
    'PaymentsDoubtNotSettled',
    DOCTOR,
  ),
  heldBack: step(
    'Kafka hides everything behind an open transaction from readers, and lag and SLO metrics do not count it. Find the publisher by its transactional id, and stop or repair it.',
    'PaymentsCommandsHeldBack',
    LAG,
  ),
  ledgerHeldBack: step(
    "The transaction is the processor's own. Do not abort it before you have read the runbook: aborting it could cause a second payment. No member can take over the lane until it ends.",
    'PaymentsCommandsHeldBack',
    DOCTOR,
  ),
  standstill: step(
    'Something waits to be committed. Check the log, the brokers and the network.',
    'PaymentsLaneStalled',
    LAG,
  ),
  ledgerBehind: step(
    "A lane that it takes over opens once it has read that lane's records. If no other member has read the ledger, holds and UNKNOWN results here are missing or out of date.",
    'lost-volume',
    null,
  ),
  staleEnds: step(
    'Lag, ages, holds and UNKNOWN results here are as old as that, unless another member reports them. Check the brokers and the network.',
    'PaymentsKafkaNotAnswering',
    DOCTOR,
  ),
};

/**
 * @param {string} reason of the readiness
 * @returns {Step}
 */
export function stepOfReason(reason) {
  if (reason.includes('the ledger has lost records')) return LEDGER_SHORTENED;
  return Object.entries(REASONS).find(([beginning]) => reason.startsWith(beginning))?.[1] ?? NO_STEP;
}

/**
 * @param {string} text
 * @param {Step} step
 * @param {string} [why] the reason, shown before what to do
 * @param {boolean} [isBad]
 * @returns {Finding}
 */
export function finding(text, step, why = '', isBad = false) {
  const advice = [why, step.advice].filter((part) => part !== '').join(' ');
  return { ...step, text, advice, isBad };
}

/**
 * @param {string} advice
 * @param {string | null} runbook
 * @param {string | null} command
 * @returns {Step}
 */
function step(advice, runbook, command) {
  return { advice, runbook, command };
}
