/** Long files first, so that the workers end together; then those that wait for Kafka; the pure ones fill the gaps. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Of more than 15 seconds each on two quiet cores; the longest first. */
const LONGEST: readonly string[] = ['test/promises/i5-start'];

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
