/** Direct checks of who is given lanes. In histories the service refuses no single process, so this is a scene of its own. */
import type { DirectCheck } from './direct-checks.ts';

export const MEMBER_CHECKS: readonly DirectCheck[] = [
  {
    wrong: 'lanes are not with those members that the service serves',
    holds: async () => {
      // Takes longer to load than all other checks take.
      const { runScene } = await import('./scene.ts');
      // A refusal shows at a call: each lane has one in time, whichever the member has.
      const small = { seed: 1, lanes: 3, members: 3, commandsPerSecond: 0.6, outageMinutes: 0, changes: 0 };
      const { wrong } = await runScene({ scene: 'refused-member', ...small });
      if (wrong.length > 0) throw new Error(wrong.join('; '));
      return true;
    },
  },
];
