/**
 * Writes helm/README.md: the text of helm/README.template.md, and where it has `<!-- values -->` a table of the values
 * with their defaults and the comments ("# --") of helm/values.yaml.
 */
import { readFileSync } from 'node:fs';
import { isMap, parseDocument, type Node, type Pair, type Scalar, type YAMLMap } from 'yaml';
import { writeOrCheck } from './generated-file.ts';

const PLACE = '<!-- values -->';
const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

interface Row {
  readonly name: string;
  readonly fallback: string;
  readonly meaning: string;
}

/** The comment before the first entry of a map belongs to the map for the parser. */
function meaningOf(pair: Pair<Scalar<string>, Node>, map: YAMLMap): string | null {
  const comments = [pair.key.commentBefore, map.items[0] === pair ? map.commentBefore : null];
  const lines = comments.flatMap((comment) => (comment ?? '').split('\n'));
  const start = lines.findLastIndex((line) => line.startsWith(' -- '));
  return start < 0
    ? null
    : lines
        .slice(start)
        .map((line) => line.replace(/^ (-- )?/, ''))
        .join(' ')
        .trim();
}

function hasMeanings(map: YAMLMap): boolean {
  return (map.items as Pair<Scalar<string>, Node>[]).some(
    (pair) => meaningOf(pair, map) !== null || (isMap(pair.value) && hasMeanings(pair.value)),
  );
}

function rowsOf(map: YAMLMap, path: string): Row[] {
  return (map.items as Pair<Scalar<string>, Node>[]).flatMap((pair): Row[] => {
    const name = path === '' ? pair.key.value : `${path}.${pair.key.value}`;
    const { value } = pair;
    if (isMap(value) && hasMeanings(value)) return rowsOf(value, name);
    const meaning = meaningOf(pair, map);
    if (meaning === null) throw new Error(`helm/values.yaml: ${name} has no comment that begins with "# --"`);
    return [{ name, fallback: JSON.stringify(value?.toJSON() ?? null), meaning }];
  });
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

const values = parseDocument(read('helm/values.yaml'));
if (!isMap(values.contents)) throw new Error('helm/values.yaml is no map');
const rows = rowsOf(values.contents, '').map(
  ({ name, fallback, meaning }) => `| \`${name}\` | \`${cell(fallback)}\` | ${cell(meaning)} |`,
);
const table = ['| Value | Default | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
const template = read('helm/README.template.md');
if (!template.includes(PLACE)) throw new Error(`helm/README.template.md has no ${PLACE}`);
writeOrCheck(
  'helm/README.md',
  'helm/values.yaml',
  template.replace(PLACE, () => table),
);
