/** What is asked over HTTP: the schema registry, the payment service, the processor's own endpoints. */
import { request } from 'undici';
import { API_SETTING_NAMES, withPaymentApi } from '../context.ts';
import { readSubjects, REGISTRY_SETTING_NAMES, subjectProblem } from '../schema-subjects.ts';
import { messageOf, notChecked, ok, problem, withSettings, type Finding } from './findings.ts';

/** The endpoint answers from memory. */
const READY_TIMEOUT_MS = 5_000;
/** An answer is a few reasons; nothing longer is ours. */
const READY_TEXT_MAX = 2_000;

export async function checkRegistry(): Promise<Finding[]> {
  return withSettings('registry', REGISTRY_SETTING_NAMES, async (settings) => {
    const url = settings.SCHEMA_REGISTRY_URL;
    let states;
    try {
      states = await readSubjects(settings);
    } catch (error) {
      const schemas = { check: 'schemas', ...notChecked('the registry did not answer as it should') } as const;
      return [problem(messageOf(error)), schemas];
    }
    const problems = states.map(subjectProblem).filter((text) => text !== null);
    const schemas =
      problems.length === 0
        ? [ok(`all ${states.length} are registered under ${settings.TOPIC_PREFIX}`)]
        : problems.map(problem);
    return [ok(`${url} answers`), ...schemas.map((one) => ({ check: 'schemas' as const, ...one }))];
  });
}

/** Base URL, version segment and credentials, by reading one transaction. */
export async function checkPaymentService(): Promise<Finding[]> {
  return withSettings('payment-service', API_SETTING_NAMES, async (settings) => {
    const state = await withPaymentApi(settings, (api) => api.state());
    switch (state.kind) {
      case 'serving':
        return ok(`${settings.API_BASE_URL} answers, and takes the credentials`);
      case 'held':
        return problem(state.reason);
      case 'unchecked':
        return problem(`${settings.API_BASE_URL} was asked and said nothing: run this again`);
    }
  });
}

/** A processor of which it is known where it listens. */
export async function checkProcessor(): Promise<Finding[]> {
  const isSet = (name: string): boolean => (process.env[name] ?? '') !== '';
  if (!isSet('HTTP_HOST') && !isSet('HTTP_PORT')) {
    return [
      {
        check: 'processor',
        ...notChecked('neither HTTP_HOST nor HTTP_PORT is set, which say where a processor listens'),
      },
    ];
  }
  return withSettings('processor', ['HTTP_HOST', 'HTTP_PORT'], async (settings) => {
    if (settings.HTTP_PORT === 0) return notChecked('HTTP_PORT is 0: it listens on a port of its choice');
    const url = `http://${reachable(settings.HTTP_HOST)}:${settings.HTTP_PORT}/health/ready`;
    try {
      const response = await request(url, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
      const text = (await response.body.text()).slice(0, READY_TEXT_MAX);
      const reasons = reasonsOf(text);
      if (response.statusCode === 200) {
        return [ok([`${url} is ready`, ...reasons].join('; '))];
      }
      return problem(`${url} is not ready (HTTP ${response.statusCode}): ${reasons.join('; ') || text}`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return problem(
        `${url} does not answer (${reason}): start a processor, or set HTTP_HOST and HTTP_PORT to where it listens`,
      );
    }
  });
}

/** An address to listen on at all interfaces is none to connect to. */
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
