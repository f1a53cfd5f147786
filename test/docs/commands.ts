/**
 * Who runs each command that the pages show. A command that is in none of these tables, or in a table and on no page, fails
 * `snippets.test.ts`.
 */

/** Run by `snippets.test.ts` itself, as the shell snippet that they are in, on a topic prefix of their own. */
export const RUN_HERE: readonly string[] = [
  'export KAFKA_BROKERS=... SCHEMA_REGISTRY_URL=... API_BASE_URL=... API_TOKEN_ID=local API_CLIENT_SECRET=local',
  'npm run cli -- topics create',
  'npm run cli -- schemas register',
  'npm start &',
  `npm run cli -- publish transfer-in --key my-1 --await --value '{"source":{"accountId":"ExternalAccount:1"},"destination":{"accountId":"InternalAccount:1"},"amount":2500}'`,
  'npm run cli -- status',
  'npm run cli -- show my-1',
  'LANES=24 npm run cli -- topics create --replication-factor 3',
];

/** Messages for kcat, which a bare machine does not have: `snippets.test.ts` publishes the same bytes and headers. */
export const PUBLISHED_HERE: readonly string[] = [
  `echo 'invoice-2043:{"source":{"accountId":"ExternalAccount:1"},"destination":{"accountId":"InternalAccount:1"},"amount":9007199254740993}' | kcat -P -b $KAFKA_BROKERS -t payments.commands.transfer-in.v1 -K: -H content-type=application/json -X partitioner=murmur2_random`,
  `echo 'late1:{"decision":"RETRY","expectedRevision":1,"operator":"dana","reason":"ticket 4711"}' | kcat -P -b $KAFKA_BROKERS -t payments.operator.decisions.v1 -K: -H content-type=application/json -X partitioner=murmur2_random`,
];

/** Of a page that is made from the table of rights: `test/access/rights.test.ts` tries each of them at a real broker. */
export const MADE_FROM_TABLE =
  /^kafka-acls\.sh --add --allow-principal User:[a-z-]+ --operation [A-Z][A-Za-z]+ --(topic|group|transactional-id) payments[\w.-]*( --resource-pattern-type prefixed)?$/;

/** Run by other tests: the file, and a text in it that shows that it does. */
export const RUN_BY: Readonly<Record<string, { file: string; shows: string }>> = {
  'npm ci && npm run demo': { file: 'test/demo/demo.test.ts', shows: 'dev/demo/main.ts' },
  'npm run local': { file: 'test/engine/local.test.ts', shows: 'dev/engine/local.ts' },
  'npm run sandbox -- --port 8790': { file: 'test/sandbox/command-line.test.ts', shows: "'--port'" },
  'npm run sbom': { file: 'test/operations/image.test.ts', shows: 'bill-of-materials.cdx.json' },
  'npm run client:pack': { file: 'test/client/installed-client.ts', shows: 'dev/client-package/pack.ts' },
  'npm --prefix ../.. run client:pack': {
    file: 'test/client/installed-client.ts',
    shows: 'dev/client-package/pack.ts',
  },
  'npm install ./payment-processor-client-0.1.0.tgz': { file: 'test/client/installed-client.ts', shows: "'install'" },
  'npm install': { file: 'test/client/installed-client.ts', shows: "'install'" },
  'node publish.ts invoice-2041 125000': { file: 'test/examples/toolchains.ts', shows: "program('publish')" },
  'node subscribe.ts handled.jsonl': { file: 'test/examples/toolchains.ts', shows: "program('subscribe')" },
  'python3 -m venv .venv': { file: 'test/examples/toolchains.ts', shows: "'venv', '--clear'" },
  '.venv/bin/pip install -r requirements.txt': {
    file: 'test/examples/toolchains.ts',
    shows: "'-r', 'requirements.txt'",
  },
  '.venv/bin/python publish.py invoice-2041 125000': { file: 'test/examples/toolchains.ts', shows: '`${name}.py`' },
  '.venv/bin/python subscribe.py handled.sqlite': { file: 'test/examples/toolchains.ts', shows: '`${name}.py`' },
  '.venv/bin/python follow.py invoice-2041': { file: 'test/examples/toolchains.ts', shows: '`${name}.py`' },
  'mvn process-classes': { file: 'test/examples/toolchains.ts', shows: "'process-classes'" },
  "java -cp 'target/classes:target/lib/*' example.Publish invoice-2041 125000": {
    file: 'test/examples/toolchains.ts',
    shows: "program('Publish')",
  },
  "java -cp 'target/classes:target/lib/*' example.Subscribe handled.tsv": {
    file: 'test/examples/toolchains.ts',
    shows: "program('Subscribe')",
  },
  'go run ./publish invoice-2041 125000': { file: 'test/examples/toolchains.ts', shows: "'build', '-buildvcs=false'" },
  'go run ./subscribe handled.tsv': { file: 'test/examples/toolchains.ts', shows: "'build', '-buildvcs=false'" },
  'npm run generate': { file: '.ci/run', shows: 'npm run --silent check' },
  'npm run check': { file: '.ci/run', shows: 'npm run --silent check' },
  'npm run test:operations': { file: '.ci/run', shows: 'npm run --silent test:operations' },
  'npm run simulate': { file: '.ci/run', shows: 'npm run --silent simulate' },
};

/** Why a command is run by no test. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  'npm run verify': 'it runs the tests, this one among them; CI runs its two parts',
  'npm test -- test/promises': 'it runs the tests, this one among them',
  'npm test': 'it runs the tests, this one among them',
  'npm run test:changed': 'it runs tests, and would run this one again',
  'npm run test:examples': 'test/examples, which npm test runs as well',
  'npm run proofs': 'takes hours; each night runs it',
  'npm run matrix': 'takes hours; each night runs it',
  'npm run test:cluster': "builds Kubernetes' servers, which takes minutes and gigabytes",
  'npm run complete-lock': 'it asks the registry of packages; npm run check has its --check',
  'npm run chaos': 'takes minutes and both cores',
  'node proofs/chaos/kill-run.ts': 'takes minutes and both cores',
  'node proofs/chaos/status-run.ts': 'takes minutes and both cores',
  'node proofs/chaos/status-delay.ts': 'takes minutes and both cores',
  'node proofs/chaos/outages.ts': 'takes minutes and both cores',
  'npm run soak': 'takes an hour; proofs/soak/soak.test.ts tries its judgement',
  'npm run fuzz': 'takes minutes; test/promises/i6-fuzz.test.ts runs a short one',
  'node proofs/fuzz/intake.ts': 'takes minutes',
  'npm run gameday': 'wants a Prometheus from apt-get, and takes minutes',
  'node proofs/gameday/lag-parts.ts': 'takes minutes',
  'npm run bench': 'measures, which a shared machine spoils',
  'node --expose-gc proofs/bench/ledger-store.ts': 'measures, which a shared machine spoils',
  'node proofs/bench/poller.ts': 'measures, which a shared machine spoils',
  'node proofs/bench/outage-log.ts': 'measures, which a shared machine spoils',
  'node proofs/bench/restarts.ts': 'measures, which a shared machine spoils',
  'node proofs/bench/take-over.ts': 'measures, which a shared machine spoils',
  'node proofs/bench/backlog.ts': 'takes minutes and both cores',
  'node proofs/bench/burst.ts': 'measures, which a shared machine spoils',
  'node proofs/bench/follower.ts': 'measures, which a shared machine spoils',
  'node proofs/bench/fairness.ts': 'measures, which a shared machine spoils',
  "kcat -C -b $KAFKA_BROKERS -t payments.results.json.v1 -X isolation.level=read_committed -f '%k %s\\n'":
    'wants kcat; test/cli/mirror.test.ts reads the same topic',
  'helm install payments helm --namespace payments --values my-values.yaml':
    'wants a cluster; npm run test:cluster installs it on an API server, npm run test:operations renders and checks it',
};
