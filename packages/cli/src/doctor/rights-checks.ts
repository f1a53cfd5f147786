/** The rights of a role, asked of the brokers one by one with the credentials of this command line. */
import { missingRightInWords, missingRights } from '../../../../src/producers/rights-check.ts';
import { grantCommand, rightsOf, type Role } from 'payment-processor-contract/rights';
import { CLI_SETTING_NAMES, cliKafka } from '../context.ts';
import { ok, problem, withSettings, type Finding } from './findings.ts';

const NAMES_NEEDED = [...CLI_SETTING_NAMES, 'KAFKA_GROUP_ID', 'SANDBOX_COMMANDS'] as const;

export function checkRights(role: Role): Promise<Finding[]> {
  return withSettings('rights', NAMES_NEEDED, async (settings) => {
    const rights = rightsOf(role, settings);
    const missing = await missingRights(cliKafka(settings), rights);
    if (missing.length === 0) return [ok('rights', `Kafka allows all ${rights.length} that a ${role} needs`)];
    const principal = `User:${settings.KAFKA_SASL_USERNAME ?? '<name>'}`;
    return missing.map((right) =>
      problem('rights', `${missingRightInWords(right)}: ${grantCommand(right, principal)}`),
    );
  });
}
