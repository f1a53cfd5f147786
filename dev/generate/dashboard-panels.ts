/** The dashboard's panels, row by row. Metrics are named by their key in the table, so that none can be invented. */
import { METRICS, type MetricName } from '../../src/ops/metrics-table.ts';

interface Query {
  readonly expression: string;
  readonly legend: string;
}

/** As Grafana calls it. */
type Unit = 'short' | 's' | 'percentunit' | 'ops';

export interface Panel {
  readonly kind: 'timeseries' | 'stat';
  readonly unit: Unit;
  readonly description: string;
  readonly queries: readonly Query[];
  /** From where it is red; omitted: no colour. */
  readonly redFrom?: number;
}

const panel = (unit: Unit, description: string, queries: readonly Query[]): Panel => ({
  kind: 'timeseries',
  unit,
  description,
  queries,
});
const redFrom = (limit: number, unit: Unit, description: string, queries: readonly Query[]): Panel => ({
  ...panel(unit, description, queries),
  redFrom: limit,
});
const stat = (of: Panel): Panel => ({ ...of, kind: 'stat' });

/** The variables of the dashboard narrow every selector down to one deployment. */
const DEPLOYMENT = 'namespace="$namespace",job="$job"';

function select(name: MetricName, matchers = '', suffix = ''): string {
  return `${METRICS[name].name}${suffix}{${DEPLOYMENT}${matchers === '' ? '' : `,${matchers}`}}`;
}

/** prom-client's own metrics are not in the table; these are documented by it. */
function ofProcess(
  name:
    | 'process_cpu_seconds_total'
    | 'nodejs_eventloop_lag_p99_seconds'
    | 'nodejs_heap_size_total_bytes'
    | 'nodejs_external_memory_bytes',
): string {
  return `${name}{${DEPLOYMENT}}`;
}

const sumOf = (labels: string, expression: string): string => `sum by (${labels}) (${expression})`;
const maxOf = (labels: string, expression: string): string => `max by (${labels}) (${expression})`;
const rateOf = (expression: string): string => `rate(${expression}[$__rate_interval])`;

const query = (expression: string, legend: string): Query => ({ expression, legend });
const sum = (label: string, name: MetricName): Query => query(sumOf(label, select(name)), `{{${label}}}`);
const max = (label: string, name: MetricName): Query => query(maxOf(label, select(name)), `{{${label}}}`);
const rate = (label: string, name: MetricName, legend = `{{${label}}}`): Query =>
  query(sumOf(label, rateOf(select(name))), legend);
const total = (name: MetricName, legend: string): Query => query(`sum(${select(name)})`, legend);
const totalRate = (name: MetricName, legend: string): Query => query(`sum(${rateOf(select(name))})`, legend);
const largest = (name: MetricName, legend: string): Query => query(`max(${select(name)})`, legend);

function quantile(share: number, name: MetricName, label: string): Query {
  return {
    expression: `histogram_quantile(${share}, ${sumOf(`le, ${label}`, rateOf(select(name, '', '_bucket')))})`,
    legend: `{{${label}}} p${share * 100}`,
  };
}

const shareAnswered = (range: string): string =>
  `sum(increase(${select('commandDurationSeconds', 'le=~"30(\\\\.0)?"', '_bucket')}[${range}])) / ` +
  `sum(increase(${select('commandDurationSeconds', '', '_count')}[${range}]))`;

/** Rows and the panels in them, by title. */
export const ROWS: Readonly<Record<string, Readonly<Record<string, Panel>>>> = {
  'Objective: 99 % answered within 30 s': {
    'Answered within 30 s': stat(
      panel('percentunit', 'Share of the commands that got their result in the chosen range, publishing to result.', [
        query(shareAnswered('$__range'), 'share'),
      ]),
    ),
    'Error budget left': stat(
      panel('percentunit', 'Of the 1 % that may be answered later than 30 s, over 30 days; below 0 it is spent.', [
        query(`1 - (1 - ${shareAnswered('30d')}) / 0.01`, 'left'),
      ]),
    ),
    'Oldest unanswered command': redFrom(
      60,
      's',
      'Wherever it is: in Kafka or in the ledger. Above 60 s somebody is paged, unless an operator holds it.',
      [max('command', 'oldestUnansweredSeconds')],
    ),
    'Publishing to result': redFrom(30, 's', 'Median and 99th percentile.', [
      quantile(0.5, 'commandDurationSeconds', 'command'),
      quantile(0.99, 'commandDurationSeconds', 'command'),
    ]),
    Results: panel('ops', 'By outcome.', [rate('outcome', 'results')]),
  },
  'Where commands wait': {
    'Not admitted, by cause': panel('short', 'In Kafka. The causes add up to the lag.', [
      sum('cause', 'notAdmittedMessages'),
    ]),
    'Oldest not admitted': panel('s', 'Age of the oldest message of each command topic.', [
      max('command', 'lagOldestSeconds'),
    ]),
    'Behind open transactions of publishers': panel(
      'short',
      'No reader gets them, and they are in no lag. For seconds that is usual.',
      [sum('command', 'heldBackMessages')],
    ),
    'Age of open transactions of publishers': redFrom(60, 's', 'The oldest in front of commands.', [
      max('command', 'heldBackSeconds'),
    ]),
    'Admitted, without a result': panel('short', 'In the ledger, by state.', [sum('state', 'unfinishedEntries')]),
    'Oldest admitted, by state': panel('s', 'DOUBTFUL for minutes means that doubt cannot be settled.', [
      max('state', 'unfinishedOldestSeconds'),
    ]),
  },
  'Payment service': {
    'Calls, by how the answer was read': panel('ops', 'Doubt is settled later; never-sent is tried again.', [
      query(
        sumOf('operation, outcome', rateOf(select('apiCallDurationSeconds', '', '_count'))),
        '{{operation}} {{outcome}}',
      ),
    ]),
    'Duration of calls': panel('s', '99th percentile.', [quantile(0.99, 'apiCallDurationSeconds', 'operation')]),
    'HTTP status': panel('ops', 'None: no complete answer came.', [rate('status', 'apiResponses')]),
    'Breakers not closed, service held': redFrom(
      1,
      'short',
      'Processes in which a breaker is not closed, and in which no call is made at all.',
      [
        query(sumOf('operation', select('breakerStage', 'stage!="closed"')), '{{operation}}'),
        total('serviceHeld', 'held'),
      ],
    ),
  },
  'Needs an operator': {
    'UNKNOWN, not resolved': redFrom(1, 'short', 'By command. An operator must look at each.', [
      sum('command', 'unknownResults'),
    ]),
    'Held by operators': redFrom(
      3_600,
      's',
      'Since when calls of these types may not begin. `cli holds` says who and why.',
      [query(maxOf('command, ends', select('operatorHoldSeconds')), '{{command}}, ends {{ends}}')],
    ),
    'Oldest UNKNOWN': panel('s', 'How long the oldest of them has waited.', [max('command', 'unknownOldestSeconds')]),
    'UNKNOWN and FAILED': stat(
      redFrom(1, 'short', 'Given in the chosen range, resolved since or not.', [
        query(sumOf('outcome', `increase(${select('results', 'outcome=~"UNKNOWN|FAILED"')}[$__range])`), '{{outcome}}'),
      ]),
    ),
    'Open dead letters': redFrom(1, 'short', 'By reason: nobody redrove or acknowledged them.', [
      max('reason', 'openDeadLetters'),
    ]),
    'Own failures': panel('ops', 'Each is a bug.', [rate('where', 'ownFailures')]),
    'Decisions, copies, moved commands, quotes that ran out': panel(
      'ops',
      'Decisions by operators; copies that were answered again; commands on the wrong partition; quotes not executed in time.',
      [
        rate('carried_out', 'decisions', 'decision carried out: {{carried_out}}'),
        totalRate('replays', 'copies'),
        totalRate('moved', 'moved'),
        rate('cause', 'quotesRunOut', 'quote ran out: {{cause}}'),
      ],
    ),
  },
  'Lanes and status': {
    'Lanes by stage': panel('short', 'Open ones should be as many as configured.', [
      sum('stage', 'lanes'),
      largest('lanesConfigured', 'configured'),
    ]),
    'Processes ready, confirmed by the group': panel(
      'short',
      'As /health/ready says; heartbeats that Kafka answered.',
      [
        total('ready', 'ready'),
        total('groupConfirmed', 'confirmed'),
        total('kafkaRefused', 'refused by Kafka'),
        total('registryFailing', 'without the registry'),
      ],
    ),
    'Lanes lost, by reason': panel(
      'ops',
      'And attempts to acquire one that failed. Some with each process that is lost.',
      [rate('reason', 'lanesLost')],
    ),
    Redelivered: panel('ops', 'Messages that lanes have had; passed over.', [totalRate('redelivered', 'messages')]),
    'Time without a commit': redFrom(60, 's', 'Of lanes that have something to commit.', [
      query(maxOf('lane', select('laneUncommittedSeconds')), 'lane {{lane}}'),
    ]),
    'Status changes': panel('ops', 'Published, by what changed; observations that wait.', [
      rate('kind', 'statusChanges'),
    ]),
    'Observations that wait': redFrom(1_000, 'short', 'Not yet made into status changes.', [
      total('observationsLagMessages', 'observations'),
    ]),
    'Status poller': panel(
      'ops',
      'Pages asked for, by how the answer was read; time that pages waited for POLL_MAX_CALLS_PER_MINUTE.',
      [rate('outcome', 'pollCalls'), totalRate('pollBudgetWaitSeconds', 'waits for the budget, s per s')],
    ),
  },
  'Saturation, as a share of the maximum': {
    'Call slots': redFrom(
      0.9,
      'percentunit',
      'Calls under way; at 1 commands wait for a slot: API_MAX_CONCURRENCY, or more processes.',
      [
        query(
          `${sumOf('instance', select('callsUnderWay'))} / ${maxOf('instance', select('callSlots'))}`,
          '{{instance}}',
        ),
      ],
    ),
    'Entries of the fullest lane': redFrom(
      0.45,
      'percentunit',
      'At 0.5 a lane may admit no more of a type whose commands wait, at 1 nothing: see why they are PARKED or DOUBTFUL.',
      [
        query(
          `max(${select('laneUnfinishedEntries')}) / max(${select('laneUnfinishedLimitEntries')})`,
          'of MAX_UNFINISHED_PER_LANE',
        ),
      ],
    ),
    Memory: redFrom(
      0.6,
      'percentunit',
      'Heap and external memory, without the mapped local store. At 0.7 the heap is full.',
      [
        query(
          `(${ofProcess('nodejs_heap_size_total_bytes')} + ${ofProcess('nodejs_external_memory_bytes')}) / ${select('memoryLimitBytes')}`,
          '{{instance}}',
        ),
      ],
    ),
    'Disk under STATE_DIR': redFrom(0.75, 'percentunit', 'Used, and by the local store; at 1 the process ends.', [
      query(
        `${sumOf('instance', select('stateDiskBytes', 'part="used"'))} / ${sumOf('instance', select('stateDiskBytes'))}`,
        '{{instance}}',
      ),
      query(
        `${maxOf('instance', select('storeBytes'))} / ${sumOf('instance', select('stateDiskBytes'))}`,
        '{{instance}}: local store',
      ),
    ]),
  },
  Processes: {
    CPU: panel('short', 'Cores per process.', [
      query(sumOf('instance', rateOf(ofProcess('process_cpu_seconds_total'))), '{{instance}}'),
    ]),
    'Delay of the event loop': redFrom(0.5, 's', '99th percentile. Heartbeats share it.', [
      query(maxOf('instance', ofProcess('nodejs_eventloop_lag_p99_seconds')), '{{instance}}'),
    ]),
    'Keys remembered': panel('short', 'In the index of the ledger, of the process that has most.', [
      largest('keysRemembered', 'keys'),
    ]),
    'Behind the ledger': redFrom(
      10_000,
      'short',
      'Records that a process would read before it could take a lane over.',
      [max('instance', 'ledgerBehindRecords')],
    ),
    'Age of the ends of partitions': redFrom(60, 's', 'Grows while Kafka does not answer.', [
      max('instance', 'lagEndsAgeSeconds'),
    ]),
  },
};
