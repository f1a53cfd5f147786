/** The coverage table: a row for everything on the list of the interface, with the tests that show it. */
import {
  by,
  ENDPOINT_TESTS,
  ENUMERATION_TESTS,
  FILTER_TESTS,
  FILTER_TESTS_OF_THE_SANDBOX,
  IMMEDIATE_TESTS,
  LIMIT_TESTS,
  RULE_TESTS,
  VALUES,
  WIRE,
  type Evidence,
} from './evidence.ts';
import {
  ANSWER_FIELDS,
  ENDPOINTS,
  ENUMERATIONS,
  FILTERS,
  LIMITS,
  PAGE_FIELDS,
  REQUEST_FIELDS,
  RULES,
} from './interface.ts';

export interface Row {
  section: string;
  /** What the interface says. */
  item: string;
  shownBy: readonly Evidence[];
}

function rowsOf<Item extends string>(
  section: string,
  items: readonly Item[],
  shownBy: (item: Item) => readonly Evidence[],
): Row[] {
  return items.map((item) => ({ section, item, shownBy: shownBy(item) }));
}

const keysOf = <Name extends string>(record: Record<Name, unknown>): Name[] => Object.keys(record) as Name[];

export const ROWS: readonly Row[] = [
  ...keysOf(ENDPOINTS).flatMap((operation) =>
    rowsOf('endpoint', [ENDPOINTS[operation]], () => ENDPOINT_TESTS[operation]),
  ),
  ...keysOf(REQUEST_FIELDS).flatMap((operation) =>
    rowsOf(`field of ${ENDPOINTS[operation]}`, REQUEST_FIELDS[operation], (field) =>
      field === 'immediatelyExecute' ? IMMEDIATE_TESTS : ENDPOINT_TESTS[operation],
    ),
  ),
  ...rowsOf('field of a quote', ANSWER_FIELDS.quote, () => [
    ...by(VALUES, 'the quote of a result has %s'),
    ...by(WIRE, 'every field of a quote is read'),
  ]),
  ...rowsOf('field of a transaction', ANSWER_FIELDS.transaction, () => [
    ...by(VALUES, 'the transaction of a result has %s'),
    ...by(WIRE, 'every field of a transaction is read'),
  ]),
  ...rowsOf('field of the list', PAGE_FIELDS, () =>
    by(VALUES, 'a page is read with data, hasMore, nextCursor and totalCount'),
  ),
  ...rowsOf('filter', FILTERS, (filter) => [...FILTER_TESTS, ...FILTER_TESTS_OF_THE_SANDBOX[filter]]),
  ...keysOf(ENUMERATIONS).flatMap((name) =>
    rowsOf(`value of ${name}`, ENUMERATIONS[name], () => ENUMERATION_TESTS[name]),
  ),
  ...rowsOf('limit', LIMITS, (limit) => LIMIT_TESTS[limit]),
  ...rowsOf('rule', RULES, (rule) => RULE_TESTS[rule]),
];
