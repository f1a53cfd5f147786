/** Prints the phase of an entry of lane 0: `node reading-process.ts <state directory> <key>`. */
import { openIndex } from './index-in-test.ts';

const [stateDirectory = '', key = ''] = process.argv.slice(2);
const { index } = await openIndex(stateDirectory);
console.log(index.entry(0, key)?.phase.state);
await index.close();
