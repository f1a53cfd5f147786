/** `transactions list`: the service's own list of transactions, with all filters. */
import { Option } from 'commander';
import type { CliCommand } from '../cli-command.ts';
import type { PaymentApi } from '../../../../src/api/payment-api.ts';
import type { ListReading, TransactionFilter } from '../../../../src/api/types.ts';
import type { Transaction } from 'payment-processor-contract/types';
import { currencyAmountText } from '../amount-text.ts';
import { API_SETTING_NAMES, withPaymentApi, requireSettings } from '../context.ts';
import { CliFailure } from '../exit-codes.ts';
import { instant, wholeNumber } from '../option-values.ts';
import { exitOnClosedOutput, textTable, type Output } from '../output.ts';

const LIMIT_MAX = 100;
/** Limit of pages for `--all`: a hundred thousand transactions at 100 per page. */
const PAGES_MAX = 1_000;
const INCOMPLETE = 'the list is incomplete: see the warnings';

export function addTransactionsCommand(program: CliCommand): void {
  const transactions = program.command('transactions').description('look at transactions in the payment service');
  transactions
    .command('list')
    .description('list transactions of the payment service')
    .option('--customer-id <id>', "by the service's customer id")
    .option('--platform-customer-id <id>', "by the platform's customer id")
    .option('--sender-account-identifier <id>', "by the sender's account")
    .option('--receiver-account-identifier <id>', "by the receiver's account")
    .option('--status <status>', 'CREATED, PENDING, PROCESSING, SENT, COMPLETED, REJECTED, FAILED, REFUNDED or EXPIRED')
    .option('--type <type>', 'INCOMING or OUTGOING')
    .option('--reference <text>', 'by reference')
    .option('--start-date <instant>', 'from this instant on, ISO 8601', date)
    .option('--end-date <instant>', 'up to and including this instant, ISO 8601', date)
    .option(
      '--limit <number>',
      `page size, 1 to ${LIMIT_MAX}; default: 20, with --all ${LIMIT_MAX}`,
      wholeNumber(1, LIMIT_MAX),
    )
    .option('--cursor <cursor>', 'cursor that an earlier page printed, to list the next page')
    .addOption(new Option('--sort-order <order>', 'default: desc').choices(['asc', 'desc']))
    .option('--all', `list all pages, ${PAGES_MAX} at most; exits with 1 if there are more`, false)
    .details(
      `
Settings: API_BASE_URL (with the version segment), API_TOKEN_ID, API_CLIENT_SECRET, API_TIMEOUT_MS.
With --output json each page is one document; amounts keep all digits.

Examples:
  $ npm run cli -- transactions list --status PENDING --type INCOMING
  $ npm run cli -- transactions list --start-date 2026-01-01T00:00:00Z --limit 100 --all
  $ npm run --silent cli -- --output json transactions list --reference INV-7 | jq '.data[].id'`,
    )
    .runs(async (output, flags: TransactionFilter & { all: boolean }) => {
      exitOnClosedOutput();
      const settings = requireSettings(API_SETTING_NAMES);
      const { all, ...given } = flags;
      const filter = all ? { limit: LIMIT_MAX, ...given } : given;
      const pagesMax = all ? PAGES_MAX : 1;
      await withPaymentApi(settings, (api) => listPages(api, filter, pagesMax, output, settings.API_BASE_URL));
    });
}

async function listPages(
  api: PaymentApi,
  filter: TransactionFilter,
  pagesMax: number,
  output: Output,
  baseUrl: string,
): Promise<void> {
  let next: TransactionFilter = filter;
  const seen = new Set(filter.cursor === undefined ? [] : [filter.cursor]);
  let hasGaps = false;
  for (let page = 1; page <= pagesMax; page += 1) {
    const reading = await api.listTransactions(next);
    if (reading.kind === 'failed') throw failure(reading, baseUrl);
    const { data, hasMore, isIncomplete, nextCursor, totalCount, warnings } = reading;
    hasGaps ||= isIncomplete;
    if (output.format === 'json' || data.length > 0) {
      output.document({ data, hasMore, isIncomplete, nextCursor, totalCount, warnings }, pageText(data));
    }
    for (const warning of warnings) output.note(`warning: ${warning}`);
    if (!hasMore) {
      if (hasGaps) throw new CliFailure('failed', INCOMPLETE);
      output.note(totalCount === null ? 'no more' : `no more; ${totalCount} in total`);
      return;
    }
    if (nextCursor === null) {
      throw new CliFailure(
        'failed',
        'the service says that there are more transactions, but gives no cursor for them: the list is incomplete',
      );
    }
    if (pagesMax > 1 && seen.has(nextCursor)) {
      throw new CliFailure(
        'failed',
        `the service gave the cursor ${nextCursor} twice, so its list would never end: the output may be incomplete`,
      );
    }
    seen.add(nextCursor);
    next = { ...filter, cursor: nextCursor };
  }
  const more = `there are more; list them with --cursor ${next.cursor ?? ''}`;
  // Operators conclude from a payment that is missing: a list that is cut off must not look complete.
  if (pagesMax > 1) throw new CliFailure('failed', `only ${pagesMax} pages were read: ${more}`);
  output.note(more);
  if (hasGaps) throw new CliFailure('failed', INCOMPLETE);
}

function failure(
  { cause, reason, serviceSays }: Extract<ListReading, { kind: 'failed' }>,
  baseUrl: string,
): CliFailure {
  const detail = cause === 'refused' && serviceSays !== null ? `, ${serviceSays}` : '';
  return new CliFailure('failed', `transactions cannot be listed at ${baseUrl}: ${reason}${detail}${REMEDIES[cause]}`);
}

const REMEDIES: Readonly<Record<Extract<ListReading, { kind: 'failed' }>['cause'], string>> = {
  // The check of the service has already named the remedy.
  held: '',
  unauthorized: ': check API_TOKEN_ID and API_CLIENT_SECRET',
  refused: ': check the filters and the cursor',
  redirected: ': check API_BASE_URL, and that the service answers',
  'not-understood': ': check API_BASE_URL, and that the service answers',
  unreachable: ': check API_BASE_URL, and that the service answers',
  'told-to-wait': ': try again later',
};

function pageText(data: readonly Transaction[]): string[] {
  return textTable(
    ['id', 'status', 'type', 'received', 'customer', 'created', 'failure'],
    data.map((transaction) => [
      transaction.id,
      transaction.status ?? '',
      transaction.type ?? '',
      currencyAmountText(transaction.receivedAmount) ?? '',
      transaction.customerId ?? '',
      transaction.createdAt ?? '',
      transaction.failureReason ?? '',
    ]),
  );
}

/** Checked here, but sent to the service as written. */
function date(text: string): string {
  instant(text);
  return text;
}
