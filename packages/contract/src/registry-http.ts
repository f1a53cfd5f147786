/** One request to the schema registry's Confluent-compatible interface, bounded in time and in bytes. */
import { isJsonObject, isRawNumber, parseLossless, type JsonObject, type JsonValue } from './lossless-json.ts';
import { failureOfRequest, failureOfStatus, registryError } from './registry-failure.ts';

export interface RegistryAccess {
  /** Base URL of the interface. */
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
}

/** An answer that the registry itself gave. */
export interface RegistryAnswer {
  /** 200, or one of ABOUT_THE_QUESTION. */
  readonly status: number;
  /** Empty if it was too long. */
  readonly body: JsonObject;
  /** The body was longer than ANSWER_BYTES_MAX and was dropped. */
  readonly isTooLong: boolean;
}

const CONTENT_TYPE = 'application/vnd.schemaregistry.v1+json';
/** Several times the longest schema that we accept. */
const ANSWER_BYTES_MAX = 1024 * 1024;
/** Characters of the registry's message that we quote. */
const MESSAGE_LENGTH_MAX = 200;
/**
 * These statuses answer the question: the object does not exist, or the registry does not accept its form, or it
 * conflicts with another. All others concern the registry itself: authentication, time, limits, faults.
 */
const ABOUT_THE_QUESTION: readonly number[] = [400, 404, 409, 422];

/**
 * @throws RegistryError if no registry answered the question in time; its message says why, and names the remedy
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
  throw registryError(failureOfStatus(status, contentTypeOf(response), messageIn(body)), url);
}

/**
 * Whether the registry itself answered, not a proxy or another server. The error code shows it: a missing object has a
 * code of its own (40401 and up), while an unknown path has 404, or zero in Apicurio 2.
 */
function isVerdict(status: number, body: JsonObject): boolean {
  const code = numberIn(body, 'error_code');
  return ABOUT_THE_QUESTION.includes(status) && code !== null && (status !== 404 || code > 404);
}

/** Null if it is too long. */
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

/** Only the media type, to quote in a message. */
function contentTypeOf(response: Response): string | null {
  return /^[a-z0-9.+-]{1,40}\/[a-z0-9.+-]{1,60}/i.exec(response.headers.get('content-type') ?? '')?.[0] ?? null;
}

function messageIn(body: JsonObject | null): string | null {
  const message = body?.['message'];
  return typeof message === 'string' && message !== '' ? message.slice(0, MESSAGE_LENGTH_MAX) : null;
}

/** A whole number in an answer: ids, versions and error codes. Null: missing, or not a whole number. */
export function numberIn(body: JsonObject, name: string): number | null {
  const value = body[name];
  return isRawNumber(value) && /^\d{1,10}$/.test(value.rawJSON) ? Number(value.rawJSON) : null;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
