/** Which rights a broker was asked for: its log of what the authorizer allowed, by principal. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Right } from 'payment-processor-contract/rights';

/** As the authorizer writes it: `Principal = User:alice is Allowed operation = READ from host = ... on resource = Topic:LITERAL:name for request = Fetch ...`. */
const ALLOWED =
  /Principal = (\S+) is Allowed operation = (\w+) from host = \S+ on resource = (\w+):LITERAL:(\S+) for request/;
const OPERATIONS: Readonly<Record<string, Right['operation']>> = {
  READ: 'Read',
  WRITE: 'Write',
  CREATE: 'Create',
  DESCRIBE: 'Describe',
  DESCRIBE_CONFIGS: 'DescribeConfigs',
};
const RESOURCES: Readonly<Record<string, Right['resource']>> = {
  Topic: 'topic',
  Group: 'group',
  TransactionalId: 'transactional-id',
};
/** Names that the check of rights itself tries below a prefix. */
const TRIED = /rights-check$/;

type Asked = Pick<Right, 'name' | 'operation' | 'resource'>;

export class AskedRights {
  readonly #logFile: string;
  /** In bytes. */
  #from = 0;

  constructor(logFile: string) {
    this.#logFile = logFile;
  }

  /** Earlier requests no longer count. */
  async forget(): Promise<void> {
    this.#from = (await stat(this.#logFile)).size;
  }

  /** Those of the rights that nobody of that name asked for since: without them nothing would have failed. */
  async needless(rights: readonly Right[], principal: string): Promise<Right[]> {
    const asked = (await this.#read()).split('\n').flatMap((line) => askedBy(line, principal));
    return rights.filter((right) => !asked.some((one) => covers(right, one)));
  }

  #read(): Promise<string> {
    return text(createReadStream(this.#logFile, { start: this.#from }));
  }
}

function askedBy(line: string, principal: string): Asked[] {
  const [, who, what, of, name = ''] = ALLOWED.exec(line) ?? [];
  const operation = OPERATIONS[what ?? ''];
  const resource = RESOURCES[of ?? ''];
  if (who !== principal || operation === undefined || resource === undefined || TRIED.test(name)) return [];
  return [{ name, operation, resource }];
}

function covers({ name, operation, pattern, resource }: Right, asked: Asked): boolean {
  if (asked.operation !== operation || asked.resource !== resource) return false;
  return pattern === 'literal' ? asked.name === name : asked.name.startsWith(name);
}
