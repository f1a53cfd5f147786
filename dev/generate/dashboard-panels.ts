/** What the dashboard shows, row by row. Metrics are named by their key in the table, so that none can be made up. */
import { METRICS, type MetricName } from '../../src/ops/metrics-table.ts';

export interface Query {
  readonly expression: string;
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  readonly description: string;
  readonly kind: 'timeseries' | 'stat';
  /** As Grafana calls it. */
  readonly unit: 'short' | 's' | 'percentunit' | 'ops';
  readonly queries: readonly Query[];
  /** Where it becomes red; none: no colour. */
  readonly redFrom?: number;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

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

function quantile(share: number, name: MetricName, label: string): Query {
  return {
    expression: `histogram_quantile(${share}, ${sumOf(`le, ${label}`, rateOf(select(name, '', '_bucket')))})`,
    legend: `{{${label}}} p${share * 100}`,
  };
}

export const ROWS: readonly Row[] = [
  {
    title: 'Objective: 99 % answered within 30 s',
    panels: [
      {
        title: 'Answered within 30 s',
        description: 'Share of the commands that got their result in the chosen range, publishing to result.',
        kind: 'stat',
        unit: 'percentunit',
        queries: [
          {
            expression:
              `sum(increase(${select('commandDurationSeconds', 'le=~"30(\\\\.0)?"', '_bucket')}[$__range])) / ` +
              `sum(increase(${select('commandDurationSeconds', '', '_count')}[$__range]))`,
            legend: 'share',
          },
        ],
      },
      {
        title: 'Error budget left',
        description: 'Of the 1 % that may be answered later than 30 s, over 30 days; below 0 it is spent.',
        kind: 'stat',
        unit: 'percentunit',
        queries: [
          {
            expression:
              `1 - (1 - sum(increase(${select('commandDurationSeconds', 'le=~"30(\\\\.0)?"', '_bucket')}[30d])) / ` +
              `sum(increase(${select('commandDurationSeconds', '', '_count')}[30d]))) / 0.01`,
            legend: 'left',
          },
        ],
      },
      {
        title: 'Oldest unanswered command',
        description: 'Wherever it is: in Kafka or in the ledger. Above 60 s somebody is paged.',
        kind: 'timeseries',
        unit: 's',
        redFrom: 60,
        queries: [{ expression: maxOf('command', select('oldestUnansweredSeconds')), legend: '{{command}}' }],
      },
      {
        title: 'Publishing to result',
        description: 'Median and 99th percentile.',
        kind: 'timeseries',
        unit: 's',
        redFrom: 30,
        queries: [
          quantile(0.5, 'commandDurationSeconds', 'command'),
          quantile(0.99, 'commandDurationSeconds', 'command'),
        ],
      },
      {
        title: 'Results',
        description: 'By outcome.',
        kind: 'timeseries',
        unit: 'ops',
        queries: [{ expression: sumOf('outcome', rateOf(select('results'))), legend: '{{outcome}}' }],
      },
    ],
  },
  {
    title: 'Where commands wait',
    panels: [
      {
        title: 'Not admitted, by cause',
        description: 'In Kafka. The causes add up to the lag.',
        kind: 'timeseries',
        unit: 'short',
        queries: [{ expression: sumOf('cause', select('notAdmittedMessages')), legend: '{{cause}}' }],
      },
      {
        title: 'Oldest not admitted',
        description: 'Age of the oldest message of each command topic.',
        kind: 'timeseries',
        unit: 's',
        queries: [{ expression: maxOf('command', select('lagOldestSeconds')), legend: '{{command}}' }],
      },
      {
        title: 'Behind open transactions of publishers',
        description: 'No reader gets them, and they are in no lag. For seconds that is usual.',
        kind: 'timeseries',
        unit: 'short',
        queries: [{ expression: sumOf('command', select('heldBackMessages')), legend: '{{command}}' }],
      },
      {
        title: 'Age of open transactions of publishers',
        description: 'The oldest in front of commands.',
        kind: 'timeseries',
        unit: 's',
        redFrom: 60,
        queries: [{ expression: maxOf('command', select('heldBackSeconds')), legend: '{{command}}' }],
      },
      {
        title: 'Admitted, without a result',
        description: 'In the ledger, by state.',
        kind: 'timeseries',
        unit: 'short',
        queries: [{ expression: sumOf('state', select('unfinishedEntries')), legend: '{{state}}' }],
      },
      {
        title: 'Oldest admitted, by state',
        description: 'DOUBTFUL for minutes means that doubt cannot be settled.',
        kind: 'timeseries',
        unit: 's',
        queries: [{ expression: maxOf('state', select('unfinishedOldestSeconds')), legend: '{{state}}' }],
      },
    ],
  },
  {
    title: 'Payment service',
    panels: [
      {
        title: 'Calls, by how the answer was read',
        description: 'Doubt is settled later; never-sent is tried again.',
        kind: 'timeseries',
        unit: 'ops',
        queries: [
          {
            expression: sumOf('operation, outcome', rateOf(select('apiCallDurationSeconds', '', '_count'))),
            legend: '{{operation}} {{outcome}}',
          },
        ],
      },
      {
        title: 'Duration of calls',
        description: '99th percentile.',
        kind: 'timeseries',
        unit: 's',
        queries: [quantile(0.99, 'apiCallDurationSeconds', 'operation')],
      },
      {
        title: 'HTTP status',
        description: 'None: no whole answer came.',
        kind: 'timeseries',
        unit: 'ops',
        queries: [{ expression: sumOf('status', rateOf(select('apiResponses'))), legend: '{{status}}' }],
      },
      {
        title: 'Breakers not closed, service held',
        description: 'Processes in which a breaker is not closed, and in which no call is made at all.',
        kind: 'timeseries',
        unit: 'short',
        redFrom: 1,
        queries: [
          { expression: sumOf('operation', select('breakerStage', 'stage!="closed"')), legend: '{{operation}}' },
          { expression: `sum(${select('serviceHeld')})`, legend: 'held' },
        ],
      },
    ],
  },
  {
    title: 'Needs an operator',
    panels: [
      {
        title: 'UNKNOWN, not resolved',
        description: 'By command. An operator must look at each.',
        kind: 'timeseries',
        unit: 'short',
        redFrom: 1,
        queries: [{ expression: sumOf('command', select('unknownResults')), legend: '{{command}}' }],
      },
      {
        title: 'Oldest UNKNOWN',
        description: 'How long the oldest of them has waited.',
        kind: 'timeseries',
        unit: 's',
        queries: [{ expression: maxOf('command', select('unknownOldestSeconds')), legend: '{{command}}' }],
      },
      {
        title: 'UNKNOWN and FAILED',
        description: 'Given in the chosen range, resolved since or not.',
        kind: 'stat',
        unit: 'short',
        redFrom: 1,
        queries: [
          {
            expression: sumOf('outcome', `increase(${select('results', 'outcome=~"UNKNOWN|FAILED"')}[$__range])`),
            legend: '{{outcome}}',
          },
        ],
      },
      {
        title: 'Open dead letters',
        description: 'By reason: nobody redrove or acknowledged them.',
        kind: 'timeseries',
        unit: 'short',
        redFrom: 1,
        queries: [{ expression: maxOf('reason', select('openDeadLetters')), legend: '{{reason}}' }],
      },
      {
        title: 'Own failures',
        description: 'Each is a bug.',
        kind: 'timeseries',
        unit: 'ops',
        queries: [{ expression: sumOf('where', rateOf(select('ownFailures'))), legend: '{{where}}' }],
      },
      {
        title: 'Decisions, copies, moved commands, quotes that ran out',
        description:
          'Decisions by operators; copies that were answered again; commands on the wrong partition; quotes not executed in time.',
        kind: 'timeseries',
        unit: 'ops',
        queries: [
          {
            expression: sumOf('carried_out', rateOf(select('decisions'))),
            legend: 'decision carried out: {{carried_out}}',
          },
          { expression: `sum(${rateOf(select('replays'))})`, legend: 'copies' },
          { expression: `sum(${rateOf(select('moved'))})`, legend: 'moved' },
          { expression: sumOf('cause', rateOf(select('quotesRunOut'))), legend: 'quote ran out: {{cause}}' },
        ],
      },
    ],
  },
  {
    title: 'Lanes and status',
    panels: [
      {
        title: 'Lanes by stage',
        description: 'Open ones should be as many as configured.',
        kind: 'timeseries',
        unit: 'short',
        queries: [
          { expression: sumOf('stage', select('lanes')), legend: '{{stage}}' },
          { expression: `max(${select('lanesConfigured')})`, legend: 'configured' },
        ],
      },
      {
        title: 'Processes ready, confirmed by the group',
        description: 'As /health/ready says; heartbeats that Kafka answered.',
        kind: 'timeseries',
        unit: 'short',
        queries: [
          { expression: `sum(${select('ready')})`, legend: 'ready' },
          { expression: `sum(${select('groupConfirmed')})`, legend: 'confirmed' },
          { expression: `sum(${select('kafkaRefused')})`, legend: 'refused by Kafka' },
          { expression: `sum(${select('registryFailing')})`, legend: 'without the registry' },
        ],
      },
      {
        title: 'Lanes lost, by reason',
        description: 'And attempts to acquire one that failed. Some with each process that is lost.',
        kind: 'timeseries',
        unit: 'ops',
        queries: [{ expression: sumOf('reason', rateOf(select('lanesLost'))), legend: '{{reason}}' }],
      },
      {
        title: 'Redelivered',
        description: 'Messages that lanes have had; passed over.',
        kind: 'timeseries',
        unit: 'ops',
        queries: [{ expression: `sum(${rateOf(select('redelivered'))})`, legend: 'messages' }],
      },
      {
        title: 'Time without a commit',
        description: 'Of lanes that have something to commit.',
        kind: 'timeseries',
        unit: 's',
        redFrom: 60,
        queries: [{ expression: maxOf('lane', select('laneUncommittedSeconds')), legend: 'lane {{lane}}' }],
      },
      {
        title: 'Status changes',
        description: 'Published, by what changed; observations that wait.',
        kind: 'timeseries',
        unit: 'ops',
        queries: [{ expression: sumOf('kind', rateOf(select('statusChanges'))), legend: '{{kind}}' }],
      },
      {
        title: 'Observations that wait',
        description: 'Not yet made into status changes.',
        kind: 'timeseries',
        unit: 'short',
        redFrom: 1_000,
        queries: [{ expression: `sum(${select('observationsLagMessages')})`, legend: 'observations' }],
      },
      {
        title: 'Status poller',
        description:
          'Pages asked for, by how the answer was read; time that pages waited for POLL_MAX_CALLS_PER_MINUTE.',
        kind: 'timeseries',
        unit: 'ops',
        queries: [
          { expression: sumOf('outcome', rateOf(select('pollCalls'))), legend: '{{outcome}}' },
          { expression: `sum(${rateOf(select('pollBudgetWaitSeconds'))})`, legend: 'waits for the budget, s per s' },
        ],
      },
    ],
  },
  {
    title: 'Saturation, as a share of the maximum',
    panels: [
      {
        title: 'Call slots',
        description: 'Calls under way; at 1 commands wait for a slot: API_MAX_CONCURRENCY, or more processes.',
        kind: 'timeseries',
        unit: 'percentunit',
        redFrom: 0.9,
        queries: [
          {
            expression: `${sumOf('instance', select('callsUnderWay'))} / ${maxOf('instance', select('callSlots'))}`,
            legend: '{{instance}}',
          },
        ],
      },
      {
        title: 'Entries of the fullest lane',
        description: 'At 1 the lane admits nothing: see why its commands are PARKED or DOUBTFUL.',
        kind: 'timeseries',
        unit: 'percentunit',
        redFrom: 0.8,
        queries: [
          {
            expression: `max(${select('laneUnfinishedEntries')}) / max(${select('laneUnfinishedLimitEntries')})`,
            legend: 'of MAX_UNFINISHED_PER_LANE',
          },
        ],
      },
      {
        title: 'Memory',
        description: 'Heap and external memory, without the mapped local store. At 0.7 the heap is full.',
        kind: 'timeseries',
        unit: 'percentunit',
        redFrom: 0.6,
        queries: [
          {
            expression: `(${ofProcess('nodejs_heap_size_total_bytes')} + ${ofProcess('nodejs_external_memory_bytes')}) / ${select('memoryLimitBytes')}`,
            legend: '{{instance}}',
          },
        ],
      },
      {
        title: 'Disk under STATE_DIR',
        description: 'Used, and by the local store; at 1 the process ends.',
        kind: 'timeseries',
        unit: 'percentunit',
        redFrom: 0.75,
        queries: [
          {
            expression: `${sumOf('instance', select('stateDiskBytes', 'part="used"'))} / ${sumOf('instance', select('stateDiskBytes'))}`,
            legend: '{{instance}}',
          },
          {
            expression: `${maxOf('instance', select('storeBytes'))} / ${sumOf('instance', select('stateDiskBytes'))}`,
            legend: '{{instance}}: local store',
          },
        ],
      },
    ],
  },
  {
    title: 'Processes',
    panels: [
      {
        title: 'CPU',
        description: 'Cores per process.',
        kind: 'timeseries',
        unit: 'short',
        queries: [
          { expression: sumOf('instance', rateOf(ofProcess('process_cpu_seconds_total'))), legend: '{{instance}}' },
        ],
      },
      {
        title: 'Delay of the event loop',
        description: '99th percentile. Heartbeats share it.',
        kind: 'timeseries',
        unit: 's',
        redFrom: 0.5,
        queries: [
          { expression: maxOf('instance', ofProcess('nodejs_eventloop_lag_p99_seconds')), legend: '{{instance}}' },
        ],
      },
      {
        title: 'Keys remembered',
        description: 'In the index of the ledger, of the process that has most.',
        kind: 'timeseries',
        unit: 'short',
        queries: [{ expression: `max(${select('keysRemembered')})`, legend: 'keys' }],
      },
      {
        title: 'Behind the ledger',
        description: 'Records that a process would read before it could take a lane over.',
        kind: 'timeseries',
        unit: 'short',
        redFrom: 10_000,
        queries: [{ expression: maxOf('instance', select('ledgerBehindRecords')), legend: '{{instance}}' }],
      },
      {
        title: 'Age of the ends of partitions',
        description: 'Grows while Kafka does not answer.',
        kind: 'timeseries',
        unit: 's',
        redFrom: 60,
        queries: [{ expression: maxOf('instance', select('lagEndsAgeSeconds')), legend: '{{instance}}' }],
      },
    ],
  },
];
