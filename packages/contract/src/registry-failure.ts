/**
 * Classifies a failure of the schema registry: it does not answer, or it answers and refuses us. Pure.
 *
 * Only an operator can fix a refusal (authentication, authorization, certificate, address, missing subject). Every other
 * failure passes by itself.
 */
import { certificateRemedy, isCertificateFault, isTlsFault } from './tls-failure.ts';

export type RegistryFailure =
  /** 401: authentication failed. */
  | { readonly kind: 'authentication' }
  /** 403: authorization failed. */
  | { readonly kind: 'authorization' }
  /** We do not trust the registry's certificate. */
  | { readonly kind: 'certificate'; readonly code: string; readonly detail: string }
  /** The TLS handshake failed, or the port does not speak TLS. */
  | { readonly kind: 'tls'; readonly code: string }
  /** The answer does not come from a registry, or the path is wrong: another service, a proxy's page, a redirect. */
  | { readonly kind: 'not-a-registry'; readonly status: number; readonly contentType: string | null }
  /** The registry answers, but lacks a required subject. */
  | { readonly kind: 'subject-missing'; readonly subjects: readonly string[] }
  /** A temporary error: 5xx, 429 and the like. */
  | { readonly kind: 'server-error'; readonly status: number; readonly message: string | null }
  /** No complete answer in time. */
  | { readonly kind: 'unreachable'; readonly detail: string };

/** The registry cannot be used, or none is set; the message names the remedy. */
export class RegistryError extends Error {
  /** Null: no registry is set. */
  readonly failure: RegistryFailure | null;
  constructor(message: string, options: { failure: RegistryFailure | null; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'RegistryError';
    this.failure = options.failure;
  }

  /** It lacks a required subject, or is not set. */
  get missing(): boolean {
    return this.failure === null || this.failure.kind === 'subject-missing';
  }

  /** Waiting does not help. */
  get refused(): boolean {
    return this.failure === null || isRegistryRefusal(this.failure.kind);
  }
}

/** @param url of the registry; the setting holds no credentials */
export function registryError(failure: RegistryFailure, url: string, cause?: unknown): RegistryError {
  return new RegistryError(registryFailureInWords(failure, url), { failure, cause });
}

/** Whether retrying is useless. */
export function isRegistryRefusal(kind: RegistryFailure['kind']): boolean {
  return kind !== 'server-error' && kind !== 'unreachable';
}

/** Classifies a status that does not answer the question. */
export function failureOfStatus(status: number, contentType: string | null, message: string | null): RegistryFailure {
  if (status === 401) return { kind: 'authentication' };
  if (status === 403) return { kind: 'authorization' };
  if (status >= 500 || status === 408 || status === 425 || status === 429)
    return { kind: 'server-error', status, message };
  return { kind: 'not-a-registry', status, contentType };
}

/** Classifies a request that got no complete answer. */
export function failureOfRequest(error: unknown, timeoutMs: number): RegistryFailure {
  if (!(error instanceof Error)) return { kind: 'unreachable', detail: String(error) };
  if (error.name === 'TimeoutError') return { kind: 'unreachable', detail: `no answer within ${timeoutMs} ms` };
  // fetch only says that it failed; the cause says why.
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : null;
  if (code === null) return { kind: 'unreachable', detail: cause.message };
  if (isCertificateFault(code)) return { kind: 'certificate', code, detail: cause.message.slice(0, DETAIL_LENGTH_MAX) };
  return isTlsFault(code) ? { kind: 'tls', code } : { kind: 'unreachable', detail: code };
}

/** Limits a quoted detail: a certificate may name a hundred hosts. */
const DETAIL_LENGTH_MAX = 200;

/** A sentence with the remedy: a setting to correct, or a right to grant. */
function registryFailureInWords(failure: RegistryFailure, url: string): string {
  const where = `the schema registry at ${url}`;
  switch (failure.kind) {
    case 'authentication':
      return `${where} rejected the login (HTTP 401): check SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD`;
    case 'authorization':
      return `${where} does not authorize us (HTTP 403): grant SCHEMA_REGISTRY_USERNAME the right to read, and to look up schemas by POST /subjects/<subject>`;
    case 'certificate':
      return `the certificate of ${where} is not trusted (${failure.code}: ${failure.detail}): ${certificateRemedy(
        failure.code,
        {
          expired: 'the registry needs one that is valid now; also check the clocks',
          name: 'SCHEMA_REGISTRY_URL must use a name that it contains',
          authority: 'set NODE_EXTRA_CA_CERTS to the file of the certificate authority that signed it, and restart',
        },
      )}`;
    case 'tls':
      return `the TLS handshake with ${where} failed (${failure.code}): check scheme and port of SCHEMA_REGISTRY_URL`;
    case 'not-a-registry': {
      const form = failure.contentType === null ? 'without a content type' : `as ${failure.contentType}`;
      return `the server at ${url} is not a schema registry (HTTP ${failure.status} ${form}): check scheme, host and path of SCHEMA_REGISTRY_URL, which must be the base URL of a Confluent-compatible registry. Also check any proxy in front of it`;
    }
    case 'subject-missing':
      return `${where} does not have our schema under ${failure.subjects.join(', ')}. For a new release or prefix, run \`npm run cli -- schemas register\`. If the registry lost its data, restore it, because messages in Kafka refer to its old ids. If it is the wrong registry, correct SCHEMA_REGISTRY_URL`;
    case 'server-error': {
      const message = failure.message === null ? '' : `: ${failure.message}`;
      return `${where} fails (HTTP ${failure.status}${message}): check the registry and any proxy in front of it; we retry`;
    }
    case 'unreachable':
      return `${where} does not answer (${failure.detail}): check SCHEMA_REGISTRY_URL, and that the registry is running`;
  }
}
