/** Compiles the client, and what it imports, to JavaScript and declarations. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** What the package exports. */
const ENTRIES = ['src/client/index.ts', 'src/client/testing.ts'];
/** Sources say `.ts`; in JavaScript the compiler rewrites it, in declarations it does not. */
const RELATIVE_TS = /((?:from |import\()['"]\.\.?\/[^'"]*)\.ts(['"])/g;

/** @throws Error with what the compiler says */
export function compileClient(root: string, outDir: string): void {
  const configuration = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(configuration.config, ts.sys, root);
  const program = ts.createProgram(
    ENTRIES.map((entry) => join(root, entry)),
    {
      ...options,
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: join(root, 'src'),
      outDir,
    },
  );
  const { diagnostics } = program.emit();
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (problems.length > 0) {
    throw new Error(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')).join('\n'));
  }
  for (const file of globSync('**/*.d.ts', { cwd: outDir })) {
    const text = readFileSync(join(outDir, file), 'utf8').replace(RELATIVE_TS, '$1.js$2');
    // Whoever uses the declarations needs Node's, whatever their project lists.
    writeFileSync(join(outDir, file), `/// <reference types="node" />\n${text}`);
  }
}
