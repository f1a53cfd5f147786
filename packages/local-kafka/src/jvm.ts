import { existsSync } from 'node:fs';

/** Flags for short-lived JVMs: quick to start, small, no second optimizing compiler, no files in the temporary folder. */
export const QUICK_START_FLAGS = [
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-Xshare:auto',
  '-XX:-UsePerfData',
] as const;

/** Path of the class archive beside this folder of jars. See class-archive.ts. */
export function archiveOf(folder: string): string {
  return `${folder}.jsa`;
}

/** Empty without an archive. */
export function archiveFlags(folder: string): string[] {
  const archive = archiveOf(folder);
  return existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`] : [];
}
