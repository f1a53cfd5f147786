/** What the HTTP endpoints answer. */
import type { CommandView } from '../store/command-view.ts';
import { commandReply } from './command-state.ts';
import type { Readiness } from './health.ts';
import type { History } from './history.ts';
import { jsonReply, type Route } from './http-server.ts';
import type { Metrics } from './metrics.ts';
import { pageRoutes } from './page-routes.ts';
import type { ProcessorState } from './processor-state.ts';

export interface RouteSources {
  readonly state: { readiness(): Readiness; read(): Promise<ProcessorState> };
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
  /** What the ledger says of a key, whoever owns its lane. */
  readonly command: (key: string) => CommandView;
  readonly history: Pick<History, 'samples'>;
}

/** Health and the empty page are for everyone; metrics, state, history and commands want the token, if one is set. */
export function operationsRoutes({ command, history, metrics, state }: RouteSources): Route[] {
  return [
    // That it is answered at all says that the event loop turns.
    { path: '/health/live', isProtected: false, answer: () => jsonReply(200, { live: true }) },
    {
      path: '/health/ready',
      isProtected: false,
      answer: () => {
        const readiness = state.readiness();
        return jsonReply(readiness.ready ? 200 : 503, readiness);
      },
    },
    {
      path: '/metrics',
      isProtected: true,
      answer: async () => ({
        status: 200,
        contentType: metrics.contentType,
        body: await metrics.text(await state.read()),
      }),
    },
    { path: '/api/state', isProtected: true, answer: async () => jsonReply(200, await state.read()) },
    { path: '/api/history', isProtected: true, answer: () => jsonReply(200, { samples: history.samples() }) },
    { path: '/api/command', isProtected: true, answer: (headers) => commandReply(headers, command) },
    ...pageRoutes(),
  ];
}
