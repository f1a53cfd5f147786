/**
 * A stack for one test: in virtual time, where waiting costs nothing, or with TEST_STACK=real over a real Kafka, registry and
 * processes, as in `npm run proofs`. Both pass the same tests.
 */
import { test as vitestTest } from 'vitest';
import type { CommandType } from 'payment-processor-contract/commands';
import type { LogLine, ProcessEnd } from './processor.ts';
import type { StackOptions } from './stack-options.ts';
import type { Stack } from './stack.ts';

export interface TestProcessor {
  readonly ended: Promise<ProcessEnd>;
  /** What it logged. */
  log(): LogLine[];
  /** Lanes that it opened since it started. */
  openedLanes(): number[];
  /** Every assigned lane is open. */
  ready(): Promise<void>;
  readiness(): Promise<{ ready: boolean; reasons: readonly string[] }>;
  /** Waits for a log line with this event; earlier lines count. */
  logged(event: string): Promise<LogLine>;
  kill9(): Promise<void>;
  /** Orderly shutdown, as on SIGTERM. */
  stop(): Promise<ProcessEnd>;
  /** Freezes the process, like a stalled machine. */
  freeze(): void;
  thaw(): void;
  /** What it logged last, as text. */
  tail(): string;
}

type Overrides = Readonly<Record<string, string>>;

export interface TestStack extends Pick<
  Stack,
  | 'environment'
  | 'topics'
  | 'kafka'
  | 'journal'
  | 'service'
  | 'publishRaw'
  | 'publishDecision'
  | 'publishHold'
  | 'hostileService'
  | 'readLedger'
  | 'configureTopics'
  | 'makeTopicAgain'
  | 'forgetInLedger'
> {
  readonly publisher: {
    publish(
      type: CommandType,
      key: string,
      fields: object,
      options?: { expiresAt?: Date; commandId?: string },
    ): Promise<unknown>;
    publishUntyped(type: CommandType, key: string, fields: unknown): Promise<unknown>;
  };
  startProcessor(overrides?: Overrides): Promise<TestProcessor>;
  spawnProcessor(overrides?: Overrides): Promise<TestProcessor>;
  /** Kills all. */
  endProcessors(): Promise<void>;
}

export type TestStackOptions = Omit<StackOptions, 'kafkaBrokers' | 'schemaRegistryUrl'>;

export const isReal = process.env['TEST_STACK'] === 'real';

/** Imports only the half it needs, because neither needs the other's packages. */
export async function withStack(options: TestStackOptions, body: (stack: TestStack) => Promise<void>): Promise<void> {
  if (isReal) {
    const { withRealStack } = await import('./real-stack.ts');
    await withRealStack(options, body);
  } else {
    const { VirtualStack } = await import('../../proofs/simulation/virtual-stack.ts');
    await VirtualStack.run(options, body);
  }
}

type Body<Given extends readonly unknown[]> = (...given: Given) => Promise<void>;
type GivenOf<Case> = Case extends readonly unknown[] ? Case : [Case];

interface StackTest {
  (name: string, body: Body<[]>): void;
  each<Case>(cases: readonly Case[]): (name: string, body: Body<GivenOf<Case>>) => void;
}

/** Each test gets its own stack. @returns `stack`, which gives the running test's stack */
export function stackTests(options: TestStackOptions): { stack: () => TestStack; test: StackTest } {
  let current: TestStack | null = null;
  const within =
    <Given extends readonly unknown[]>(body: Body<Given>): Body<Given> =>
    (...given) =>
      withStack(options, async (stack) => {
        current = stack;
        await body(...given);
      });
  const each: StackTest['each'] = (cases) => (name, body) => {
    vitestTest.each(cases as unknown[])(name, within(body) as Body<unknown[]>);
  };
  return {
    stack: () => {
      if (current === null) throw new Error('no test runs');
      return current;
    },
    test: Object.assign((name: string, body: Body<[]>) => vitestTest(name, within(body)), { each }),
  };
}
