/** What to do next about each thing that may be the matter: in words, with a runbook and a command to copy. Plain data. */

/**
 * @typedef {object} Step
 * @property {string} advice
 * @property {string | null} runbook its name; null: nothing is to be done
 * @property {string | null} command for a shell; `cli` stands for the command line of the processor that answers
 */

const DOCTOR = 'cli doctor';
const LAG = 'cli lag';

/** Of readiness reasons, by how they begin. @type {readonly (readonly [string, Step])[]} */
const REASONS = [
  ['draining', step('It ends calls, commits their answers and hands its lanes on. Nothing to do.', null, null)],
  [
    'not yet assigned',
    step(
      'At a start this passes within seconds. Else Kafka or the registry does not answer: see the log.',
      'PaymentsKafkaNotAnswering',
      DOCTOR,
    ),
  ],
  [
    'group not confirmed',
    step(
      'Look at the brokers and the network. Another member may take its lanes over.',
      'PaymentsMemberNotReady',
      DOCTOR,
    ),
  ],
  [
    'acquiring',
    step(
      'A takeover passes within seconds; longer after a crash or with a large ledger.',
      'PaymentsLanesNotOpen',
      DOCTOR,
    ),
  ],
  ['releasing', step('The lanes go to another member within seconds.', null, null)],
  [
    'lane',
    step(
      'It stops rather than guess. An operator must decide: see the runbook. The other lanes go on.',
      'PaymentsLaneStopped',
      DOCTOR,
    ),
  ],
  [
    'keeps being lost',
    step(
      'It is tried again; a message that is to blame is set aside after a few times. See the log.',
      'PaymentsLaneStalled',
      DOCTOR,
    ),
  ],
  [
    'the schema registry cannot be asked, and no command waits',
    step(
      'Commands whose schema is known go on. Correct it before a process has to start: that one would end, or wait.',
      'PaymentsRegistryRefused',
      'cli schemas check',
    ),
  ],
  [
    'the schema registry',
    step(
      'Commands whose schema is not known yet wait in Kafka; none is lost or refused. Check the registry.',
      'PaymentsOldestUnansweredTooOld',
      'cli schemas check',
    ),
  ],
  ['payment service not checked', step('At a start this passes within seconds.', null, null)],
  [
    'stands aside',
    step(
      'No command waits for it. Correct the setting, or correct it at the service. It has lanes again when its check succeeds.',
      'PaymentsServiceHeld',
      DOCTOR,
    ),
  ],
  [
    'payment service held: wrong credentials',
    step(
      'Commands wait in Kafka; none is refused. Correct the credentials at the service or in our Secret: files are reread within 15 s.',
      'PaymentsServiceHeld',
      DOCTOR,
    ),
  ],
  [
    'payment service held',
    step(
      'Held members make no call. Commands of their lanes wait in Kafka; none is refused. They check the service every few seconds. Members that are served take their lanes after a minute.',
      'PaymentsServiceHeld',
      DOCTOR,
    ),
  ],
  [
    'payment service unreachable',
    step(
      'Commands are queued and retried automatically. Check the payment service and the way to it.',
      'PaymentsBreakerOpen',
      DOCTOR,
    ),
  ],
  [
    'breaker open',
    step(
      'Their commands are queued and retried automatically. Check the payment service.',
      'PaymentsBreakerOpen',
      DOCTOR,
    ),
  ],
];
const NO_STEP = step('See the log.', null, DOCTOR);

/** Of what the page finds itself. */
export const STEPS = {
  memberGone: step(
    'It ended, was killed, or lost its place in the group. Check its log and that it restarts. The next owner of its lanes settles calls that it had begun.',
    'member-gone',
    DOCTOR,
  ),
  memberSilent: step(
    "It is in Kafka's group, so it may be at work: see its own page or log, and the network between the members.",
    'member-gone',
    DOCTOR,
  ),
  lanesUntold: step('A takeover passes within seconds; longer after a crash.', 'PaymentsLanesNotOpen', DOCTOR),
  otherRelease: step('Part of an upgrade. What it does not report is in no sum here.', 'member-gone', null),
  held: step(
    'The command says who, why and since when. Release them once the reason is over.',
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
    'They are tried again or settled as their operation allows: see the payment service.',
    'PaymentsBreakerOpen',
    DOCTOR,
  ),
  deadLetters: step(
    'If the message was fine, fix the cause, then redrive it. If not, tell the publisher, then acknowledge it.',
    'PaymentsDeadLetters',
    'cli dead-letters list --open',
  ),
  ownFailures: step(
    'The log has own-failure: a bug. What fails three times is set aside.',
    'PaymentsOwnFailures',
    'cli dead-letters list --reason SET_ASIDE',
  ),
  oldDoubt: step(
    'It is settled by the same call again or by a look-up, as soon as the payment service answers.',
    'PaymentsDoubtNotSettled',
    DOCTOR,
  ),
  heldBack: step(
    'A transaction is open, and Kafka gives readers nothing behind it. Lag and SLO metrics do not count them. Find its owner and end it.',
    'PaymentsCommandsHeldBack',
    LAG,
  ),
  standstill: step(
    'There is something to commit. Look at the log, the brokers and the network.',
    'PaymentsLaneStalled',
    LAG,
  ),
  ledgerBehind: step('A lane that it takes over opens when they are.', 'lost-volume', null),
  staleEnds: step(
    'Lag and ages below are as old as that. Check the brokers and the network.',
    'PaymentsKafkaNotAnswering',
    DOCTOR,
  ),
};

/**
 * @param {string} reason of the readiness
 * @returns {Step}
 */
export function stepOfReason(reason) {
  return REASONS.find(([beginning]) => reason.startsWith(beginning))?.[1] ?? NO_STEP;
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
