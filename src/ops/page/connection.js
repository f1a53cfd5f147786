/**
 * Polls the processor for the state of its group. The search also asks through it.
 *
 *   asking -> answered -> (2 s) -> asking
 *   asking -> not answering -> (2 s, doubled up to 30 s) -> asking
 *   asking -> token required -> (someone enters it) -> asking
 *
 * Owns the timer and the token, which it keeps in the tab's session storage. It asks nothing while the page is hidden.
 */

/** @typedef {import('../group/group-state.ts').GroupState} GroupState */
/** @typedef {import('../command-state.ts').CommandState} CommandState */
/** @typedef {{ sinceMs: number, problem: string }} Absence */
/**
 * @typedef {object} Listener
 * @property {(state: GroupState) => void} answered
 * @property {(absence: Absence) => void} notAnswering
 * @property {(wasRefused: boolean) => void} tokenRequired `wasRefused`: the token that was entered is wrong
 */

const PAUSE_MS = 2_000;
const PAUSE_MAX_MS = 30_000;
/** Above the server's own limit for an answer. */
const TIMEOUT_MS = 8_000;
const TOKEN_NAME = 'http-auth-token';

class TokenRequired extends Error {}

export class Connection {
  /** @type {Listener} */
  #listener;
  #failures = 0;
  /** @type {number | null} */
  #answeredMs = null;
  /** @type {number | null} */
  #failedMs = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #isAsking = false;

  /** @param {Listener} listener */
  constructor(listener) {
    this.#listener = listener;
    document.addEventListener('visibilitychange', () => this.#askNow());
    this.#askNow();
  }

  hasToken() {
    return sessionStorage.getItem(TOKEN_NAME) !== null;
  }

  /** @param {string} token */
  useToken(token) {
    sessionStorage.setItem(TOKEN_NAME, token);
    this.#askNow();
  }

  forgetToken() {
    sessionStorage.removeItem(TOKEN_NAME);
    this.#askNow();
  }

  /**
   * Asks for one command. The key goes in a header, because proxies log URLs.
   * @param {string} key
   * @returns {Promise<CommandState | { problem: string } | null>} null: the page must ask for the token first
   */
  async command(key) {
    try {
      return /** @type {CommandState} */ (await this.#get('/api/command', { 'command-key': key }));
    } catch (error) {
      if (!(error instanceof TokenRequired)) return { problem: problemOf(error) };
      this.#failed(error);
      return null;
    }
  }

  #askNow() {
    clearTimeout(this.#timer);
    if (!document.hidden && !this.#isAsking) void this.#ask();
  }

  async #ask() {
    this.#isAsking = true;
    try {
      this.#answered(/** @type {GroupState} */ (await this.#get('/api/group')));
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isAsking = false;
    }
  }

  /** @param {GroupState} state */
  #answered(state) {
    this.#failures = 0;
    this.#failedMs = null;
    this.#answeredMs = Date.now();
    this.#askLater(PAUSE_MS);
    // Outside the caller's try: an error in showing the state is our bug, and must not look like a missing answer.
    queueMicrotask(() => this.#listener.answered(state));
  }

  /** @param {unknown} error */
  #failed(error) {
    if (error instanceof TokenRequired) {
      const wasRefused = this.hasToken();
      sessionStorage.removeItem(TOKEN_NAME);
      this.#listener.tokenRequired(wasRefused);
      return;
    }
    this.#failedMs ??= Date.now();
    this.#listener.notAnswering({ sinceMs: this.#answeredMs ?? this.#failedMs, problem: problemOf(error) });
    this.#askLater(Math.min(PAUSE_MS * 2 ** this.#failures, PAUSE_MAX_MS));
    this.#failures += 1;
  }

  /** @param {number} pauseMs */
  #askLater(pauseMs) {
    if (!document.hidden) this.#timer = setTimeout(() => this.#askNow(), pauseMs);
  }

  /**
   * @param {string} path
   * @param {Readonly<Record<string, string>>} [headers]
   * @returns {Promise<unknown>}
   */
  async #get(path, headers = {}) {
    const token = sessionStorage.getItem(TOKEN_NAME);
    const response = await fetch(path, {
      headers: token === null ? headers : { ...headers, authorization: `Bearer ${token}` },
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.status === 401) throw new TokenRequired();
    if (!response.ok) throw new Error(`it answers HTTP ${response.status}`);
    return response.json();
  }
}

/** @param {unknown} error */
function problemOf(error) {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'no answer in time';
  // Each browser words a failed connection differently.
  if (error instanceof TypeError) return 'it cannot be reached';
  return error instanceof Error ? error.message : String(error);
}
