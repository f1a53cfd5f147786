/** Checks over HTTP: the schema registry, the payment service, the processor's own endpoints. */
import { Client, request } from 'undici';
import { z } from 'zod';
import { messageOf } from 'payment-processor-contract/registry-http';
import { API_SETTING_NAMES, withPaymentApi } from '../context.ts';
import { readSubjects, SUBJECT_SETTING_NAMES, subjectProblem } from '../schema-subjects.ts';
import { failureText, notChecked, ok, problem, withSettings, type Finding, type CheckMessage } from './findings.ts';

/** The endpoint answers from memory. */
const READY_TIMEOUT_MS = 5_000;
/** Our answer has a few reasons; a longer one is not ours. */
const READY_TEXT_MAX = 2_000;
/** Room for a thousand lanes and all members. */
const GROUP_BYTES_MAX = 8 * 1024 * 1024;

const GROUP = z.object({
  reasons: z.array(z.object({ reason: z.string(), processes: z.array(z.string()), isBlocking: z.boolean() })),
});

export async function checkRegistry(): Promise<Finding[]> {
  return withSettings('registry', SUBJECT_SETTING_NAMES, async (settings) => {
    const url = settings.SCHEMA_REGISTRY_URL;
    let states;
    try {
      states = await readSubjects(settings);
    } catch (error) {
      const schemas = { check: 'schemas', ...notChecked('the registry gave no valid answer') } as const;
      return [problem(failureText(error)), schemas];
    }
    const problems = states.map(subjectProblem).filter((text) => text !== null);
    const schemas =
      problems.length === 0
        ? [ok(`all ${states.length} schemas are registered under ${settings.TOPIC_PREFIX}`)]
        : problems.map(problem);
    return [ok(`${url} answers`), ...schemas.map((one) => ({ check: 'schemas' as const, ...one }))];
  });
}

/** Checks base URL, version segment and credentials, by listing transactions. */
export async function checkPaymentService(): Promise<Finding[]> {
  return withSettings('payment-service', API_SETTING_NAMES, async (settings) => {
    const state = await withPaymentApi(settings, (api) => api.state());
    switch (state.kind) {
      case 'serving':
        return ok(`${settings.API_BASE_URL} answers and accepts the credentials`);
      case 'held':
        return problem(state.reason);
      case 'unchecked':
        return problem(`${settings.API_BASE_URL} did not answer: run this again`);
    }
  });
}

/** Checks the processor at HTTP_HOST and HTTP_PORT, if one of them is set. */
export async function checkProcessor(): Promise<Finding[]> {
  const isSet = (name: string): boolean => (process.env[name] ?? '') !== '';
  if (!isSet('HTTP_HOST') && !isSet('HTTP_PORT')) {
    return [
      {
        check: 'processor',
        ...notChecked('neither HTTP_HOST nor HTTP_PORT is set, so the address of a processor is unknown'),
      },
    ];
  }
  return withSettings('processor', ['HTTP_HOST', 'HTTP_PORT', 'HTTP_AUTH_TOKEN'], async (settings) => {
    if (settings.HTTP_PORT === 0) return notChecked('HTTP_PORT is 0, so the processor chose its port itself');
    const url = `http://${reachable(settings.HTTP_HOST)}:${settings.HTTP_PORT}`;
    try {
      const response = await request(`${url}/health/ready`, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
      const text = (await response.body.text()).slice(0, READY_TEXT_MAX);
      const reasons = reasonsOf(text);
      const own =
        response.statusCode === 200
          ? ok([`${url}/health/ready is ready`, ...reasons].join('; '))
          : problem(`${url}/health/ready is not ready (HTTP ${response.statusCode}): ${reasons.join('; ') || text}`);
      return [own, ...(await checkOthers(url, settings.HTTP_AUTH_TOKEN, reasons))];
    } catch (error) {
      return problem(
        `${url} does not answer (${messageOf(error)}): start a processor, or set HTTP_HOST and HTTP_PORT to its address`,
      );
    }
  });
}

/** Problems of other members of the group, from the processor's latest reports. */
async function checkOthers(url: string, authToken: string | null, own: readonly string[]): Promise<CheckMessage[]> {
  const headers = authToken === null ? {} : { authorization: `Bearer ${authToken}` };
  const unreported = (why: string): CheckMessage[] => [
    notChecked(`${url}/api/group, which reports the other members, ${why}`),
  ];
  const client = new Client(url, { maxResponseSize: GROUP_BYTES_MAX });
  try {
    const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
    const { body, statusCode } = await client.request({ path: '/api/group', method: 'GET', headers, signal });
    if (statusCode !== 200) {
      await body.dump();
      const hint = statusCode === 401 ? ': set the HTTP_AUTH_TOKEN of the processor' : '';
      return unreported(`answers HTTP ${statusCode}${hint}`);
    }
    const read = GROUP.safeParse(await body.json());
    if (!read.success) return unreported('gave no valid answer');
    return read.data.reasons
      .filter(({ isBlocking, reason }) => isBlocking && !own.includes(reason))
      .map(({ processes, reason }) => problem(`${processes.join(', ')} is not ready: ${reason}`));
  } catch (error) {
    return unreported(`gave no valid answer (${messageOf(error)})`);
  } finally {
    await client.destroy();
  }
}

/** The host to connect to: not the wildcard address, and IPv6 in brackets. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function reasonsOf(text: string): string[] {
  try {
    const { reasons } = JSON.parse(text) as { reasons?: unknown };
    return Array.isArray(reasons) ? reasons.map(String) : [];
  } catch {
    return [];
  }
}
