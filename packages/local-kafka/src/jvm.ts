import { existsSync } from 'node:fs';

/** Flags for JVMs that start often and live shortly: quick to start, small, no second optimizing compiler, no files of their own in the temporary folder. */
export const QUICK_START_FLAGS = [
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-Xshare:auto',
  '-XX:-UsePerfData',
] as const;

/** The classes that a start from this folder of jars loads, parsed once; beside the folder. See class-archive.ts. */
export function archiveOf(folder: string): string {
  return `${folder}.jsa`;
}

/** None where there is no archive. */
export function archiveFlags(folder: string): string[] {
  const archive = archiveOf(folder);
  return existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`] : [];
}
