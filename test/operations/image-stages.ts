/**
 * The Dockerfile without Docker: builds its stages in folders, with the ignore file applied. Not covered:
 * the base image, and `docker build` itself.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { ROOT } from './tools.ts';

const run = promisify(execFile);

/** `npm ci` with an empty cache, on a busy machine. */
export const BUILD_MS_MAX = 10 * 60_000;

interface Instruction {
  readonly name: string;
  readonly text: string;
}

export interface Stage {
  readonly name: string;
  readonly base: string;
  readonly instructions: readonly Instruction[];
}

function stagesOf(dockerfile: string): Stage[] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: { name: string; base: string; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const [, name = '', text = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    const from = /^(\S+) AS (\S+)$/.exec(text);
    if (name === 'FROM') stages.push({ base: from?.[1] ?? text, name: from?.[2] ?? '', instructions: [] });
    else stages.at(-1)?.instructions.push({ name, text });
  }
  return stages;
}

/** What the ignore file lets into the build, as paths from the root: it lists everything allowed. */
async function admitted(): Promise<(path: string) => boolean> {
  const rules = (await readFile(join(ROOT, '.dockerignore'), 'utf8'))
    .split('\n')
    .filter((line) => !/^(#|$)/.test(line));
  expect(rules[0]).toBe('*');
  // The last rule that matches a path applies; a folder is entered if a rule lets in part of it.
  return (path) => {
    const rule = rules.findLast((candidate) => speaksOf(candidate, path)) ?? '';
    return rule.startsWith('!');
  };
}

function speaksOf(rule: string, path: string): boolean {
  if (rule === '*') return true;
  if (rule.startsWith('**/*')) return path.endsWith(rule.slice('**/*'.length));
  const named = rule.slice(rule.startsWith('!') ? 1 : 0);
  return path === named || path.startsWith(`${named}/`) || (rule.startsWith('!') && named.startsWith(`${path}/`));
}

async function copyInto(stage: Stage, folder: string, folders: ReadonlyMap<string, string>): Promise<void> {
  const isAdmitted = await admitted();
  for (const { name, text } of stage.instructions) {
    if (name === 'COPY') {
      const words = text.split(' ');
      const fromStage = /^--from=(.+)$/.exec(words[0] ?? '')?.[1];
      const sources = words.slice(fromStage === undefined ? 0 : 1, -1);
      const target = words.at(-1) ?? '';
      for (const source of sources) {
        const from =
          fromStage === undefined ? join(ROOT, source) : join(folders.get(fromStage) ?? '', basename(source));
        const to = target.endsWith('/') ? join(folder, target, basename(source)) : join(folder, target);
        const filter =
          fromStage === undefined ? { filter: (path: string): boolean => isAdmitted(relative(ROOT, path)) } : {};
        await cp(from, to, { recursive: true, verbatimSymlinks: true, ...filter });
      }
    } else if (name === 'RUN' && /^(npm|node) /.test(text)) {
      // With the image's Node, which its scripts need.
      const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` };
      const [program = '', ...words] = text.split(' ');
      await run(program, words, { cwd: folder, env, timeout: BUILD_MS_MAX });
    }
  }
}

/** In the Dockerfile's order; the last is the processor's image. */
export const STAGES: readonly Stage[] = stagesOf(await readFile(join(ROOT, 'Dockerfile'), 'utf8'));

/** The arguments of each instruction with this name, in order. */
export function valuesOf(stage: Stage, name: string): string[] {
  return stage.instructions.filter((instruction) => instruction.name === name).map(({ text }) => text);
}

export interface BuiltImage {
  /** The working directory of a stage. @throws Error if there is no such stage */
  folderOf(stage: string): string;
  remove(): Promise<void>;
}

/** Builds all stages, in a new folder. @throws Error with npm's message if it fails */
export async function buildImage(): Promise<BuiltImage> {
  const parent = await mkdtemp(join(tmpdir(), 'payments-image-'));
  const folders = new Map<string, string>();
  for (const stage of STAGES) {
    const folder = join(parent, stage.name);
    await mkdir(folder);
    await copyInto(stage, folder, folders);
    folders.set(stage.name, folder);
  }
  return {
    folderOf: (stage) => {
      const folder = folders.get(stage);
      if (folder === undefined) throw new Error(`the Dockerfile has no stage ${stage}`);
      return folder;
    },
    remove: () => rm(parent, { recursive: true, force: true }),
  };
}
