/** Checks continually whether this process can use the schema registry, and logs each change. */
import type { Logger } from 'pino';
import type { RecordRegistry, RegistryFault } from 'payment-processor-contract/registry';
import { isRegistryRefusal } from 'payment-processor-contract/registry-failure';
import { AccessWatch } from './access-watch.ts';

/** The process owns it and starts it first, so that readiness can show that the start waits for the registry. */
export function registryWatch(
  registry: Pick<RecordRegistry, 'fault'>,
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
): AccessWatch<RegistryFault | null> {
  return new AccessWatch<RegistryFault | null>({
    allowed: null,
    ask: () => registry.fault(),
    // Each lane may wait for a different schema. Problems that differ only in the schema are one cause, logged once.
    comparedBy: (fault) => fault?.failure.kind ?? null,
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
