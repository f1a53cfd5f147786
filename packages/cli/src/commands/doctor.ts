/** `doctor`: checks everything that the processor needs, and names a remedy for each problem. Changes nothing. */
import { Option } from 'commander';
import type { CliCommand } from '../cli-command.ts';
import { readConfig, SETTINGS } from 'payment-processor-contract/config';
import { ROLE_NAMES, type Role } from 'payment-processor-contract/rights';
import { ok, problem, type Finding, type CheckMessage } from '../doctor/findings.ts';
import { checkKafka, checkRights } from '../doctor/kafka-checks.ts';
import { CliFailure } from '../exit-codes.ts';

const STATUS_WIDTH = 'not checked'.length;
const CHECK_WIDTH = 'payment-service'.length;

export function addDoctorCommand(program: CliCommand): void {
  program
    .command('doctor')
    .description('check settings, Kafka, registry and payment service, the processors, and what waits for a person')
    .option('--rights', 'check only whether Kafka allows each right of a role')
    .addOption(
      new Option('--role <role>', 'with --rights: the role (docs/rights.md)').choices(ROLE_NAMES).default('processor'),
    )
    .details(
      `
It checks settings, Kafka, topics, registry, schemas, payment service, consumer group, lag, holds, UNKNOWN results, dead
letters, and the processor's endpoint. Each check reports ok, a problem with its remedy, or why it was not run.
Holds, UNKNOWN results and open dead letters are problems, because a person must decide on them.
It changes nothing and sends no command. It reads one page of transactions from the payment service. It takes a few
seconds, at most about a minute.
Run it with the processor's environment. With --rights, use the credentials of the role. Each right that Kafka does not
allow is a problem, with the command that grants it.
Exits with 6 if there is a problem, otherwise with 0.

Examples:
  $ npm run cli -- doctor
  $ HTTP_PORT=8080 npm run cli -- doctor
  $ npm run cli -- doctor --rights --role operator
  $ npm run --silent cli -- --output json doctor | jq -r 'select(.status == "problem") | .message'`,
    )
    .runs(async (output, options: { rights?: boolean; role: Role }) => {
      const findings = options.rights === true ? await checkRights(options.role) : await checkAll();
      for (const finding of findings) output.document(finding, textOf(finding));
      const problems = findings.filter(({ status }) => status === 'problem').length;
      if (problems > 0) throw new CliFailure('problemsFound', problems === 1 ? '1 problem' : `${problems} problems`);
    });
}

async function checkAll(): Promise<Finding[]> {
  // Loaded lazily: no other command needs these modules.
  const { checkPaymentService, checkProcessor, checkRegistry } = await import('../doctor/service-checks.ts');
  const parts = await Promise.all([checkKafka(), checkRegistry(), checkPaymentService(), checkProcessor()]);
  return [...checkSettings().map((said) => ({ check: 'settings' as const, ...said })), ...parts.flat()];
}

function checkSettings(): CheckMessage[] {
  const read = readConfig(process.env);
  if (!read.ok) return read.problems.map((text) => problem(`${text}: set it in the environment`));
  const { KAFKA_GROUP_ID, LANES, TOPIC_PREFIX } = read.config;
  const count = Object.keys(SETTINGS).length;
  const names = `TOPIC_PREFIX=${TOPIC_PREFIX}, KAFKA_GROUP_ID=${KAFKA_GROUP_ID}, LANES=${LANES}`;
  return [ok(`all ${count} can be read; ${names}`)];
}

function textOf({ check, status, message }: Finding): string {
  const word = status === 'not-checked' ? 'not checked' : status;
  return `${word.padEnd(STATUS_WIDTH)}  ${check.padEnd(CHECK_WIDTH)}  ${message}`;
}
