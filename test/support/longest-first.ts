/** Long files first, so that the workers end together; then those that wait for Kafka; the pure ones fill the gaps. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take over 20 s each on two idle cores, longest first. */
const LONGEST: readonly string[] = [
  'test/promises/i6-fuzz',
  'test/promises/i5-brokers',
  'packages/cli/test/doctor',
  'packages/cli/test/dead-letters',
  'test/access/registry',
  'test/access/door',
  'test/promises/i5-start',
  'test/ops/tracing',
  'packages/client/test/subscription-holds',
  'proofs/simulation/scene',
  'test/promises/i2-no-money-twice',
  'packages/client/test/subscriber-crash',
  'test/contract/money-table',
  'test/promises/i6-what-ends-a-lane',
  'test/demo/demo',
  'packages/cli/test/hold',
  'test/promises/i1-forced-jumps',
];

export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    return [...specifications].sort((left, right) => rankOf(left) - rankOf(right));
  }
}

function rankOf({ moduleId, project }: TestSpecification): number {
  const place = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
  if (place >= 0) return place;
  return LONGEST.length + (project.name === 'pure' ? 1 : 0);
}
