/** The scenes of `npm run chaos`: how long each takes, and what it reports. */
import type { Engine } from 'payment-processor-local-kafka/start';
import { runSoak } from '../soak/soak.ts';
import { judgeChaos } from './chaos-judgement.ts';
import { chaosReportOf, megabytesMax, type SceneReport } from './chaos-report.ts';
import { runChaos, type ChaosOptions } from './chaos-scenario.ts';
import { DISTURBANCES, type DisturbanceName } from './disturbances.ts';
import { OUTAGES } from './outage-list.ts';
import { judgeOutages, runOutages } from './outage-scenario.ts';
import type { Place } from './rig.ts';
import { statusReportOf } from './status-report.ts';

type OwnPlace = Place & { engine: Engine };

/** The options of all scenes; each scene uses some of them. */
export interface SceneOptions extends Omit<ChaosOptions, 'disturbances' | 'isPlain' | 'lives' | 'pauseMsMax'> {
  /** Parts of the names of outages to run; empty: all. */
  readonly only: readonly string[];
}

export interface Scene {
  readonly about: string;
  readonly brokers: 1 | 3;
  /** Its default duration; null: it cannot be chosen. */
  readonly minutes: number | null;
  readonly commandsPerSecond?: number;
  run(place: OwnPlace, options: SceneOptions): Promise<SceneReport>;
}

const MINUTE_MS = 60_000;
const ALL_DISTURBANCES = Object.keys(DISTURBANCES) as DisturbanceName[];
/** In the scene of poison: one message of every family. */
const POISON_EVERY_MS = 2_000;
/** The life of the payments whose delays are measured, of which 1,000 are open at any time. */
const LIFE_MS = MINUTE_MS;
const OPEN_PER_SECOND = 1_000 / (LIFE_MS / 1_000);
/** Payments of another client, as a share. */
const OTHERS_SHARE = 0.25;
/** In the scene of statuses: takeovers are over well before the next kill. */
const KILLS_APART_MS_MAX = 40_000;

export const SCENES: Readonly<Record<string, Scene>> = {
  all: {
    about: 'processors, brokers, registry and service fail at random under load',
    ...disturbed(ALL_DISTURBANCES, false),
  },
  kills: { about: 'processors killed at work, all else well', ...disturbed(['processor killed'], true) },
  brokers: {
    about: 'brokers killed, stopped and frozen, all else well',
    ...disturbed(['broker killed', 'broker stopped', 'broker frozen'], true),
  },
  poison: {
    about: 'bad messages of every kind among the commands, all else well',
    ...disturbed([], true, ({ poisonEveryMs }) => ({ poisonEveryMs: poisonEveryMs ?? POISON_EVERY_MS })),
  },
  status: {
    about: 'payments through their whole life, each change told once, under kills',
    ...disturbed(['processor killed'], true, ({ commandsPerSecond }) => ({
      pauseMsMax: KILLS_APART_MS_MAX,
      lives: {
        settleMs: 10_000,
        othersPerSecond: commandsPerSecond * OTHERS_SHARE,
        callsPerMinuteMax: 600,
        laterShare: 0.55,
      },
    })),
    brokers: 1,
    minutes: 5,
  },
  'status-delay': {
    about: 'how late changes are told of 1,000 payments that are open at any time',
    ...disturbed([], true, ({ minutes }) => ({
      minutes: minutes + LIFE_MS / MINUTE_MS,
      types: ['transfer-in', 'immediate-quote'],
      commandsPerSecond: OPEN_PER_SECOND * (1 - OTHERS_SHARE),
      lives: {
        settleMs: LIFE_MS,
        othersPerSecond: OPEN_PER_SECOND * OTHERS_SHARE,
        callsPerMinuteMax: 240,
        laterShare: 0,
      },
    })),
    brokers: 1,
    minutes: 5,
  },
  outages: {
    about: 'each kind of outage lived through without a restart; --only 401,302',
    brokers: 3,
    minutes: null,
    run: async (place, { only, seed }) => {
      const isWanted = (name: string): boolean => only.length === 0 || only.some((part) => name.includes(part));
      const outages = OUTAGES.filter(({ name }, index) => index === 0 || isWanted(name));
      const evidence = await runOutages(place, { outages, seed });
      return {
        rows: [
          ...evidence.rows.map(
            ({ allAnsweredMs, answeredDuring, commands, lastedMs, name, reasons }) =>
              [
                name,
                `${answeredDuring} of ${commands} answered in ${lastedMs} ms, all ${allAnsweredMs ?? 'never,'} ms after its end; ${reasons.join(' | ') || 'ready'}`,
              ] as const,
          ),
          ['memory', `${megabytesMax(evidence)} MB at most`],
        ],
        wrong: [...judgeChaos(evidence).wrong, ...judgeOutages(evidence)],
      };
    },
  },
  soak: {
    about: 'constant load with kills: memory, handles, connections and disk stay flat; proofs/soak/README.md',
    brokers: 1,
    minutes: 60,
    commandsPerSecond: 130,
    run: runSoak,
  },
};

/** @param more what the scene has beside its disturbances */
function disturbed(
  disturbances: readonly DisturbanceName[],
  isPlain: boolean,
  more: (options: SceneOptions) => Partial<ChaosOptions> = () => ({}),
): Omit<Scene, 'about'> {
  return {
    brokers: 3,
    minutes: 2,
    run: async (place, options) => {
      const chaos: ChaosOptions = { ...options, disturbances, isPlain, ...more(options) };
      const evidence = await runChaos(place, chaos);
      const { rows, wrong } = chaosReportOf(chaos, evidence);
      if (chaos.lives === undefined || evidence.lives === null) return { rows, wrong };
      const ofStatuses = statusReportOf(chaos.lives, evidence, evidence.lives);
      return { rows: [...rows, ...ofStatuses.rows], wrong: [...wrong, ...ofStatuses.wrong] };
    },
  };
}
