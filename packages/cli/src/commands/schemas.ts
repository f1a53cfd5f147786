/** `schemas register` and `schemas check`. */
import type { CliCommand } from '../cli-command.ts';
import { requireSettings } from '../context.ts';
import { CliFailure } from '../exit-codes.ts';
import {
  COMPATIBILITY,
  readSubjects,
  SUBJECT_SETTING_NAMES,
  registerSubjects,
  subjectProblem,
} from '../schema-subjects.ts';

export function addSchemasCommand(program: CliCommand): void {
  const schemas = program.command('schemas').description('register and check the Avro schemas');
  schemas
    .command('register')
    .description(
      `register missing schemas under <topic>-value with compatibility ${COMPATIBILITY}; running it again changes nothing`,
    )
    .details(
      `
If a subject has versions already, it first sets that compatibility level, then checks our schema against those versions.
An incompatible schema is not registered; the new level stays, and the exit code is 6.
Settings: SCHEMA_REGISTRY_URL, SCHEMA_REGISTRY_USERNAME, SCHEMA_REGISTRY_PASSWORD, TOPIC_PREFIX.

Examples:
  $ npm run cli -- schemas register
  $ TOPIC_PREFIX=payments-staging npm run cli -- schemas register`,
    )
    .runs(async (output) => {
      for (const registration of await registerSubjects(requireSettings(SUBJECT_SETTING_NAMES))) {
        const { action, subject, record, schemaId } = registration;
        output.document(registration, `${action.padEnd(10)} ${subject} (${record}, schema id ${schemaId})`);
      }
    });
  schemas
    .command('check')
    .description('compare the registry with our schemas; changes nothing')
    .details(
      `
Exits with 6 when a schema is missing or incompatible, when a subject's latest version is not ours, or when its
compatibility level is not ${COMPATIBILITY}.

Examples:
  $ npm run cli -- schemas check
  $ npm run --silent cli -- --output json schemas check | jq 'select(.problem != null)'`,
    )
    .runs(async (output) => {
      const states = await readSubjects(requireSettings(SUBJECT_SETTING_NAMES));
      const problems = states.map((state) => ({ ...state, problem: subjectProblem(state) }));
      for (const state of problems) {
        output.document(
          state,
          state.problem ?? `ok        ${state.subject} (${state.record}, schema id ${state.schemaId ?? ''})`,
        );
      }
      const count = problems.filter((state) => state.problem !== null).length;
      if (count > 0) throw new CliFailure('problemsFound', `${count} of ${states.length} subjects have problems`);
    });
}
