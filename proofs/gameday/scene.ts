/**
 * The deployment of a game day: one broker, registry, sandbox, two processors, a spare slot for a third, and a steady load of
 * commands. `close` ends everything except the engine.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from 'payment-processor-local-kafka/start';
import { ServiceLink } from '../chaos/service-link.ts';
import { OPEN, RegistryDoor, REGISTRY_PASSWORD, REGISTRY_USER, type Manner } from '../../test/access/registry-door.ts';
import { EXIT_CODES } from 'payment-processor-cli/exit-codes';
import type { NotAdmittedCause } from '../../src/ops/lag.ts';
import type { ProcessorState } from '../../src/ops/processor-state.ts';
import { CLIENT_SECRET, TOKEN_ID } from '../../test/support/sandbox-control.ts';
import { faultyFor, Stack } from '../../test/support/stack.ts';
import { processorAt } from './access.ts';
import { commandIn, filledIn, runbookText, runPasted, type PastedRun } from './pasted.ts';
import { ProcessorSlots } from './processor-slots.ts';
import { SteadyLoad } from '../steady-load.ts';

/** The slots that are normally in use. */
export const USUAL_SLOTS = ['a', 'b'] as const;
export const SPARE_SLOT = 'c';
/** The command with this key triggers a bug in our own code. */
export const FAULTY_KEY = 'game-day-bug';

/** A killed process is replaced well before PaymentsLanesNotOpen fires, which is after 15 s at the usual scale. */
const SESSION_TIMEOUT_MS = 4_000;
const API_TIMEOUT_MS = 3_000;
/** Half of it passes in a minute on a game day: longer than commands wait in any other fault. */
export const LEDGER_RETENTION_SECONDS = 40 * 60;
const COMMANDS_PER_SECOND = 2;
/** With calls of SLOW_CALL_MS two processors make about ten a second: half of the wave. */
const WAVE_PER_SECOND = 20;
export const SLOW_CALL_MS = 1_000;
const MAX_CONCURRENCY = 5;
/** More than a process's intents (four per call slot) in one lane: a slow service is `no-slot`, a full lane something else. */
export const MAX_UNFINISHED_PER_LANE = 40;
const STALLED_INBOX = new URL('stalled-inbox.ts', import.meta.url).href;

export class Scene {
  readonly engine: Engine;
  readonly stack: Stack;
  readonly link: ServiceLink;
  readonly slots: ProcessorSlots;
  readonly load: SteadyLoad;
  /** A load started by a fault: more than the service can take. */
  readonly wave: SteadyLoad;
  readonly onProgress: (line: string) => void;
  /** Repairs of what faults left behind, by name. */
  readonly left = new Map<string, () => Promise<unknown>>();
  /** Commands copied from runbooks, by fault. */
  readonly pasted = new Map<string, string[]>();
  readonly #directory: string;
  readonly #registry: RegistryDoor;

  private constructor(
    parts: Pick<Scene, 'engine' | 'stack' | 'link' | 'slots' | 'onProgress'>,
    registry: RegistryDoor,
    directory: string,
  ) {
    this.#registry = registry;
    this.engine = parts.engine;
    this.stack = parts.stack;
    this.link = parts.link;
    this.slots = parts.slots;
    this.onProgress = parts.onProgress;
    this.load = new SteadyLoad(parts.stack, 'ordinary', COMMANDS_PER_SECOND);
    this.wave = new SteadyLoad(parts.stack, 'wave', WAVE_PER_SECOND);
    this.#directory = directory;
  }

  /** @param namedPort the brokers' listener with authentication (access.ts) */
  static async open(
    engine: Engine,
    namedPort: number,
    directory: string,
    onProgress: (line: string) => void,
  ): Promise<Scene> {
    const logDirectory = join(directory, 'logs');
    await mkdir(logDirectory, { recursive: true });
    const stack = await Stack.open({
      name: 'game-day',
      kafkaBrokers: engine.brokers,
      schemaRegistryUrl: engine.registryUrl,
      sandbox: { settleMs: 2_000, tokenId: TOKEN_ID, clientSecret: CLIENT_SECRET },
      settings: {
        KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
        KAFKA_HEARTBEAT_INTERVAL_MS: '500',
        API_TIMEOUT_MS: String(API_TIMEOUT_MS),
        API_MAX_CONCURRENCY: String(MAX_CONCURRENCY),
        MAX_UNFINISHED_PER_LANE: String(MAX_UNFINISHED_PER_LANE),
        LEDGER_RETENTION: `${LEDGER_RETENTION_SECONDS}s`,
        // Shorter than that, as they must be.
        COMMAND_MAX_AGE: 'transfer-in=15m,reject-transaction=15m',
        API_IDEMPOTENCY_RETENTION: '15m',
        STATE_DIR: join(directory, 'state'),
        API_CLIENT_SECRET: '',
        API_CLIENT_SECRET_FILE: secretFileIn(directory),
      },
    });
    await writeFile(secretFileIn(directory), CLIENT_SECRET);
    const link = await ServiceLink.open(stack.sandbox.port, API_TIMEOUT_MS);
    const registry = await RegistryDoor.open(engine.registryUrl);
    const faulty = faultyFor(FAULTY_KEY);
    const environmentOf = (slot: string): Record<string, string> => ({
      ...stack.environment,
      ...processorAt(namedPort),
      ...faulty,
      SCHEMA_REGISTRY_URL: registry.url,
      SCHEMA_REGISTRY_USERNAME: REGISTRY_USER,
      SCHEMA_REGISTRY_PASSWORD: REGISTRY_PASSWORD,
      API_BASE_URL: stack.sandbox.baseUrl.replace(`:${stack.sandbox.port}`, `:${link.port}`),
      NODE_OPTIONS: `${faulty['NODE_OPTIONS'] ?? ''} --import ${STALLED_INBOX}`,
      STALL_FILE: stallFileIn(directory, slot),
    });
    const slots = await ProcessorSlots.open([...USUAL_SLOTS, SPARE_SLOT], environmentOf, logDirectory);
    const scene = new Scene({ engine, stack, link, slots, onProgress }, registry, directory);
    try {
      await slots.start(USUAL_SLOTS);
    } catch (error) {
      await scene.close();
      throw error;
    }
    scene.load.begin();
    return scene;
  }

  /** The secret that the processors read, like a mounted file of a Secret. */
  async putSecret(secret: string): Promise<void> {
    await writeFile(secretFileIn(this.#directory), secret);
  }

  /** Sets how the registry answers the processors and the command line. */
  registryAnswers(manner: Manner = OPEN): void {
    this.#registry.manner = manner;
  }

  /** From now on the slot's process fetches nothing more from the topic. */
  async stall(slot: string, topic: string): Promise<void> {
    await writeFile(stallFileIn(this.#directory, slot), topic);
  }

  async endStall(slot: string): Promise<void> {
    await rm(stallFileIn(this.#directory, slot), { force: true });
  }

  /**
   * Runs the runbook's command that begins with this text, unchanged.
   * @param words values by the runbook's placeholders
   * @throws Error unless it exits with 0
   */
  async paste(
    fault: string,
    runbook: string,
    beginning: string,
    words: Readonly<Record<string, string>> = {},
    settings: Readonly<Record<string, string>> = {},
  ): Promise<PastedRun> {
    const command = filledIn(commandIn(await runbookText(runbook), beginning), words);
    this.#note(fault, command);
    return this.shell(command, settings);
  }

  /** Runs a line that an operator would copy, however it ends. */
  async run(fault: string, command: string): Promise<PastedRun> {
    this.#note(fault, command);
    return this.#runShell(command);
  }

  /** Runs a line that is in no runbook. @throws Error unless it exits with 0 */
  async shell(command: string, settings: Readonly<Record<string, string>> = {}): Promise<PastedRun> {
    const run = await this.#runShell(command, settings);
    if (run.code !== EXIT_CODES.ok.code) throw new Error(`${command} ended with ${run.code}: ${run.stderr.trim()}`);
    return run;
  }

  /** The runbook's `cli doctor`, which must find problems. @returns them, one per line */
  async doctorFinds(fault: string, runbook: string, what: RegExp, beginning = 'cli doctor'): Promise<string[]> {
    const { stdout } = await this.run(fault, commandIn(await runbookText(runbook), beginning));
    const problems = stdout.split('\n').filter((line) => !line.startsWith('ok '));
    for (const line of problems) if (line !== '') this.onProgress(`      ${line}`);
    if (!problems.some((line) => what.test(line))) throw new Error(`cli doctor does not name ${what.source}`);
    return problems;
  }

  /** @throws Error unless `/api/state` of a process names the cause for messages that are not admitted */
  async stateNames(cause: NotAdmittedCause): Promise<void> {
    const states = await Promise.all(
      this.slots
        .all()
        .map(async ({ httpUrl }) => (await (await fetch(`${httpUrl}/api/state`)).json()) as ProcessorState),
    );
    const causes = new Set(
      states.flatMap(({ lanes }) => lanes.flatMap(({ inputs }) => inputs.map((input) => input.cause))),
    );
    this.onProgress(`    $ curl /api/state: not admitted for ${[...causes].join(', ')}`);
    if (!causes.has(cause)) throw new Error(`/api/state does not name the cause ${cause}`);
  }

  async putRight(name: string): Promise<void> {
    await this.left.get(name)?.();
    this.left.delete(name);
  }

  async close(): Promise<void> {
    await Promise.all([this.load.pause(), this.wave.pause()]);
    await this.slots.close();
    for (const name of this.left.keys()) await this.putRight(name).catch(() => undefined);
    await this.link.close();
    await this.#registry.close();
    await this.stack.close();
  }

  #note(fault: string, command: string): void {
    this.pasted.set(fault, [...(this.pasted.get(fault) ?? []), command]);
  }

  #runShell(command: string, settings: Readonly<Record<string, string>> = {}): Promise<PastedRun> {
    this.onProgress(`    $ ${command}`);
    return runPasted(command, this.#directory, { ...this.#settings(), ...settings });
  }

  /** As in a pod. */
  #settings(): Record<string, string> {
    const [firstSlot] = USUAL_SLOTS;
    const HTTP_PORT = String(this.slots.ports.get(firstSlot));
    return { ...this.slots.environmentOf(firstSlot), NODE_OPTIONS: '', HTTP_PORT };
  }
}

function secretFileIn(directory: string): string {
  return join(directory, 'client-secret');
}

function stallFileIn(directory: string, slot: string): string {
  return join(directory, `stalled-${slot}`);
}
