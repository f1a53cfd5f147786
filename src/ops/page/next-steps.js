/** What to do next about each thing that may be the matter: in words, with a runbook and a command to copy. Plain data. */

/**
 * @typedef {object} Step
 * @property {string} advice
 * @property {string | null} runbook its name; null: nothing is to be done
 * @property {string | null} command of the command line
 */

const DOCTOR = 'npm run cli -- doctor';
const LAG = 'npm run cli -- lag';

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
      'It stops rather than guess and needs an operator: see the log and the runbook. The other lanes go on.',
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
      'Commands whose schema is known go on. Mend it before a process has to start: that one would end, or wait.',
      'PaymentsRegistryRefused',
      'npm run cli -- schemas check',
    ),
  ],
  [
    'the schema registry',
    step(
      'Mend the registry. Commands whose schema is not known yet wait in Kafka; none is lost or refused.',
      'PaymentsOldestUnansweredTooOld',
      'npm run cli -- schemas check',
    ),
  ],
  ['payment service not checked', step('At a start this passes within seconds.', null, null)],
  [
    'stands aside',
    step(
      'No command waits for it. Correct the setting and restart it, or correct it at the service. It has lanes again when its check succeeds.',
      'PaymentsServiceHeld',
      DOCTOR,
    ),
  ],
  [
    'payment service held: wrong credentials',
    step(
      'Commands wait in Kafka; none is refused. Put the credentials right at the service, or set new ones and restart.',
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
      'Commands wait in Kafka; none is refused. It tries again by itself: see the service and the way to it.',
      'PaymentsBreakerOpen',
      DOCTOR,
    ),
  ],
  [
    'breaker open',
    step(
      'These operations wait in Kafka, the others go on. It tries again by itself: see the service.',
      'PaymentsBreakerOpen',
      DOCTOR,
    ),
  ],
];
const NO_STEP = step('See the log.', null, DOCTOR);

/** Of what the page finds itself. */
export const STEPS = {
  memberGone: step(
    'It ended, was killed, or Kafka counted it out: see its log, and that it is started again. Calls that it had begun are settled by whoever takes its lanes over.',
    'member-gone',
    DOCTOR,
  ),
  memberSilent: step(
    'Kafka still counts it in, so it may be at work: see its own page or log, and the network between the members.',
    'member-gone',
    DOCTOR,
  ),
  lanesUntold: step('A takeover passes within seconds; longer after a crash.', 'PaymentsLanesNotOpen', DOCTOR),
  otherRelease: step('Part of an upgrade. What it does not tell is in no sum here.', 'member-gone', null),
  held: step(
    'The command says why. Once that is over, release them; until then nothing is to be done.',
    'PaymentsHoldLasts',
    'npm run cli -- holds',
  ),
  unknown: step(
    'Find out at the payment service whether money moved, then tell with the command line: resolve KEY.',
    'unknown-results',
    'npm run cli -- unknown list',
  ),
  behind: step('', 'PaymentsOldestUnansweredTooOld', LAG),
  callFaults: step(
    'They are tried again or settled as their operation allows: see the payment service.',
    'PaymentsBreakerOpen',
    DOCTOR,
  ),
  deadLetters: step(
    'Tell the publisher; what was no fault of its own can be redriven.',
    'PaymentsDeadLetters',
    'npm run cli -- dead-letters list',
  ),
  ownFailures: step(
    'The log has own-failure: a bug. What fails three times is set aside.',
    'PaymentsOwnFailures',
    'npm run cli -- dead-letters list --reason SET_ASIDE',
  ),
  oldDoubt: step(
    'It is settled by the same call again or by a look-up, as soon as the payment service answers.',
    'PaymentsDoubtNotSettled',
    DOCTOR,
  ),
  heldBack: step(
    'A transaction was left open, and Kafka gives readers nothing behind it: find out whose it is, and have it ended.',
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
    'What waits in Kafka is as old as that. Look at the brokers and the network.',
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
