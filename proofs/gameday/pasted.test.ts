/** How commands are taken from a runbook's text. */
import { expect, test } from 'vitest';
import { commandIn, filledIn, runbookText } from './pasted.ts';

const TEXT = `
1. \`cli dead-letters list --open\`, then \`cli dead-letters show P/O\`:

   \`\`\`sh
   kafka-topics.sh --bootstrap-server "$KAFKA_BROKERS" --describe --topic TOPIC
   \`\`\`
`;

test('commands are found in code spans and blocks, and a missing one is a failure', () => {
  expect(commandIn(TEXT, 'cli dead-letters show')).toBe('cli dead-letters show P/O');
  expect(commandIn(TEXT, 'kafka-topics.sh')).toMatch(/^kafka-topics\.sh .+ --topic TOPIC$/);
  expect(commandIn('Remove it, `kubectl exec "$POD" -- rm FILE`.', 'kubectl')).toBe('kubectl exec "$POD" -- rm FILE');
  expect(() => commandIn(TEXT, 'cli lag')).toThrow('no command of the runbook begins with cli lag');
});

test('placeholders are filled in: all in the text, and no others', () => {
  expect(filledIn('cli show P/O', { 'P/O': '0/7' })).toBe('cli show 0/7');
  expect(filledIn('cli resolve KEY --reason "..."', { KEY: 'a-KEY', '"..."': '"tried"' })).toBe(
    'cli resolve a-KEY --reason "tried"',
  );
  expect(() => filledIn('cli show KEY', {})).toThrow('KEY is not filled in');
  expect(() => filledIn('cli lag', { KEY: 'a' })).toThrow('has no KEY to fill in');
});

test('values in capitals are not placeholders', async () => {
  const text = await runbookText('PaymentsDoubtNotSettled');
  expect(filledIn(commandIn(text, 'cli unfinished list'), {})).toBe('cli unfinished list --phase DOUBTFUL');
});
