/** What the pages show between fences, and the commands in it. */
import { globSync, readFileSync } from 'node:fs';

export interface Snippet {
  page: string;
  /** Of its first line, from 1. */
  line: number;
  language: string;
  text: string;
}

/** Pages for users and developers; generated ones are checked with what they are generated from. */
export const PAGES = globSync('**/*.md', {
  exclude: ['node_modules/**', '.local/**', '**/.venv/**'],
})
  .filter((page) => !page.includes('node_modules'))
  .sort();

export function snippetsOf(page: string): Snippet[] {
  const snippets: Snippet[] = [];
  let open: Snippet | null = null;
  for (const [index, line] of readFileSync(page, 'utf8').split('\n').entries()) {
    const fence = /^ *```(\S*)/.exec(line);
    if (fence === null) {
      if (open !== null) open.text += `${line}\n`;
    } else if (open === null) open = { page, line: index + 2, language: fence[1] ?? '', text: '' };
    else {
      snippets.push(open);
      open = null;
    }
  }
  return snippets;
}

/** Shows a reader where to find the snippet. */
export function placeOf({ line, page }: Snippet): string {
  return `${page}:${line}`;
}
