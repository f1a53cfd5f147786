/** Set in the worker of a test before the test loads the processor: see mutated-tests.ts. */
import { inject } from 'vitest';

Object.assign(globalThis, { mutationInForce: inject('mutationInForce') });
