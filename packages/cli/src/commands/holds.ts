/** `holds`: lists operators' holds and releases: who, why, from when and until when. */
import type { CliCommand } from '../cli-command.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_SETTING_NAMES, requireSettings } from '../context.ts';
import { auditOf, inForceText, readOrders, wantedHolds, wantedInWords, type AuditedOrder } from '../hold-audit.ts';
import { requireAllRead } from '../topic-reading.ts';

export function addHoldsCommand(program: CliCommand): void {
  program
    .command('holds')
    .description("list operators' holds and releases, oldest first: who ordered them, why, and until when")
    .details(
      `
It reads the topic that keeps every hold and release. It does not show whether each lane has confirmed one: \`hold\`,
\`release\` and the page of any processor do.
Settings: KAFKA_BROKERS, TOPIC_PREFIX.

Examples:
  $ npm run cli -- holds
  $ npm run --silent cli -- --output json holds | jq 'select(.inForce != [])'`,
    )
    .runs(async (output) => {
      const settings = requireSettings(CLI_SETTING_NAMES);
      const { hidden, laneCount, orders } = await readOrders(settings);
      const nowMs = Date.now();
      for (const order of auditOf(orders, laneCount, nowMs)) output.document(order, orderText(order));
      const replaced = wantedHolds(orders, nowMs).filter(({ isReplaced }) => isReplaced);
      for (const text of wantedInWords(replaced, laneCount))
        output.note(`replaced by another operator's hold, still wanted: ${text}`);
      requireAllRead(hidden);
      if (orders.length === 0)
        output.note(
          `${topicNames(settings.TOPIC_PREFIX).operatorHolds} has no hold or release. If somebody deleted the topic or its records, the page of any processor shows what the lanes still hold`,
        );
    });
}

function orderText(audited: AuditedOrder): string {
  const { action, at, commandTypes, inForce, operator, reason, until } = audited;
  const types = commandTypes.length === 0 ? 'all types' : commandTypes.join(', ');
  const ends = until === null ? '' : `, until ${until}`;
  const held = inForce.length === 0 ? '' : `  (not released: ${inForceText(audited)})`;
  return `${at}  ${action.padEnd('RELEASE'.length)}  ${types}${ends}  by ${operator}: ${reason}${held}`;
}
