/** Whether the schema registry can be used, looked at all the time, and the line of the log for each change. */
import type { Logger } from 'pino';
import type { RecordRegistry, RegistryFault } from 'payment-processor-contract/registry';
import { isRegistryRefusal } from 'payment-processor-contract/registry-failure';
import { AccessWatch } from './access-watch.ts';

/** Owned by the process: begins with its start, so that readiness says what the start waits for. */
export function registryWatch(
  registry: Pick<RecordRegistry, 'fault'>,
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
): AccessWatch<RegistryFault | null> {
  return new AccessWatch<RegistryFault | null>({
    allowed: null,
    ask: () => registry.fault(),
    // Lanes wait for one schema each: what differs by that alone is the same cause, and no line of its own.
    essenceOf: (fault) => fault?.failure.kind ?? null,
    onChange: (fault) => {
      const event = 'registry-access';
      if (fault === null) {
        log.info({ event, kind: 'allowed' });
        return;
      }
      const { failure, problem } = fault;
      const isRefusal = isRegistryRefusal(failure.kind);
      log[isRefusal ? 'error' : 'warn']({
        event,
        kind: isRefusal ? 'refused' : 'unknown',
        cause: failure.kind,
        problem,
      });
    },
  });
}
