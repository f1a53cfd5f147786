/** Which runbooks apply to the story of a key. Pure. */
import type { Entry } from '../../../../src/ledger/entry.ts';
import { isUnknown, type Story } from './story.ts';

/** @returns paths within the repository, each once */
export function runbooksOf(story: Story): string[] {
  const entry = story.entries.at(-1)?.entry ?? null;
  const isWaiting = entry === null && story.messages.length > 0 && !isUnknown(story);
  const names = [
    ...(entry === null ? [] : runbooksOfEntry(entry)),
    ...(isWaiting ? ['PaymentsOldestUnansweredTooOld'] : []),
    ...(story.letters.length > 0 ? ['PaymentsDeadLetters'] : []),
  ];
  return [...new Set(names)].map((name) => `docs/runbooks/${name}.md`);
}

function runbooksOfEntry({ drops, phase, quotesRunOut }: Entry): string[] {
  const further = [
    ...(drops > 0 ? ['PaymentsOwnFailures'] : []),
    ...(quotesRunOut > 0 ? ['PaymentsCommandsExpired'] : []),
  ];
  switch (phase.state) {
    case 'INTENT':
    case 'PARKED':
    case 'QUOTED':
      return ['PaymentsOldestUnansweredTooOld', ...further];
    case 'DOUBTFUL':
      return ['PaymentsDoubtNotSettled', ...further];
    case 'DONE':
      break;
  }
  switch (phase.outcome) {
    case 'UNKNOWN':
      return ['unknown-results', ...further];
    case 'FAILED':
      return ['PaymentsOwnFailures', ...further];
    case 'EXPIRED':
      return ['PaymentsCommandsExpired', ...further];
    case 'ACCEPTED':
    case 'REFUSED':
    case 'INVALID':
    case 'CONFLICT':
      return further;
  }
}
