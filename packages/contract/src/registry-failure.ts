/**
 * What it means that the schema registry cannot be used: whether it is away, or is there and refuses us, and by what. Pure.
 *
 * Refusals (log-in, rights, certificate, address, a subject that is not there) are mended by an operator alone; the rest
 * passes by itself.
 */
import { certificateRemedy, isCertificateFault, isTlsFault } from './tls-failure.ts';

export type RegistryFailure =
  /** 401: who we say that we are was not believed. */
  | { readonly kind: 'authentication' }
  /** 403: we are known, and may not. */
  | { readonly kind: 'authorization' }
  /** The registry's certificate was not believed by us. */
  | { readonly kind: 'certificate'; readonly code: string; readonly detail: string }
  /** We speak TLS, and what listens there does not, or not with us. */
  | { readonly kind: 'tls'; readonly code: string }
  /** Something answers that is no registry, or not by this path: another service, a page of a proxy, a redirect. */
  | { readonly kind: 'not-a-registry'; readonly status: number; readonly contentType: string | null }
  /** The registry is there, and does not have what it must have. */
  | { readonly kind: 'subject-missing'; readonly subjects: readonly string[] }
  /** It answers that it cannot answer now: 5xx, 429 and the like. */
  | { readonly kind: 'server-error'; readonly status: number; readonly told: string | null }
  /** No whole answer in time. */
  | { readonly kind: 'unreachable'; readonly detail: string };

/** The registry cannot be used, or none is set; the message says what to do. */
export class RegistryError extends Error {
  /** Null: no registry is set. */
  readonly failure: RegistryFailure | null;
  constructor(message: string, options: { failure: RegistryFailure | null; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'RegistryError';
    this.failure = options.failure;
  }

  /** It does not have what it must have, or is not set. */
  get missing(): boolean {
    return this.failure === null || this.failure.kind === 'subject-missing';
  }

  /** Waiting does not mend it. */
  get refused(): boolean {
    return this.failure === null || isRegistryRefusal(this.failure.kind);
  }
}

/** @param url of the registry, which a setting holds without credentials */
export function registryError(failure: RegistryFailure, url: string, cause?: unknown): RegistryError {
  return new RegistryError(registryFailureInWords(failure, url), { failure, cause });
}

/** Whether no retry mends it. */
export function isRegistryRefusal(kind: RegistryFailure['kind']): boolean {
  return kind !== 'server-error' && kind !== 'unreachable';
}

/** What a status means that is no answer to what was asked. */
export function failureOfStatus(status: number, contentType: string | null, told: string | null): RegistryFailure {
  if (status === 401) return { kind: 'authentication' };
  if (status === 403) return { kind: 'authorization' };
  if (status >= 500 || status === 408 || status === 425 || status === 429)
    return { kind: 'server-error', status, told };
  return { kind: 'not-a-registry', status, contentType };
}

/** Why no whole answer came. */
export function failureOfRequest(error: unknown, timeoutMs: number): RegistryFailure {
  if (!(error instanceof Error)) return { kind: 'unreachable', detail: String(error) };
  if (error.name === 'TimeoutError') return { kind: 'unreachable', detail: `no answer within ${timeoutMs} ms` };
  // fetch says only that it failed; why is in the cause.
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : null;
  if (code === null) return { kind: 'unreachable', detail: cause.message };
  if (isCertificateFault(code)) return { kind: 'certificate', code, detail: cause.message.slice(0, DETAIL_LENGTH_MAX) };
  return isTlsFault(code) ? { kind: 'tls', code } : { kind: 'unreachable', detail: code };
}

/** In a sentence of ours: a certificate may name a hundred hosts. */
const DETAIL_LENGTH_MAX = 200;

/** A sentence with what to do: a setting to mend, or a right to grant. */
function registryFailureInWords(failure: RegistryFailure, url: string): string {
  const where = `the schema registry at ${url}`;
  switch (failure.kind) {
    case 'authentication':
      return `${where} refused the log-in (HTTP 401): check SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD`;
    case 'authorization':
      return `${where} does not allow us this (HTTP 403): grant the user of SCHEMA_REGISTRY_USERNAME reads, and look-ups by POST /subjects/<subject>`;
    case 'certificate':
      return `the certificate of ${where} is not trusted (${failure.code}: ${failure.detail}): ${certificateRemedy(
        failure.code,
        {
          expired: 'the registry needs one that is valid now; check the clocks, too',
          name: 'SCHEMA_REGISTRY_URL must use a name that stands in it',
          authority:
            'name the file of the certificate authority that signed it in NODE_EXTRA_CA_CERTS, which is read at the start',
        },
      )}`;
    case 'tls':
      return `${where} does not speak TLS with us (${failure.code}): check scheme and port of SCHEMA_REGISTRY_URL`;
    case 'not-a-registry': {
      const form = failure.contentType === null ? 'without a content type' : `as ${failure.contentType}`;
      return `what answers at ${url} is no schema registry (HTTP ${failure.status} ${form}): check scheme, host and path of SCHEMA_REGISTRY_URL, the base of a Confluent-compatible interface, and what proxy stands before it`;
    }
    case 'subject-missing':
      return `${where} does not have our schema under ${failure.subjects.join(', ')}: for a new release or prefix run \`npm run cli -- schemas register\`; where it lost its data, restore that, for the messages in Kafka name the ids of before; where it is another registry, mend SCHEMA_REGISTRY_URL`;
    case 'server-error': {
      const told = failure.told === null ? '' : `: ${failure.told}`;
      return `${where} fails (HTTP ${failure.status}${told}): look at the registry, and at what stands before it; it is asked again`;
    }
    case 'unreachable':
      return `${where} does not answer (${failure.detail}): check SCHEMA_REGISTRY_URL, and that the registry is running`;
  }
}
