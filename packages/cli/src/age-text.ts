/** Ages. Pure. */

/** Whole seconds. Other clocks set the instants: if one is ahead of ours, the age is 0, not negative. */
export function ageSeconds(sinceMs: number, nowMs: number): number {
  return Math.max(0, Math.round((nowMs - sinceMs) / 1000));
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/**
 * An age for people: its two largest units.
 * @param seconds whole and not negative
 */
export function ageText(seconds: number): string {
  const first = UNITS.findIndex(([, size]) => seconds >= size);
  if (first === -1) return '0 s';
  let rest = seconds;
  const parts = UNITS.slice(first, first + 2).flatMap(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest %= size;
    return count === 0 ? [] : [`${count} ${unit}`];
  });
  return parts.join(' ');
}
