/** Looks one command up by its key. It asks once per search and keeps no key. */
import { byId, element, fillChildren, setText } from './elements.js';
import { OUTCOME_NEEDS_OPERATOR, timeOfDay } from './words.js';

/** @typedef {import('../command-state.ts').CommandState} CommandState */
/** @typedef {{ what: string, text: string, kind: 'warning' | 'bad' | false }} Fact */
/** @typedef {CommandState | { problem: string } | null} Answer */

/** What an HTTP header accepts as a key. */
const KEY_PATTERN = /^[\x21-\x7e]{1,200}$/;

export class Search {
  /** @type {(key: string) => Promise<Answer>} */
  #ask;
  #input = /** @type {HTMLInputElement} */ (byId('search-key'));
  /** Counts searches, so that a late answer to an older one is not shown. */
  #asked = 0;

  /** @param {(key: string) => Promise<Answer>} ask */
  constructor(ask) {
    this.#ask = ask;
    byId('search-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#lookUp(this.#input.value.trim());
    });
  }

  /** Clears the search: without the token, its data must not stay on the page. */
  forget() {
    this.#asked += 1;
    this.#input.value = '';
    this.#show('', []);
  }

  /** @param {string} key */
  async #lookUp(key) {
    this.#asked += 1;
    const asked = this.#asked;
    if (!KEY_PATTERN.test(key)) {
      this.#show('A key has 1 to 200 ASCII characters, without spaces.', []);
      return;
    }
    this.#show('Looking it up.', []);
    const answer = await this.#ask(key);
    if (asked !== this.#asked || answer === null) return;
    if ('problem' in answer) this.#show(`Not answered: ${answer.problem}`, []);
    else if (!answer.found) this.#show(`Not found: ${answer.reason}`, []);
    else this.#show(`As of ${timeOfDay(new Date())}. Look it up again before you act on it.`, factsOf(answer));
  }

  /**
   * @param {string} text
   * @param {readonly Fact[]} facts
   */
  #show(text, facts) {
    setText(byId('search-answer'), text);
    fillChildren(
      byId('search-result'),
      facts,
      () => element('div', {}, element('dt'), element('dd')),
      (part, { kind, text: fact, what }) => {
        const [name, value] = part.children;
        if (name === undefined || value === undefined) return;
        setText(name, what);
        setText(value, fact);
        value.className = kind === false ? '' : kind;
      },
    );
  }
}

/**
 * @param {Extract<CommandState, { found: true }>} state
 * @returns {Fact[]}
 */
function factsOf(state) {
  const { attempts, command, completed, copiesWaiting, deadline, decisions, detail, doubt, lane, outcome, owner } =
    state;
  const { phase, published, quoteId, revision, step, transactionId } = state;
  /** @type {[string, string | null, Fact['kind']?][]} */
  const rows = [
    ['Command', command],
    ['Phase', step === 'SINGLE' ? phase : `${phase} (step ${step})`, phase === 'DOUBTFUL' && 'warning'],
    ['Outcome', outcome ?? 'none yet', outcome !== null && OUTCOME_NEEDS_OPERATOR[outcome] && 'bad'],
    ['What it waits for', detail],
    ['Lane', owner === null ? `${lane}` : `${lane}, with ${owner}`],
    ['Calls that may have been sent', String(attempts)],
    ['Doubt', doubt === null ? 'none' : doubtText(doubt), doubt?.isSettled === false && 'warning'],
    ['Published', published],
    ['No call starts after', deadline],
    ['Completed', completed],
    ['Revision', String(revision)],
    ['Quote', quoteId],
    ['Transaction', transactionId],
    ['Waiting copies', copiesWaiting === 0 ? null : String(copiesWaiting)],
    ["Operators' decisions", decisions === 0 ? null : String(decisions)],
  ];
  return rows.flatMap(([what, text, kind = false]) => (text === null ? [] : [{ what, text, kind }]));
}

/** @param {import('../command-state.ts').CommandDoubt} doubt */
function doubtText({ isSettled, lastCallOver, ruledOutBy, since }) {
  const over = lastCallOver === null ? '' : `; the last call ended by ${lastCallOver}`;
  const ruledOut = ruledOutBy === 'LOOK_UP' ? 'a look-up' : 'an operator';
  const words = isSettled ? `settled; had been in doubt since ${since}` : `a call since ${since} may have taken effect`;
  return `${words}${over}${ruledOutBy === null ? '' : `; ${ruledOut} ruled out an effect`}`;
}
