/** The words of the command line: `npm run demo -- [options]`. */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { FAULT_RULE, type FaultRule } from '../sandbox/faults.ts';

export const USAGE = `Usage: npm run demo -- [options]

Starts Kafka, a schema registry, the sandbox of the payment service and the processor on this machine, publishes each
kind of command, shows the results and status changes as they arrive, and checks that all came out right.
With KAFKA_BROKERS and SCHEMA_REGISTRY_URL set, those are used instead, under a topic prefix of the demo's own.

  --keep                  stay up after the checks, until Ctrl-C, and print the settings to use
  --sandbox-fault JSON    a fault rule of the sandbox, or a list of them (dev/sandbox/README.md), in force before
                          anything is published; '{"kind":"drop-after","operation":"transfer-in","count":1}' must
                          still come out right, '{"kind":"status","operation":"transfer-in","httpStatus":400}' cannot
  --help                  this text

Exit codes: 0 all came out right; 1 something did not, or nothing could be started; 2 wrong options; 130 interrupted.
`;

export interface DemoOptions {
  readonly keep: boolean;
  readonly faults: readonly FaultRule[];
}

export type Arguments = { kind: 'run'; options: DemoOptions } | { kind: 'help' } | { kind: 'wrong'; problem: string };

/** @param words the words after the script's name; a leading `--` is passed over, as some package managers hand it on */
export function readArguments(words: readonly string[]): Arguments {
  const options = {
    keep: { type: 'boolean', default: false },
    'sandbox-fault': { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    const { values } = parseArgs({ args: words[0] === '--' ? words.slice(1) : [...words], options, strict: true });
    if (values.help === true) return { kind: 'help' };
    return { kind: 'run', options: { keep: values.keep, faults: readFaults(values['sandbox-fault']) } };
  } catch (error) {
    // parseArgs and readFaults tell by throwing.
    return { kind: 'wrong', problem: error instanceof Error ? error.message : String(error) };
  }
}

function readFaults(text: string | undefined): readonly FaultRule[] {
  if (text === undefined) return [];
  const rules = z.union([z.array(FAULT_RULE), FAULT_RULE.transform((rule) => [rule])]).safeParse(jsonOf(text));
  if (!rules.success) throw new RangeError(`--sandbox-fault is not a fault rule: ${z.prettifyError(rules.error)}`);
  return rules.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RangeError('--sandbox-fault is not JSON', { cause: error });
  }
}
