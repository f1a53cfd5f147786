/**
 * The page asks a processor for the state of its group and shows it. If there is no answer, it says since when; if a token is
 * required, it asks for it.
 */
import { Connection } from './connection.js';
import { byId, clearAll, setText } from './elements.js';
import { showAbsence, showOverview } from './overview.js';
import { Search } from './search.js';
import { showMembers, showTimeline } from './members.js';
import { showTables } from './tables.js';
import { duration, timeOfDay } from './words.js';

/** How often the page updates how long the processor has not answered. */
const TICK_MS = 1_000;
/** What an HTTP header accepts. */
const TOKEN_PATTERN = /^[\x21-\x7e]+$/;

const state = byId('state');
const waiting = byId('waiting');
const tokenForm = byId('token-form');
const tokenInput = /** @type {HTMLInputElement} */ (byId('token'));
const forgetToken = byId('forget-token');
const freshness = byId('freshness');

/** @type {import('./connection.js').Absence | null} */
let absence = null;

const connection = new Connection({
  answered: (answer) => {
    absence = null;
    document.body.classList.remove('not-answering');
    reveal(state);
    forgetToken.hidden = !connection.hasToken();
    // If another release answers, showing its state may throw.
    setText(freshness, 'Cannot be shown: reload the page');
    showOverview(answer);
    showTables(answer);
    showMembers(answer);
    showTimeline(answer);
    setText(freshness, 'Live');
  },
  notAnswering: (gone) => {
    absence = gone;
    document.body.classList.add('not-answering');
    document.title = 'Not answering - Payment processor';
    if (state.hidden && tokenForm.hidden) reveal(waiting);
    updateAbsence();
  },
  tokenRequired: (wasRefused) => {
    absence = null;
    document.body.classList.remove('not-answering');
    clearAll();
    search.forget();
    document.title = 'Payment processor';
    setText(freshness, '');
    forgetToken.hidden = true;
    const isNew = tokenForm.hidden;
    reveal(tokenForm);
    setText(byId('token-problem'), wasRefused ? 'The processor does not accept this token.' : '');
    if (isNew || wasRefused) tokenInput.focus();
  },
});

const search = new Search((key) => connection.command(key));

setInterval(updateAbsence, TICK_MS);
forgetToken.addEventListener('click', () => connection.forgetToken());
tokenForm.addEventListener('submit', (event) => {
  event.preventDefault();
  const token = tokenInput.value.trim();
  tokenInput.value = '';
  if (TOKEN_PATTERN.test(token)) connection.useToken(token);
  else setText(byId('token-problem'), 'A token consists of ASCII characters without spaces.');
});

/** Shows one of three parts: the state, the token form, or the waiting notice. @param {HTMLElement} shown */
function reveal(shown) {
  for (const part of [state, waiting, tokenForm]) part.hidden = part !== shown;
  byId('find').hidden = state.hidden;
}

function updateAbsence() {
  if (absence === null) return;
  const since = `${timeOfDay(new Date(absence.sinceMs))} (${duration(Math.round((Date.now() - absence.sinceMs) / 1000))})`;
  const text = `Not answering since ${since}: ${absence.problem}`;
  setText(freshness, 'Not answering');
  if (state.hidden) setText(waiting, text);
  else showAbsence(text);
}
