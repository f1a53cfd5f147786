/** Parses option values; commander adds the option's name to an error. */
import { InvalidArgumentError, Option } from 'commander';
import { TIMER_MS_MAX } from 'payment-processor-client/internal/client-error';
import { instantMs } from 'payment-processor-contract/instants';

const UNITS_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function durationMs(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h)$/.exec(text);
  const unitMs = UNITS_MS[match?.[2] ?? ''];
  if (match === null || unitMs === undefined)
    throw new InvalidArgumentError('It must look like 500ms, 30s, 15m or 1h.');
  const ms = Number(match[1]) * unitMs;
  if (ms === 0) throw new InvalidArgumentError('It must be more than 0.');
  if (ms > TIMER_MS_MAX) throw new InvalidArgumentError('It must be at most 24 days.');
  return ms;
}

/** An option whose help shows its default as written: `30s`, not milliseconds. */
export function durationOption(flags: string, description: string, byDefault: string): Option {
  return new Option(flags, description).argParser(durationMs).default(durationMs(byDefault), byDefault);
}

/** How long to wait for something that was published. */
export function waitOption(flags: string, description: string): Option {
  return durationOption(flags, description, '60s');
}

/** The time limit of a reading. */
export function readForOption(description: string): Option {
  return durationOption('--read-for <duration>', description, '2m');
}

/** How many entries of a list to show. */
export function limitOption(description: string): Option {
  return new Option('--limit <number>', description).argParser(wholeNumber(1, 10_000));
}

export function instant(text: string): Date {
  const ms = instantMs(text);
  if (ms === null) throw new InvalidArgumentError('It must be ISO 8601 with a zone, such as 2026-01-31T12:00:00Z.');
  return new Date(ms);
}

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return value;
  };
}
