/** Faults of the payment service, or of the network to it. */
import { CLIENT_SECRET, type Fault as ServiceFault } from '../../test/support/sandbox-control.ts';
import { executionOf, publishTransfers } from '../../test/support/commands.ts';
import { LANES } from '../../test/support/stack.ts';
import type { Fault } from './fault.ts';
import { MAX_UNFINISHED_PER_LANE, SLOW_CALL_MS, SPARE_SLOT, USUAL_SLOTS } from './scene.ts';

/** Longer than the objective's 30 s, which is a bound of a histogram and passes no faster than real time. */
const TOLD_TO_WAIT_SECONDS = 32;
/** More than the lanes' limit of unfinished commands, so that the rest waits in Kafka. */
const TOLD_TO_WAIT_COMMANDS = LANES * MAX_UNFINISHED_PER_LANE * 2;
/** The steady load has no such command. */
const HELD_TYPE = 'simulate-uma-receive';
const CHANGES = ['transfer-in', 'create-quote', 'execute-quote', 'reject-transaction', 'simulate-uma-receive'] as const;

function onChanges(httpStatus: number): ServiceFault[] {
  return CHANGES.map((operation) => ({ kind: 'status', operation, httpStatus }));
}

export const SERVICE_FAULTS: readonly Fault[] = [
  {
    name: 'told to wait',
    what: `the service answers 429 and lets each of many commands wait ${TOLD_TO_WAIT_SECONDS} s`,
    alerts: ['PaymentsOldestUnansweredTooOld', 'PaymentsObjectiveMissedFast', 'PaymentsObjectiveMissedSlow'],
    clearsLater: ['PaymentsObjectiveMissedFast', 'PaymentsObjectiveMissedSlow'],
    inject: async ({ stack }) => {
      const count = LANES * MAX_UNFINISHED_PER_LANE;
      const rule = {
        kind: 'status',
        operation: 'transfer-in',
        httpStatus: 429,
        retryAfter: TOLD_TO_WAIT_SECONDS,
        count,
      };
      await stack.service.addFaults(rule);
      await publishTransfers(stack, 'told-to-wait', TOLD_TO_WAIT_COMMANDS);
    },
    action: 'the service takes calls again',
    look: async (scene) => {
      await scene.paste('told to wait', 'PaymentsBehindAndGrowing', 'cli unfinished list', { N: '0' });
      await scene.paste('told to wait', 'PaymentsOldestUnansweredTooOld', 'cli unfinished list');
    },
    act: ({ stack }) => stack.service.clearFaults(),
  },
  // If it ended, the alerts on the objective would go silent.
  {
    name: 'held',
    what: `an operator holds ${HELD_TYPE} commands, and forgets it`,
    alerts: ['PaymentsHoldLasts'],
    isBeside: true,
    inject: (scene) => scene.shell(`cli hold ${HELD_TYPE} --reason 'a game day'`),
    action: 'they are released',
    look: (scene) => scene.paste('held', 'PaymentsHoldLasts', 'cli holds'),
    act: (scene) => scene.paste('held', 'PaymentsHoldLasts', 'cli release TYPE', { TYPE: HELD_TYPE }),
  },
  {
    name: 'no list',
    what: 'GET /transactions answers 500, and the answer to an execution is lost',
    alerts: ['PaymentsDoubtNotSettled', 'PaymentsPollerFailing'],
    inject: async ({ stack }) => {
      const execution = await executionOf(stack, 'in-doubt');
      await stack.service.addFaults(
        { kind: 'status', operation: 'list-transactions', httpStatus: 500 },
        { kind: 'drop-after', operation: 'execute-quote', count: 1 },
      );
      await stack.publisher.publish('execute-quote', 'in-doubt', execution);
    },
    action: 'the service lists again',
    look: async (scene) => {
      await scene.paste('no list', 'PaymentsDoubtNotSettled', 'cli unfinished list');
      await scene.paste('no list', 'PaymentsDoubtNotSettled', 'cli show KEY', { KEY: 'in-doubt' });
    },
    act: async (scene) => {
      await scene.stack.service.clearFaults();
      await scene.paste('no list', 'PaymentsDoubtNotSettled', 'cli transactions list');
    },
  },
  {
    name: 'behind',
    what: `each call takes ${SLOW_CALL_MS} ms, and more commands come in than calls fit`,
    alerts: ['PaymentsBehindAndGrowing'],
    inject: async ({ stack, wave }) => {
      await stack.service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: SLOW_CALL_MS });
      wave.begin();
    },
    action: '/api/state: no-slot; a third process; the wave ends; the service is quick again',
    look: async (scene) => {
      await scene.paste('behind', 'PaymentsBehindAndGrowing', 'cli lag');
      await scene.stateNames('no-slot');
    },
    act: async (scene) => {
      try {
        await scene.slots.start([SPARE_SLOT]);
      } finally {
        await scene.wave.pause();
        await scene.stack.service.clearFaults();
      }
      await scene.wave.settled();
      await scene.slots.stop(SPARE_SLOT);
    },
  },
  {
    name: 'only POST broken',
    what: 'changes are answered 500, GET works',
    alerts: ['PaymentsBreakerOpen'],
    inject: ({ stack }) => stack.service.addFaults(...onChanges(500)),
    action: '/api/state: breaker; the service repairs its endpoint; it is found by itself',
    look: (scene) => scene.stateNames('breaker'),
    act: ({ stack }) => stack.service.clearFaults(),
  },
  {
    name: 'service down',
    what: 'the service refuses connections',
    alerts: ['PaymentsBreakerOpen'],
    inject: ({ link }) => link.cut(),
    action: 'the service is back; it is found by itself',
    look: (scene) => scene.doctorFinds('service down', 'PaymentsBreakerOpen', /payment service/),
    act: ({ link }) => link.restore(),
  },
  {
    name: 'revoked',
    what: 'the service answers 401 to everything',
    alerts: ['PaymentsServiceHeld'],
    inject: ({ stack }) => stack.service.addFaults({ kind: 'status', httpStatus: 401 }),
    action: 'the token is made valid again at the service; no restart',
    look: (scene) => scene.doctorFinds('revoked', 'PaymentsServiceHeld', /401/),
    act: ({ stack }) => stack.service.clearFaults(),
  },
  {
    name: 'wrong secret',
    what: 'a Secret is rolled out that the service does not know',
    alerts: ['PaymentsServiceHeld'],
    inject: async (scene) => {
      await scene.putSecret('not-the-secret');
      await scene.slots.restart(USUAL_SLOTS);
    },
    action: 'the right pair into the Secret; no restart',
    look: (scene) => scene.doctorFinds('wrong secret', 'PaymentsServiceHeld', /401/),
    act: (scene) => scene.putSecret(CLIENT_SECRET),
  },
];
