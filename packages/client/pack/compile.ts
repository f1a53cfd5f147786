/** Compiles the client, and what it imports of the contract, to JavaScript and declarations. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';

/** Sources say `.ts`; in JavaScript the compiler rewrites it, in declarations it does not. */
const RELATIVE_TS = /((?:from |import\()['"]\.\.?\/[^'"]*)\.ts(['"])/g;
const OF_CONTRACT = /((?:from |import |import\()['"])payment-processor-contract\/([^'"]+)(['"])/g;

/**
 * @param packages the folder of both packages
 * @param entries sources that the package exports, below that folder
 * @throws Error with what the compiler says
 */
export function compileClient(packages: string, entries: readonly string[], outDir: string): void {
  const configuration = ts.readConfigFile(join(packages, '../tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(configuration.config, ts.sys, join(packages, '..'));
  const program = ts.createProgram(
    entries.map((entry) => join(packages, entry)),
    {
      ...options,
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      // What is found below node_modules would not be compiled.
      paths: { 'payment-processor-contract/*': [join(packages, 'contract/src/*.ts')] },
      rootDir: packages,
      outDir,
    },
  );
  const { diagnostics } = program.emit();
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (problems.length > 0) {
    throw new Error(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')).join('\n'));
  }
  for (const file of globSync('**/*.{js,d.ts}', { cwd: outDir })) {
    const contract = relative(dirname(file), 'contract/src');
    const text = readFileSync(join(outDir, file), 'utf8')
      .replace(RELATIVE_TS, '$1.js$2')
      .replace(OF_CONTRACT, `$1${contract}/$2.js$3`);
    // Whoever uses the declarations needs Node's, whatever their project lists.
    writeFileSync(join(outDir, file), file.endsWith('.js') ? text : `/// <reference types="node" />\n${text}`);
  }
}
