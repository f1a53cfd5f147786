/**
 * Dependencies between folders go one way, as in DESIGN.md:
 *
 *   records <- api <- ledger <- status <- producers <- consumers <- store <- lanes <- ops <- main
 *                                              client (publish, subscribe) <- cli
 */
const order = ['records', 'api', 'ledger', 'status', 'producers', 'consumers', 'store', 'lanes'];

const upward = order.map((folder, index) => ({
  name: `${folder}-looks-down-only`,
  comment: `src/${folder} may use only the folders before it in the order, and the settings.`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: {
    path: '^src/',
    pathNot: [
      `^src/(${order.slice(0, index + 1).join('|')})/`,
      '^src/(clock|repeats|watched-file)\\.ts$',
      ...(index >= order.indexOf('producers') ? ['^src/config\\.ts$'] : []),
    ],
  },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...upward,
    {
      name: 'no-circles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'ops-serves-main-alone',
      severity: 'error',
      from: { path: '^src/(?!ops/|main\\.ts)' },
      to: { path: '^src/ops/' },
    },
    {
      name: 'client-does-not-know-the-processor',
      severity: 'error',
      from: { path: '^src/client/' },
      to: { path: '^src/(api|ledger|status|store|lanes|ops|cli)/' },
    },
    {
      name: 'nothing-uses-the-command-line',
      severity: 'error',
      from: { path: '^src/(?!cli/)' },
      to: { path: '^src/cli/' },
    },
    {
      name: 'outside-is-for-client-and-command-line',
      comment: 'What only they need of Kafka is no part of the processor.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(client|cli|consumers/outside|producers/outside)/' },
      to: { path: '^src/(consumers|producers)/outside/' },
    },
    {
      name: 'kafkajs-behind-consumers-and-producers',
      comment: 'kafkajs is unmaintained: one place to mend or replace it.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(consumers|producers)/' },
      to: { path: 'node_modules/kafkajs' },
    },
    {
      name: 'http-client-in-api-alone',
      comment: 'And where members of the group ask each other.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/((api|cli)/|ops/group/ask-member\\.ts$)' },
      to: { path: 'node_modules/(undici|opossum)' },
    },
    {
      name: 'tracing-sdk-behind-one-file',
      comment: 'Loaded only when tracing is on.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/ops/span-export\\.ts$' },
      to: { path: 'node_modules/@opentelemetry' },
    },
    {
      name: 'product-does-not-use-development',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(dev|test|proofs)/' },
    },
    {
      name: 'sandbox-stands-alone',
      comment: 'The judge must not share the code that it judges; lossless JSON and the tables of the interface apart.',
      severity: 'error',
      from: { path: '^dev/sandbox/' },
      to: { path: '^src/', pathNot: '^src/records/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default'],
      extensions: ['.ts', '.js', '.cjs', '.mjs', '.json'],
    },
  },
};
