/** Where Node keeps compiled code between the many processes of tests and proofs: half of what a start takes on processors. */
import { fileURLToPath } from 'node:url';

export const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));
