/** Direct checks of which members get lanes. In histories the service never refuses a single process, so this is a scene. */
import type { DirectCheck } from './direct-checks.ts';

export const MEMBER_CHECKS: readonly DirectCheck[] = [
  {
    wrong: 'lanes are not with those members that the service serves',
    holds: async () => {
      // Loaded on demand: this takes longer than all other checks.
      const { runScene } = await import('./scene.ts');
      // A refusal shows only at a call. So every lane gets calls in time, whichever lanes the refused member has.
      const small = { seed: 1, lanes: 3, members: 3, commandsPerSecond: 0.6, outageMinutes: 0, changes: 0 };
      const { wrong } = await runScene({ scene: 'refused-member', ...small });
      if (wrong.length > 0) throw new Error(wrong.join('; '));
      return true;
    },
  },
];
