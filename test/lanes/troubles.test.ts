/** How soon a lane that was lost is taken again. */
import { describe, expect, test } from 'vitest';
import { Troubles, type LaneLoss, type MessagePlace } from '../../src/lanes/commits/troubles.ts';

function lostAt(troubles: Troubles, reason: LaneLoss, nowMs: number): number {
  troubles.lost({ reason, message: 'TOPIC_AUTHORIZATION_FAILED', nowMs }, null);
  return troubles.retakeMs();
}

describe('a lane whose commits fail', () => {
  test('is taken again at once three times, then later each time, but within 5 s', () => {
    const troubles = new Troubles();
    const pausesMs: number[] = [];
    let nowMs = 1_000;
    for (let failure = 1; failure <= 10; failure += 1) {
      const pauseMs = lostAt(troubles, 'not-committed', nowMs);
      pausesMs.push(pauseMs);
      nowMs += pauseMs + 700;
    }
    expect(pausesMs).toEqual([0, 0, 0, 300, 600, 1_200, 2_400, 4_800, 5_000, 5_000]);
  });

  test('is taken again at once when its commits went well for ten seconds', () => {
    const troubles = new Troubles();
    for (const nowMs of [0, 1_000, 2_000, 3_000]) lostAt(troubles, 'not-committed', nowMs);
    expect(lostAt(troubles, 'not-committed', 13_000)).toBe(0);
  });

  test('is taken again later where Kafka refuses what is no message, at once where it is one', () => {
    const refused = (first: MessagePlace | null, last: MessagePlace | null): number => {
      const troubles = new Troubles();
      for (const [failure, place] of [first, first, first, first, last].entries())
        troubles.lost({ reason: 'refused', message: 'MESSAGE_TOO_LARGE', nowMs: 1_000 * failure }, place);
      return troubles.retakeMs();
    };
    const message = { topic: 'commands', offset: 7n };
    expect([refused(null, null), refused(message, message), refused(null, message)]).toEqual([600, 0, 0]);
  });

  test.each<LaneLoss>(['fenced', 'with-others', 'own-failure', 'not-acquired'])(
    'is taken again at once for another reason: %s',
    (reason) => {
      const troubles = new Troubles();
      const pausesMs = [0, 100, 200, 300, 400, 500].map((nowMs) => lostAt(troubles, reason, nowMs));
      expect(Math.max(...pausesMs)).toBe(0);
    },
  );
});
