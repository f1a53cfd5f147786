/** Reports of offsets to the group: the last one may be answered after everything else has ended. */
import { expect, test } from 'vitest';
import { OffsetReports } from '../../src/consumers/offset-reports.ts';

test('a last report that the coordinator accepts only after the store was closed does not reject', async () => {
  let isClosed = false;
  let accept = (): void => undefined;
  const accepted = new Promise<void>((resolve) => (accept = resolve));
  const reports = new OffsetReports({
    positions: () => {
      if (isClosed) throw new Error('the store is not open');
      return [{ topic: 'commands', lane: 0, offset: 1n }];
    },
    commit: () => accepted,
  });
  reports.start();
  reports.stop();
  const last = reports.report();
  isClosed = true;
  accept();
  await expect(last).resolves.toBeUndefined();
});
