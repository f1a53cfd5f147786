/** One question to the schema registry, over the Confluent-compatible interface: bounded in time and in bytes. */
import { isJsonObject, isRawNumber, parseLossless, type JsonObject, type JsonValue } from './lossless-json.ts';
import { failureOfRequest, failureOfStatus, registryError } from './registry-failure.ts';

export interface RegistryAccess {
  /** Base of the interface. */
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
}

/** An answer to what was asked, and by a registry. */
export interface RegistryAnswer {
  /** 200, or one of ABOUT_THE_QUESTION. */
  readonly status: number;
  /** Empty where it was too long. */
  readonly body: JsonObject;
  /** The body was longer than ANSWER_BYTES_MAX and is not here. */
  readonly isTooLong: boolean;
}

const CONTENT_TYPE = 'application/vnd.schemaregistry.v1+json';
/** Several times the longest schema that we take. */
const ANSWER_BYTES_MAX = 1024 * 1024;
/** Of what others say, in a sentence of ours. */
const TOLD_LENGTH_MAX = 200;
/**
 * What was asked for is not there, or not in a form that the registry takes: verdicts on the question. All else is about the
 * registry: log-in, time, limits, faults.
 */
const ABOUT_THE_QUESTION: readonly number[] = [400, 404, 409, 422];

/**
 * @throws RegistryError when no answer came that a registry gives to the question, within the time; its message says why, and
 * what to do
 */
export async function askRegistry(
  access: RegistryAccess,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  options: { timeoutMs: number; body?: object },
): Promise<RegistryAnswer> {
  const { url, username, password } = access;
  const authorization =
    username === null
      ? {}
      : { authorization: `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` };
  let response: Response;
  let text: string | null;
  try {
    response = await fetch(`${url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        accept: CONTENT_TYPE,
        ...(options.body === undefined ? {} : { 'content-type': CONTENT_TYPE }),
        ...authorization,
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      signal: AbortSignal.timeout(options.timeoutMs),
    });
    text = await textOf(response);
  } catch (error) {
    throw registryError(failureOfRequest(error, options.timeoutMs), url, error);
  }
  const { status } = response;
  if (status === 200 && text === null) return { status, body: {}, isTooLong: true };
  const parsed = text === null ? null : jsonOf(text);
  const body = isJsonObject(parsed) ? parsed : null;
  if (body !== null && (status === 200 || isVerdict(status, body))) return { status, body, isTooLong: false };
  throw registryError(failureOfStatus(status, contentTypeOf(response), toldBy(body)), url);
}

/**
 * Whether the registry itself says so, and not something before it or in its place: by the number of its error. What is not
 * there has a number of its own (40401 and on); a path that the registry does not know has 404, with Apicurio 2 zero.
 */
function isVerdict(status: number, body: JsonObject): boolean {
  const code = numberIn(body, 'error_code');
  return ABOUT_THE_QUESTION.includes(status) && code !== null && (status !== 404 || code > 404);
}

/** Null: too long. */
async function textOf(response: Response): Promise<string | null> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest.
    if (bytes > ANSWER_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function jsonOf(text: string): JsonValue {
  try {
    return parseLossless(text);
  } catch {
    return null;
  }
}

/** In a sentence of ours: a type and nothing else. */
function contentTypeOf(response: Response): string | null {
  return /^[a-z0-9.+-]{1,40}\/[a-z0-9.+-]{1,60}/i.exec(response.headers.get('content-type') ?? '')?.[0] ?? null;
}

function toldBy(body: JsonObject | null): string | null {
  const told = body?.['message'];
  return typeof told === 'string' && told !== '' ? told.slice(0, TOLD_LENGTH_MAX) : null;
}

/** A whole number in an answer: ids, versions and codes of errors. Null: it is not there, or is none. */
export function numberIn(body: JsonObject, name: string): number | null {
  const value = body[name];
  return isRawNumber(value) && /^\d{1,10}$/.test(value.rawJSON) ? Number(value.rawJSON) : null;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
