/**
 * Writes helm/files/rights.json, from which the chart makes its KafkaUsers, from the table of rights: per role, what Strimzi
 * expects, with `@prefix@` and `@group@` for the chart to fill in. With `--check` only compares.
 */
import { ROLE_NAMES, rightsOf, type Right, type Role } from 'payment-processor-contract/rights';
import { writeOrCheck } from './generated-file.ts';

const NAMES = { TOPIC_PREFIX: '@prefix@', KAFKA_GROUP_ID: '@group@' };

function aclsOf(role: Role): object[] {
  const withSandbox = rightsOf(role, { ...NAMES, SANDBOX_COMMANDS: true });
  const usual = new Set(rightsOf(role, { ...NAMES, SANDBOX_COMMANDS: false }).map(nameOf));
  return [...Map.groupBy(withSandbox, nameOf)].map(([name, rights]) => ({
    resource: rights[0] === undefined ? null : resourceOf(rights[0]),
    operations: rights.map(({ operation }) => operation),
    onlyWithSandboxCommands: !usual.has(name),
  }));
}

function nameOf({ name, pattern, resource }: Right): string {
  return `${resource} ${pattern} ${name}`;
}

function resourceOf({ name, pattern, resource }: Right): object {
  const type = resource === 'transactional-id' ? 'transactionalId' : resource;
  return { type, name, patternType: pattern === 'literal' ? 'literal' : 'prefix' };
}

const byRole = Object.fromEntries(ROLE_NAMES.map((role) => [role, aclsOf(role)]));
writeOrCheck('helm/files/rights.json', 'packages/contract/src/rights.ts', `${JSON.stringify(byRole, null, 2)}\n`);
