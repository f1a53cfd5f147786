/** Shortages: disk, memory, and time before Kafka deletes what a process has not read. */
import { statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { limitMemory } from '../../test/operations/memory-limit.ts';
import { createQuoteOf } from '../../test/support/commands.ts';
import type { Fault } from './fault.ts';
import type { Scene } from './scene.ts';

/** The slot whose process gets a small disk, and then a leak. */
const SLOT = 'b';
/** A tmpfs that only this process sees. A process exits below 8 MiB; 4 % is more than that. */
const ON_SMALL_DISK = [
  ...['unshare', '--map-root-user', '--mount', 'sh', '-c'],
  'mount -t tmpfs -o size=384m state "$STATE_DIR" && exec "$0" "$@"',
];
/** PaymentsDiskFilling: less than 0.05. */
const LEFT_FREE = 0.04;
const DUMP = 'core.4711';
/** PaymentsProcessMemory: more than 0.6 of the limit. Without the leak it is some 60 MB, and 130 MB are resident. */
const MEMORY_LIMIT_BYTES = 512 * 1024 ** 2;
const LEAKED_BYTES = 300 * 1024 ** 2;
const HELD_TYPE = 'create-quote';

/** STATE_DIR as the process sees it. */
function stateDirOf({ slots }: Scene): string {
  return `/proc/${slots.of(SLOT).pid}/root${slots.environmentOf(SLOT)['STATE_DIR']}`;
}

export const RESOURCE_FAULTS: readonly Fault[] = [
  {
    name: 'disk fills',
    what: 'something else fills the disk of a local store',
    alerts: ['PaymentsDiskFilling'],
    inject: async (scene) => {
      await scene.slots.restart([SLOT], {}, ON_SMALL_DISK);
      const { bavail, blocks, bsize } = await statfs(stateDirOf(scene));
      await writeFile(join(stateDirOf(scene), DUMP), Buffer.alloc((bavail - blocks * LEFT_FREE) * bsize));
    },
    action: 'it is found and removed; no restart',
    look: async (scene) => {
      const STATE_DIR = stateDirOf(scene);
      const { stdout } = await scene.paste('disk fills', 'PaymentsDiskFilling', 'kubectl exec', {}, { STATE_DIR });
      if (!stdout.includes(DUMP)) throw new Error(`du does not name ${DUMP}: ${stdout}`);
    },
    act: (scene) => {
      const FILE = join(stateDirOf(scene), DUMP);
      return scene.paste('disk fills', 'PaymentsDiskFilling', 'kubectl exec "$POD" -- rm', { FILE });
    },
  },
  {
    name: 'leak',
    what: 'by a bug a process keeps memory that it no longer needs',
    alerts: ['PaymentsProcessMemory'],
    inject: async (scene) => {
      const limit = await limitMemory(MEMORY_LIMIT_BYTES);
      if (typeof limit === 'string') throw new Error(limit);
      scene.left.set('memory limit', () => limit.remove());
      const leak = `--import data:text/javascript,globalThis.leaked=Buffer.alloc(${LEAKED_BYTES},1)`;
      const NODE_OPTIONS = `${scene.slots.environmentOf(SLOT)['NODE_OPTIONS']} ${leak}`;
      const limited = ['sh', '-c', `echo $$ > ${limit.processesFile} && exec "$0" "$@"`];
      await scene.slots.restart([SLOT], { NODE_OPTIONS }, limited);
    },
    action: 'no backlog explains it: it is reported; its process is restarted',
    look: (scene) => scene.paste('leak', 'PaymentsProcessMemory', 'cli unfinished list'),
    act: async (scene) => {
      await scene.slots.restart([SLOT]);
      await scene.putRight('memory limit');
    },
  },
  {
    name: 'retention near',
    what: `an operator holds ${HELD_TYPE} commands until one has waited for half of LEDGER_RETENTION`,
    alerts: ['PaymentsRetentionNear'],
    inject: async (scene) => {
      await scene.shell(`cli hold ${HELD_TYPE} --reason 'a game day'`);
      await scene.stack.publisher.publish(HELD_TYPE, 'retention-near', createQuoteOf('retention-near'));
    },
    action: 'its topic keeps it longer; /api/state: operator-hold; released; retention is set back',
    look: async (scene) => {
      const TOPIC = scene.stack.topics.commands[HELD_TYPE];
      await scene.paste('retention near', 'PaymentsRetentionNear', 'kafka-configs.sh', { TOPIC });
      await scene.stateNames('operator-hold');
    },
    act: async (scene) => {
      await scene.paste('retention near', 'PaymentsHoldLasts', 'cli release TYPE', { TYPE: HELD_TYPE });
      await scene.stack.journal.result('retention-near');
      const { stdout } = await scene.run('retention near', 'cli topics check');
      await scene.run('retention near', /kafka-configs\.sh [^`]+/.exec(stdout)?.[0] ?? '');
      await scene.paste('retention near', 'PaymentsRetentionNear', 'cli topics check');
    },
  },
];
