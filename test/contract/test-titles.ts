/** The titles of the tests below `test/`, as they are written in the source. */
import { readFile } from 'node:fs/promises';
import ts from 'typescript';

const TEST_FOLDER = new URL('../', import.meta.url);

/**
 * @param file below `test/`
 * @returns the titles of tests that run, templates of `each` as they are; null when there is no such file
 */
export async function testTitles(file: string): Promise<Set<string> | null> {
  const text = await readFile(new URL(file, TEST_FOLDER), 'utf8').catch(() => null);
  if (text === null) return null;
  const titles = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isTest(node.expression)) {
      const [title] = node.arguments;
      if (title !== undefined && ts.isStringLiteralLike(title)) titles.add(title.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return titles;
}

/** `test(...)` or `test.each(...)(...)`; neither one that is skipped nor one that is to be written. */
function isTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return callee.text === 'test' || callee.text === 'it';
  if (!ts.isCallExpression(callee) || !ts.isPropertyAccessExpression(callee.expression)) return false;
  return callee.expression.name.text === 'each' && isTest(callee.expression.expression);
}
