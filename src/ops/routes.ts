import type { CommandView } from '../store/ledger-view.ts';
import { commandReply } from './command-state.ts';
import { AFTER_HEADER, MEMBER_PATH } from './group/ask-member.ts';
import type { GroupWatch } from './group/group-watch.ts';
import { memberReport } from './group/member-report.ts';
import type { Readiness } from './health.ts';
import type { History } from './history.ts';
import { jsonReply, type Route } from './http-server.ts';
import type { Metrics } from './metrics.ts';
import { pageRoutes } from './page-routes.ts';
import type { ProcessorState } from './processor-state.ts';
import type { Timeline } from './timeline.ts';

export interface RouteSources {
  readonly state: { readiness(): Readiness; read(): Promise<ProcessorState> };
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
  /** Looks a key up in the ledger, in any process's lane. */
  readonly command: (key: string) => CommandView;
  readonly history: Pick<History, 'samples'>;
  readonly timeline: Pick<Timeline, 'events'>;
  readonly group: Pick<GroupWatch, 'read' | 'history'>;
  /** The key for other members to get this member's report; null: no token is set, or it announced no address. */
  readonly memberKey: () => string | null;
}

/** Health and the page's files are public. With a token set, all paths with data require it, or their `otherToken`. */
export function operationsRoutes({
  command,
  group,
  history,
  memberKey,
  metrics,
  state,
  timeline,
}: RouteSources): Route[] {
  return [
    // Any answer proves that the event loop runs.
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
    { path: '/api/group', isProtected: true, answer: async () => jsonReply(200, await group.read()) },
    { path: '/api/group/history', isProtected: true, answer: () => jsonReply(200, { samples: group.history() }) },
    {
      path: MEMBER_PATH,
      isProtected: true,
      otherToken: memberKey,
      answer: async (headers) => {
        const own = { state: await state.read(), samples: history.samples(), events: timeline.events() };
        const after = headers[AFTER_HEADER];
        return jsonReply(200, memberReport(own, typeof after === 'string' ? after : null));
      },
    },
    ...pageRoutes(),
  ];
}
