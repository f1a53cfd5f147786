/** Long files first, so that the workers end together; then those that wait for Kafka; the pure ones fill the gaps. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Of more than 15 seconds each on two quiet cores; the longest first. */
const LONGEST: readonly string[] = [
  'test/access/door',
  'test/access/registry',
  'test/promises/i5-start',
  'test/promises/i6-fuzz',
  'test/promises/i5-brokers',
  'test/access/commands',
  'test/access/whole-roles',
  'packages/cli/test/reading',
  'packages/client/test/subscription-holds',
  'test/access/password-change',
  'test/examples/examples',
  'packages/cli/test/resolve',
  'test/ops/tracing',
  'test/promises/i6-what-ends-a-lane',
  'test/promises/i2-no-money-twice',
  'test/promises/i1-forced-jumps',
  'proofs/simulation/scene',
  'proofs/simulation/simulation',
  'packages/local-kafka/test/engine',
  'test/demo/demo',
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
