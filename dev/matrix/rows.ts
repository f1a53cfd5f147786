/** The matrix: other versions of what surrounds the processor, and the tests to run with each. */
import { KAFKA_VERSIONS, REGISTRY_NAMES } from 'payment-processor-local-kafka/pins';
import type { ToolName } from '../operations/tool-pins.ts';

export interface MatrixRow {
  readonly name: string;
  /** What it tests, in a few words. */
  readonly title: string;
  /** Test files and folders. */
  readonly tests: readonly string[];
  /** The Vitest projects that it concerns. Empty: all. */
  readonly projects: readonly string[];
  /** Titles of tests that this row cannot pass, each with the reason in docs/compatibility.md. */
  readonly without: readonly string[];
  readonly config: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Installed first. */
  readonly tool: ToolName | null;
  /** Which tool is the Node for the tests and their processors. */
  readonly isNode: boolean;
  readonly limitMinutes: number;
}

const USUAL = {
  projects: [],
  without: [],
  config: 'vitest.config.ts',
  environment: {},
  tool: null,
  isNode: false,
  limitMinutes: 45,
} as const;

/** srfake calls every schema compatible. */
const JUDGED_COMPATIBILITY = ['that do not fit an earlier version'];

/** The chart's tests do not use these. */
const NO_KAFKA = { TEST_KAFKA_BROKERS: '127.0.0.1:1', TEST_SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' };

const KAFKA_ROWS = KAFKA_VERSIONS.map((version): MatrixRow => ({
  ...USUAL,
  name: `kafka-${version}`,
  title: 'the promises, log-ins and rights, the patches of kafkajs, what the simulation takes for granted',
  tests: [
    'test/promises',
    'test/access/door.test.ts',
    'test/access/rights.test.ts',
    'test/kafkajs-patches',
    'test/lanes/input-watch.test.ts',
    'test/ops/rebalance.test.ts',
    'proofs/simulation/kafka-conformance.test.ts',
  ],
  projects: ['kafka', 'secured'],
  environment: { ENGINE_KAFKA: version },
}));

const REGISTRY_ROWS = REGISTRY_NAMES.map((name): MatrixRow => ({
  ...USUAL,
  name: `registry-${name}`,
  title: 'schemas registered, checked, read; a registry that refuses; requests of the client',
  tests: [
    'packages/contract/test',
    'packages/cli/test/schemas.test.ts',
    'test/access/registry',
    'packages/client/test/requests-and-twin.test.ts',
  ],
  projects: ['kafka'],
  without: name === 'srfake' ? JUDGED_COMPATIBILITY : [],
  environment: { ENGINE_REGISTRY: name },
}));

const onNewerNodes = (name: string, title: string, tests: readonly string[]): MatrixRow[] =>
  (
    [
      ['24.21.0', 'node24'],
      ['26.10.0', 'node26'],
    ] as const
  ).map(([version, tool]) => ({ ...USUAL, name: `${name}-${version}`, title, tests, tool, isNode: true }));

const NODE_ROWS = onNewerNodes('node', 'money once and exact, the demo, calls, the store, endpoints', [
  'test/promises/i2-no-money-twice.test.ts',
  'test/contract/values.test.ts',
  'test/demo',
  'test/api',
  'test/store',
  'test/ops',
]);

const CLIENT_ROWS: readonly MatrixRow[] = [
  {
    ...USUAL,
    name: 'client-22.15.0',
    title: 'the packed client, on the oldest Node that it says it runs on, and on an older one',
    tests: ['proofs/long/old-nodes.test.ts'],
    config: 'vitest.proofs.config.ts',
  },
  ...onNewerNodes('client', 'the client, packed and from its sources, with what the pages show', [
    'packages/client/test',
  ]),
];

const HELM_ROWS = (
  [
    ['helm-3.17.2', 'helm3'],
    ['helm-4.2.3', 'helm'],
  ] as const
).map(([name, tool]): MatrixRow => ({
  ...USUAL,
  name,
  title: 'the chart rendered, linted, refused',
  tests: ['test/operations/chart', 'test/operations/custom-resources.test.ts'],
  config: 'vitest.operations.config.ts',
  environment: { ...NO_KAFKA, TEST_HELM: tool },
  tool,
}));

export const MATRIX_ROWS: readonly MatrixRow[] = [
  ...KAFKA_ROWS,
  ...REGISTRY_ROWS,
  ...NODE_ROWS,
  ...CLIENT_ROWS,
  ...HELM_ROWS,
];
