/** The oldest Node is one fact: package.json says it, and a start on an older one says so and ends. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { NODE_MAJOR_MIN, nodeProblem } from '../../src/ops/node-version.ts';

test('package.json asks for the Node that the start asks for', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  expect(engines.node).toBe(`>=${NODE_MAJOR_MIN}`);
});

test.each(['22.23.3', '20.20.2', '23.11.1'])('Node %s is refused, with what to do', (version) => {
  expect(nodeProblem(version)).toBe(
    `this is Node ${version}, and the processor needs Node ${NODE_MAJOR_MIN} or newer: start it with npm start, which uses the Node that npm ci installs, or install a newer one`,
  );
});

test.each(['24.0.0', '24.21.0', '26.10.0', '100.0.0'])('Node %s is taken', (version) => {
  expect(nodeProblem(version)).toBeNull();
});
