import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  { ignores: ['node_modules', 'state', '.local', '.dependency-cruiser.cjs'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: { allowDefaultProject: ['*.js'] }, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-non-null-assertion': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  {
    // Filling a transaction waits for nothing: what must be waited for is made ready before, or waits in its inbox.
    files: [
      'src/ledger/**',
      'src/status/*.ts',
      'src/producers/{result,status}-events.ts',
      'src/lanes/{admission,answers,careful-reading,decisions,due-turns,holds,memory}.ts',
      'src/lanes/{observations,outcomes,taking,timers,transaction}.ts',
    ],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'AwaitExpression, :function[async=true], ForOfStatement[await=true]',
          message:
            'a transaction is filled without waiting: make it ready before, or let the message wait in its inbox',
        },
      ],
    },
  },
  {
    files: ['test/**', 'proofs/**', 'packages/*/test/**'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
);
