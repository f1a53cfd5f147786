/** The only file that knows the paths and methods of the interface's operations. */
import type { CommandType } from 'payment-processor-contract/commands';
import { decoded } from './query.ts';

export const VERSION_SEGMENT = '2025-10-13';

export type Operation = CommandType | 'list-transactions';

interface Endpoint {
  operation: Operation;
  method: 'GET' | 'POST';
  /** Path below the version segment; `*` stands for an id. */
  segments: readonly string[];
}

const ENDPOINTS: readonly Endpoint[] = [
  { operation: 'list-transactions', method: 'GET', segments: ['transactions'] },
  { operation: 'create-quote', method: 'POST', segments: ['quotes'] },
  { operation: 'execute-quote', method: 'POST', segments: ['quotes', '*', 'execute'] },
  { operation: 'transfer-in', method: 'POST', segments: ['transfer-in'] },
  { operation: 'reject-transaction', method: 'POST', segments: ['transactions', '*', 'reject'] },
  { operation: 'simulate-uma-receive', method: 'POST', segments: ['sandbox', 'uma', 'receive'] },
];

export const OPERATIONS: readonly Operation[] = ENDPOINTS.map((endpoint) => endpoint.operation);

export type Route =
  | { kind: 'operation'; operation: Operation; pathId: string }
  | { kind: 'unknown-path' }
  | { kind: 'wrong-method'; allow: string }
  | { kind: 'bad-encoding' };

/** Finds the operation of a path such as `/2025-10-13/quotes/Quote%3A1/execute`; the id comes decoded. */
export function routeOf(method: string, path: string): Route {
  const [root, version, ...segments] = path.split('/');
  if (root !== '' || version !== VERSION_SEGMENT) return { kind: 'unknown-path' };
  const endpoint = ENDPOINTS.find(({ segments: pattern }) => matches(pattern, segments));
  if (endpoint === undefined) return { kind: 'unknown-path' };
  if (endpoint.method !== method) return { kind: 'wrong-method', allow: endpoint.method };
  const pathId = decoded(segments[endpoint.segments.indexOf('*')] ?? '');
  return pathId === null ? { kind: 'bad-encoding' } : { kind: 'operation', operation: endpoint.operation, pathId };
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => (part === '*' ? segments[index] !== '' : part === segments[index]))
  );
}
