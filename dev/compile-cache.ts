/** Where Node keeps compiled code between the many processes of tests and proofs. It saves half of the CPU time of a start. */
import { fileURLToPath } from 'node:url';

export const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));
