/**
 * Looks up, checks and registers our schemas' subjects, `<topic>-value`, through the registry's Confluent-compatible
 * interface. A deployment step: the processor only looks up ids.
 */
import { REGISTRY_SETTING_NAMES } from 'payment-processor-client/internal/settings';
import type { Config } from 'payment-processor-contract/config';
import { RegistryError } from 'payment-processor-contract/registry-failure';
import type { JsonObject } from 'payment-processor-contract/lossless-json';
import { askRegistry, numberIn } from 'payment-processor-contract/registry-http';
import { loadSchema } from 'payment-processor-contract/schemas';
import { recordOfTopic, subjectOf, topicNames } from 'payment-processor-contract/topics';
import { CliFailure } from './exit-codes.ts';

export const SUBJECT_SETTING_NAMES = [...REGISTRY_SETTING_NAMES, 'TOPIC_PREFIX'] as const;
type RegistrySettings = Pick<Config, (typeof SUBJECT_SETTING_NAMES)[number]>;

/** All versions of publishers and readers understand one another, in both directions. */
export const COMPATIBILITY = 'FULL_TRANSITIVE';

export interface SubjectState {
  subject: string;
  record: string;
  /** Id of our schema, or null if the subject does not have it. */
  schemaId: number | null;
  /** The subject's own level; null: it has none. */
  compatibility: string | null;
  /** The subject's latest version, which many publishers use, if it is not our schema. */
  foreignLatest: { version: number; schemaId: number } | null;
  /** Why our schema is incompatible with the subject's versions; empty: it is compatible or registered. */
  incompatibilities: string[];
}

export interface Registration {
  subject: string;
  record: string;
  action: 'registered' | 'exists';
  schemaId: number;
}

/** A registry that hangs must not hold a deployment; a healthy one answers in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;

/** The registry's state of each of our subjects. */
export async function readSubjects(settings: RegistrySettings): Promise<SubjectState[]> {
  const states: SubjectState[] = [];
  for (const { subject, record, body } of ourSubjects(settings)) {
    const schemaId = await lookUp(settings, subject, body);
    states.push({
      subject,
      record,
      schemaId,
      compatibility: await readCompatibility(settings, subject),
      foreignLatest: await readForeignLatest(settings, subject, record),
      incompatibilities: schemaId === null ? await readIncompatibilities(settings, subject, body) : [],
    });
  }
  return states;
}

/** The subject's problem and its remedy, or null. */
export function subjectProblem(state: SubjectState): string | null {
  const { subject, record } = state;
  if (state.incompatibilities.length > 0) {
    return `our schema of ${record} is incompatible with versions of the subject ${subject}: ${state.incompatibilities.join('; ')}`;
  }
  if (state.schemaId === null) {
    return `the subject ${subject} does not have our schema of ${record}: run \`npm run cli -- schemas register\``;
  }
  if (state.foreignLatest !== null) {
    const { version, schemaId } = state.foreignLatest;
    return (
      `the latest version of the subject ${subject}, ${version} (schema id ${schemaId}), is not our ${record}. Publishers that use the latest ` +
      'version write with it, and a command with a value in a field that we do not know is INVALID. If it belongs to a ' +
      "newer release, use that release's command line. Otherwise let its publishers write with ours. Once none of its messages is left in " +
      `a topic, delete it from the registry: DELETE /subjects/${encodeURIComponent(subject)}/versions/${version}`
    );
  }
  if (state.compatibility !== COMPATIBILITY) {
    return `the subject ${subject} has ${state.compatibility ?? "the registry's default"} as its compatibility level, not ${COMPATIBILITY}: run \`npm run cli -- schemas register\``;
  }
  return null;
}

/**
 * Registers each missing schema, and sets the subject's compatibility level.
 * @throws CliFailure naming the first subject that the registry refuses
 */
export async function registerSubjects(settings: RegistrySettings): Promise<Registration[]> {
  const registrations: Registration[] = [];
  for (const { subject, record, body } of ourSubjects(settings)) {
    const known = await lookUp(settings, subject, body);
    const schemaId = known ?? (await register(settings, subject, record, body));
    await requireCompatibility(settings, subject);
    registrations.push({ subject, record, action: known === null ? 'registered' : 'exists', schemaId });
  }
  return registrations;
}

function ourSubjects(settings: RegistrySettings): { subject: string; record: string; body: object }[] {
  return [...recordOfTopic(topicNames(settings.TOPIC_PREFIX))].map(([topic, record]) => ({
    subject: subjectOf(topic),
    record,
    body: { schemaType: 'AVRO', schema: JSON.stringify(loadSchema(record)) },
  }));
}

async function register(settings: RegistrySettings, subject: string, record: string, body: object): Promise<number> {
  // A registry checks by the subject's own level, so a subject with versions gets ours first. A subject without versions
  // cannot have one.
  const hasVersions = (await readForeignLatest(settings, subject, record)) !== null;
  if (hasVersions) await requireCompatibility(settings, subject);
  const incompatibilities = await readIncompatibilities(settings, subject, body);
  if (incompatibilities.length > 0) {
    throw new CliFailure(
      'problemsFound',
      `our schema is not compatible (${COMPATIBILITY}) with versions of the subject ${subject}: ${incompatibilities.join('; ')}. ` +
        'Add a field with a default instead of changing one, or create topics with a new version',
    );
  }
  const step = `registering ${subject}`;
  const path = `/subjects/${encodeURIComponent(subject)}/versions`;
  const registered = await ask(settings, step, 'POST', path, body);
  return registered === null
    ? refuse(settings, step, 404)
    : (numberIn(registered, 'id') ?? refuse(settings, step, 200));
}

/** The id of exactly this schema under the subject, or null. */
async function lookUp(settings: RegistrySettings, subject: string, body: object): Promise<number | null> {
  const step = `looking up ${subject}`;
  const found = await ask(settings, step, 'POST', `/subjects/${encodeURIComponent(subject)}`, body);
  return found === null ? null : (numberIn(found, 'id') ?? refuse(settings, step, 200));
}

/** The latest version; null: there is none, or it is our schema except for documentation and attribute order. */
async function readForeignLatest(
  settings: RegistrySettings,
  subject: string,
  record: string,
): Promise<SubjectState['foreignLatest']> {
  const step = `reading the latest version of ${subject}`;
  const latest = await ask(settings, step, 'GET', `/subjects/${encodeURIComponent(subject)}/versions/latest`);
  if (latest === null) return null;
  const [version, schemaId] = [numberIn(latest, 'version'), numberIn(latest, 'id')];
  const { schema } = latest;
  if (version === null || schemaId === null || typeof schema !== 'string') return refuse(settings, step, 200);
  return comparable(jsonOf(schema)) === comparable(loadSchema(record)) ? null : { version, schemaId };
}

/** A schema without the attributes that do not affect values. */
function comparable(schema: unknown): string {
  return JSON.stringify(schema, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(
          Object.entries(part)
            .filter(([name]) => name !== 'doc')
            .sort(([left], [right]) => (left < right ? -1 : 1)),
        )
      : part,
  );
}

/** Text that is not JSON is returned as it is. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

async function readCompatibility(settings: RegistrySettings, subject: string): Promise<string | null> {
  const step = `reading the compatibility of ${subject}`;
  const level = (await ask(settings, step, 'GET', `/config/${encodeURIComponent(subject)}`))?.['compatibilityLevel'];
  return typeof level === 'string' ? level : null;
}

async function requireCompatibility(settings: RegistrySettings, subject: string): Promise<void> {
  if ((await readCompatibility(settings, subject)) === COMPATIBILITY) return;
  const step = `setting the compatibility of ${subject}`;
  const wanted = { compatibility: COMPATIBILITY };
  const set = await ask(settings, step, 'PUT', `/config/${encodeURIComponent(subject)}`, wanted);
  if (set === null) refuse(settings, step, 404);
}

/** Why the registry would refuse this schema, checked against all versions; empty for a new subject. */
async function readIncompatibilities(settings: RegistrySettings, subject: string, body: object): Promise<string[]> {
  const path = `/compatibility/subjects/${encodeURIComponent(subject)}/versions?verbose=true`;
  const checked = await ask(settings, `checking ${subject}`, 'POST', path, body);
  if (checked === null || checked['is_compatible'] === true) return [];
  const { messages } = checked;
  const texts = Array.isArray(messages) ? messages.filter((message) => typeof message === 'string') : [];
  return texts.length > 0 ? texts : ['the registry gave no reason'];
}

/** @returns the answer's body; null: 404. @throws CliFailure */
async function ask(
  settings: RegistrySettings,
  step: string,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  body?: object,
): Promise<JsonObject | null> {
  const { SCHEMA_REGISTRY_URL: url, SCHEMA_REGISTRY_USERNAME: username, SCHEMA_REGISTRY_PASSWORD: password } = settings;
  const options = { timeoutMs: ANSWER_TIMEOUT_MS, ...(body === undefined ? {} : { body }) };
  const answer = await askRegistry({ url, username, password }, method, path, options).catch((error: unknown) => {
    if (!(error instanceof RegistryError)) throw error;
    throw new CliFailure('failed', `${method} ${path}: ${error.message}`);
  });
  if (answer.status === 404) return null;
  return answer.status === 200 ? answer.body : refuse(settings, step, answer.status, answer.body['message']);
}

/** @throws CliFailure */
function refuse({ SCHEMA_REGISTRY_URL: url }: RegistrySettings, step: string, status: number, said?: unknown): never {
  const message = typeof said === 'string' ? ` (${said})` : '';
  const hint = 'check that SCHEMA_REGISTRY_URL is the base of a Confluent-compatible interface';
  throw new CliFailure('failed', `${step} at ${url} failed: the answer was ${status}${message}; ${hint}`);
}
