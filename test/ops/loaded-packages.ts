/** Loaded before a processor's own code (`node --import`): prints which OpenTelemetry packages the processor loads. */
import { registerHooks } from 'node:module';

const told = new Set<string>();

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier.startsWith('@opentelemetry/') && !told.has(specifier)) {
      told.add(specifier);
      console.log(JSON.stringify({ event: 'package-loaded', package: specifier }));
    }
    return nextResolve(specifier, context);
  },
});
