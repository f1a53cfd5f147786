/** One question to the schema registry, over the Confluent-compatible interface: bounded in time and in bytes. */
import { parseLossless, type JsonValue } from './lossless-json.ts';

export interface RegistryAccess {
  /** Base of the interface. */
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
}

export interface RegistryAnswer {
  readonly status: number;
  /** Null where it is not JSON. */
  readonly body: JsonValue;
  /** The body was longer than ANSWER_BYTES_MAX and is not here. */
  readonly isTooLong: boolean;
}

const CONTENT_TYPE = 'application/vnd.schemaregistry.v1+json';
/** Several times the longest schema that we take. */
const ANSWER_BYTES_MAX = 1024 * 1024;

/** @throws Error when no whole answer came within the time; its message says why */
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
  try {
    const response = await fetch(`${url}${path}`, {
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
    const text = await textOf(response);
    return { status: response.status, body: text === null ? null : jsonOf(text), isTooLong: text === null };
  } catch (error) {
    throw new Error(reasonOf(error, options.timeoutMs), { cause: error });
  }
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

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs} ms`;
  // fetch says only that it failed; why is in the cause.
  const cause = error.cause instanceof Error ? error.cause : error;
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Why the registry answered so, where waiting does not mend it and what does; null for every other status. */
export function registryRefusal({ url }: Pick<RegistryAccess, 'url'>, status: number | undefined): string | null {
  if (status === 401)
    return `the schema registry at ${url} refused the log-in (HTTP 401): check SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD`;
  if (status === 403)
    return `the schema registry at ${url} does not allow us this (HTTP 403): grant the user of SCHEMA_REGISTRY_USERNAME reads, and look-ups by POST /subjects/<subject>`;
  return null;
}
