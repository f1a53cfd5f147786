/** Loaded into a processor before its own code (`node --import`): tells by a line which packages of OpenTelemetry it loads. */
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
