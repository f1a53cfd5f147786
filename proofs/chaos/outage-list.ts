/** The outages: how each begins and ends, and what readiness must say during it. */
import type { Engine } from 'payment-processor-local-kafka/start';
import type { Fault } from '../../test/support/sandbox-control.ts';
import type { Rig } from './rig.ts';

export type OutageScene = Rig & { readonly engine: Engine };

export interface Outage {
  readonly name: string;
  begin(scene: OutageScene): Promise<unknown>;
  end(scene: OutageScene): Promise<unknown>;
  /** A reason that readiness must give; null: the processor may stay ready. */
  readonly readiness: RegExp | null;
  /** Commands are written with a schema id that no processor has seen. */
  readonly hasUnknownSchema?: true;
}

const CHANGES = ['transfer-in', 'execute-quote', 'reject-transaction', 'create-quote', 'simulate-uma-receive'] as const;
const HTML = { contentType: 'text/html', body: '<html><body><h1>Something answered</h1></body></html>' };
/** Just below the client's deadline; TOO_SLOW_MS is above it. */
const SLOW_MS = 1_500;
const TOO_SLOW_MS = 2_600;

/** The breaker of a type that had few calls may stay closed. */
const UNREACHABLE = /payment service|breaker open/;

export const OUTAGES: readonly Outage[] = [
  // A baseline; it also loads every schema into publishers and processors before the registry goes down.
  { name: 'none', begin: async () => undefined, end: async () => undefined, readiness: null },
  {
    name: 'service down',
    begin: ({ link }) => link.cut(),
    end: ({ link }) => link.restore(),
    readiness: UNREACHABLE,
  },
  {
    name: 'service silent',
    begin: async ({ link }) => link.halt(),
    end: async ({ link }) => link.resume(),
    readiness: UNREACHABLE,
  },
  faulty('service slow', null, { kind: 'delay', delayMs: SLOW_MS }),
  faulty('service slower than the deadline', UNREACHABLE, { kind: 'delay', delayMs: TOO_SLOW_MS }),
  faulty('every answer a 503', UNREACHABLE, { kind: 'status', httpStatus: 503 }),
  faulty('changes answered with 500, GET works', UNREACHABLE, ...onChanges({ httpStatus: 500 })),
  faulty('changes answered with 404 in HTML, GET works', null, ...onChanges({ httpStatus: 404, ...HTML })),
  faulty('401', /held.*401/, { kind: 'status', httpStatus: 401 }),
  faulty('changes answered with 401, GET works', /held.*401/, ...onChanges({ httpStatus: 401 })),
  faulty('403', /held.*403/, { kind: 'status', httpStatus: 403 }),
  faulty('404 with an error code: wrong version', /held.*404/, { kind: 'status', httpStatus: 404 }),
  faulty('404 in HTML: wrong base URL or proxy', /held.*404/, { kind: 'status', httpStatus: 404, ...HTML }),
  faulty('200 in HTML', /payment service/, { kind: 'status', httpStatus: 200, ...HTML }),
  faulty('302', /held.*302/, { kind: 'status', httpStatus: 302 }),
  faulty('429 with Retry-After', null, { kind: 'status', httpStatus: 429, retryAfter: 2 }),
  faulty('429 without Retry-After', null, { kind: 'status', httpStatus: 429 }),
  {
    name: 'registry down, schema ids known',
    begin: ({ engine }) => engine.registry.kill(),
    end: ({ engine }) => engine.registry.start(),
    readiness: null,
  },
  {
    name: 'registry down, schema id not seen before',
    begin: ({ engine }) => engine.registry.kill(),
    end: ({ engine }) => engine.registry.start(),
    readiness: /registry/,
    hasUnknownSchema: true,
  },
  {
    name: 'one broker of three down',
    begin: ({ engine }) => engine.broker(0).kill(),
    end: ({ engine }) => engine.broker(0).start(),
    readiness: null,
  },
  {
    name: 'all brokers down',
    begin: ({ engine }) => Promise.all([0, 1, 2].map((index) => engine.broker(index).kill())),
    end: ({ engine }) => Promise.all([0, 1, 2].map((index) => engine.broker(index).start())),
    readiness: /group|lane/,
  },
];

function faulty(name: string, readiness: RegExp | null, ...faults: Fault[]): Outage {
  return {
    name,
    readiness,
    begin: ({ stack }) => stack.service.addFaults(...faults),
    end: ({ stack }) => stack.service.clearFaults(),
  };
}

function onChanges(answer: Record<string, string | number>): Fault[] {
  return CHANGES.map((operation) => ({ kind: 'status', operation, ...answer }));
}
