/** Flags for JVMs that start often and live shortly: quick to start, small, no second optimizing compiler, no files of their own in the temporary folder. */
export const QUICK_START_FLAGS = [
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-Xshare:auto',
  '-XX:-UsePerfData',
] as const;
