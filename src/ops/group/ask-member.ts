/**
 * Asks another member for its report: one GET of one path, on its own connection, bounded in time and bytes.
 *
 * Any client that joins the group can announce an address. So we follow no redirects (undici's default) and never send the token
 * itself (`member-key.ts`). A report counts only if it comes from the very process that we asked.
 */
import { Client, errors } from 'undici';
import { processName } from '../../consumers/group-processes.ts';
import { memberKey } from './member-key.ts';
import { readMemberReport, type MemberReport } from './member-report.ts';

export const MEMBER_PATH = '/api/member';
/** Limits samples and events to those from this instant on, by the member's own clock. */
export const AFTER_HEADER = 'report-after';
/** A healthy network takes a few ms, and a member answers within about a second even if Kafka does not. */
const TIMEOUT_MS = 1_500;
/** A thousand lanes with all their inputs take half of it. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

export interface MemberQuestion {
  /** As `checkedAddress` returns it. */
  readonly address: string;
  /** The name that its report must carry. */
  readonly process: string;
  readonly authToken: string | null;
  readonly after: string | null;
}

/** Why we have no report from a member. */
export type MemberFault =
  'no-address' | 'unreachable' | 'timed-out' | 'token-refused' | 'not-a-report' | 'too-large' | 'another-process';

export type MemberReply =
  { readonly kind: 'report'; readonly report: MemberReport } | { readonly kind: 'fault'; readonly fault: MemberFault };

/** Never rejects; settles within the timeout. */
export async function askMember(question: MemberQuestion, timeoutMs = TIMEOUT_MS): Promise<MemberReply> {
  const client = new Client(question.address, {
    connect: { timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: ANSWER_BYTES_MAX,
  });
  try {
    return await ask(client, question, AbortSignal.timeout(timeoutMs));
  } catch (error) {
    return fault(faultOf(error));
  } finally {
    void client.destroy();
  }
}

async function ask(client: Client, question: MemberQuestion, signal: AbortSignal): Promise<MemberReply> {
  const { address, after, authToken, process } = question;
  const { body, statusCode } = await client.request({
    path: MEMBER_PATH,
    method: 'GET',
    headers: {
      accept: 'application/json',
      ...(after === null ? {} : { [AFTER_HEADER]: after }),
      ...(authToken === null ? {} : { authorization: `Bearer ${memberKey(authToken, address)}` }),
    },
    signal,
  });
  if (statusCode === 401) return fault('token-refused');
  // What its HTTP server answers if the report takes too long.
  if (statusCode === 503) return fault('timed-out');
  if (statusCode !== 200) return fault('not-a-report');
  const report = readMemberReport(await body.text());
  if (report === null) return fault('not-a-report');
  if (processName(report.state.processId) !== process) return fault('another-process');
  return { kind: 'report', report };
}

function faultOf(error: unknown): MemberFault {
  if (error instanceof errors.ResponseExceededMaxSizeError) return 'too-large';
  const isLate =
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError ||
    error instanceof errors.ConnectTimeoutError ||
    (error instanceof DOMException && error.name === 'TimeoutError');
  return isLate ? 'timed-out' : 'unreachable';
}

function fault(kind: MemberFault): MemberReply {
  return { kind: 'fault', fault: kind };
}
