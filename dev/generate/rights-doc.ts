/**
 * Writes docs/rights.md from the table of rights; with `--check` only compares, and exits 1 when the file is stale.
 */
import { grantCommand, ROLE_NAMES, ROLES, rightsOf, type Right, type Role } from '../../src/records/rights.ts';
import { writeOrCheck } from './generated-file.ts';

/** As the names of the documentation. */
const SETTINGS = { TOPIC_PREFIX: 'payments', KAFKA_GROUP_ID: 'payments-commands', SANDBOX_COMMANDS: false };

const header = `# Rights at Kafka

Generated from src/records/rights.ts by \`npm run generate\`; edit the table there, not this file.

The least that each role needs, where the brokers have access control lists, with \`TOPIC_PREFIX=${SETTINGS.TOPIC_PREFIX}\` and
\`KAFKA_GROUP_ID=${SETTINGS.KAFKA_GROUP_ID}\`. Whoever has two roles needs the rights of both. Names that end in \`*\` are prefixes. Read and
Write imply Describe. With \`SANDBOX_COMMANDS=true\` the topic \`${SETTINGS.TOPIC_PREFIX}.commands.simulate-uma-receive.v1\` is added to the
commands. Nobody needs rights on the cluster.

\`npm run cli -- doctor --rights --role ROLE\` asks the brokers for each of them, with the credentials in its environment, and
prints the command that grants what is missing. Each right is one that the role's work asks the brokers for (tested). The processor asks for its own at the start: what is missing then ends
it with exit code 78.

Grant Read on the processor's groups to the processors alone: whoever joins \`KAFKA_GROUP_ID\` may become its leader, and decides who
reads what, and names the address at which the other members ask for its figures. At the schema registry the processor, publishers of Avro and subscribers need reads and look-ups by
\`POST /subjects/<subject>\`; \`schemas register\` needs to register, and to set the compatibility of subjects.

`;

function section(role: Role): string {
  const rights = rightsOf(role, SETTINGS);
  const rows = [...Map.groupBy(rights, nameOf)].map(
    ([name, ofName]) => `- ${name}: ${ofName.map(({ operation }) => operation).join(', ')}`,
  );
  const commands = rights.map((right) => grantCommand(right, `User:${role}`));
  return [
    `## ${role}`,
    '',
    `${ROLES[role].charAt(0).toUpperCase()}${ROLES[role].slice(1)}.`,
    '',
    ...rows,
    '',
    '```sh',
    ...commands,
    '```',
    '',
  ].join('\n');
}

function nameOf({ name, pattern, resource }: Right): string {
  return `${resource.replace('-', ' ')} \`${name}${pattern === 'prefixed' ? '*' : ''}\``;
}

writeOrCheck('docs/rights.md', 'src/records/rights.ts', header + ROLE_NAMES.map(section).join('\n'));
