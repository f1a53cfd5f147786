/** What the books of the simulated service say of one command. */
import type { ChaosCommand } from '../chaos/chaos-commands.ts';
import type { Effect, ServiceState } from './service-state.ts';

/** Effects of the command, in order. A spare quote is none of a command that asks for its execution. */
export function effectsOf(service: ServiceState, { commandType, key, type }: ChaosCommand): Effect[] {
  const operation = type === 'immediate-quote' ? 'execute-quote' : commandType;
  return service.effectLog.filter((effect) => effect.key === key && effect.operation === operation);
}
