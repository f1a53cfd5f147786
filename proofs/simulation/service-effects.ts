/** Reads the effects of one command from the simulated service's books. */
import type { ChaosCommand } from '../chaos/chaos-commands.ts';
import type { Effect, ServiceState } from './service-state.ts';

/** Effects of the command, in order. If the command asks for immediate execution, a quote alone is not an effect. */
export function effectsOf(service: ServiceState, { commandType, key, type }: ChaosCommand): Effect[] {
  const operation = type === 'immediate-quote' ? 'execute-quote' : commandType;
  return service.effectLog.filter((effect) => effect.key === key && effect.operation === operation);
}
