/** Starts the engine, prints its process ids as JSON, and stays. Argument: the engine's directory. */
import { startEngine } from '../src/start.ts';

const engine = await startEngine({ directory: process.argv[2] ?? '' });
console.log(JSON.stringify({ pids: [engine.broker(0).pid, engine.registry.pid] }));
