/**
 * Dependencies go one way, as in DESIGN.md. Between packages:
 *
 *   contract <- client <- command line        contract <- the service (src/) <- command line
 *   contract <- sandbox <- local-kafka
 *
 * Between folders of the service:
 *
 *   api <- ledger <- status <- producers <- consumers <- store <- lanes <- ops <- main
 */
const order = ['api', 'ledger', 'status', 'producers', 'consumers', 'store', 'lanes'];
/** Of the contract, what knows Kafka and settings. */
const KAFKA = '^packages/contract/src/(kafka/|config\\.ts$|topic-definitions\\.ts$)';

const upward = order.map((folder, index) => ({
  name: `${folder}-looks-down-only`,
  comment: `src/${folder} may use only the folders before it in the order, and the contract.`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to:
    index >= order.indexOf('producers')
      ? { path: '^(src|packages)/', pathNot: `^(src/(${order.slice(0, index + 1).join('|')})|packages/contract/src)/` }
      : { path: `^(src|packages/(?!contract))/|${KAFKA}`, pathNot: `^src/(${order.slice(0, index + 1).join('|')})/` },
}));

const [contract, client, cli, sandbox, localKafka] = [
  ['contract', 'packages/contract'],
  ['client', 'packages/(contract|client)'],
  ['cli', '(packages/(contract|client|cli)|src/(?!ops/|main\\.ts))'],
  ['sandbox', 'packages/sandbox'],
  ['local-kafka', 'packages/(sandbox|local-kafka)'],
].map(([name, allowed]) => ({
  name: `${name}-is-a-package`,
  comment: `What packages/${name} may use of the others and of the service.`,
  severity: 'error',
  from: { path: `^packages/${name}/src/` },
  to: { path: '^(src|packages|dev|test|proofs)/', pathNot: `^${allowed}` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...upward,
    contract,
    client,
    cli,
    {
      ...sandbox,
      comment: 'The judge must not share the code that it judges; lossless JSON and the tables of the interface apart.',
      to: {
        ...sandbox.to,
        pathNot: `${sandbox.to.pathNot}|^packages/contract/src/(lossless-json|json-ambiguity|commands)\\.ts$`,
      },
    },
    localKafka,
    {
      name: 'calls-and-commits-stand-alone',
      comment: 'In src/lanes, neither knows the other, nor inputs and ownership.',
      severity: 'error',
      from: { path: '^src/lanes/(calls|commits)/' },
      to: { path: '^src/lanes/[a-z]+/', pathNot: '^src/lanes/$1/' },
    },
    {
      name: 'no-circles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'service-is-no-tool',
      comment: 'The service uses the contract and nothing else of packages/, dev/ and the tests.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(packages/(?!contract/)|dev/|test/|proofs/)' },
    },
    {
      name: 'ops-serves-main-alone',
      severity: 'error',
      from: { path: '^src/(?!ops/|main\\.ts)' },
      to: { path: '^src/ops/' },
    },
    {
      name: 'records-know-no-kafka',
      comment: 'They are read where there is neither Kafka nor a setting.',
      severity: 'error',
      from: { path: '^packages/contract/src/', pathNot: KAFKA },
      to: { path: KAFKA },
    },
    {
      name: 'kafkajs-behind-few-folders',
      comment: 'kafkajs is unmaintained: few places to mend or replace it.',
      severity: 'error',
      from: {
        path: '^(src|packages/(contract|client|cli|sandbox)/src)/',
        pathNot: '^(src/(consumers|producers)|packages/[a-z]+/src/kafka)/',
      },
      to: { path: 'node_modules/kafkajs' },
    },
    {
      name: 'http-client-in-api-alone',
      comment: 'And where members of the group ask each other.',
      severity: 'error',
      from: {
        path: '^(src|packages)/',
        pathNot: '^(src/api/|src/ops/group/ask-member\\.ts$|packages/cli/|packages/[a-z-]+/test/)',
      },
      to: { path: 'node_modules/(undici|opossum)' },
    },
    {
      name: 'tracing-sdk-behind-one-file',
      comment: 'Loaded only when tracing is on.',
      severity: 'error',
      from: { path: '^(src|packages)/', pathNot: '^src/ops/span-export\\.ts$' },
      to: { path: 'node_modules/@opentelemetry' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^packages/[a-z-]+/test/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default'],
      extensions: ['.ts', '.js', '.cjs', '.mjs', '.json'],
    },
  },
};
