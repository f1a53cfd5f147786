/** `npm run generate` writes all generated files; with `--check` it only compares, and exits 1 if one is stale. */
import './record-types.ts';
import './schema-bundle.ts';
import './metrics-doc.ts';
import './settings-doc.ts';
import './chart-schema.ts';
import './chart-rights.ts';
import './dashboard.ts';
import './asyncapi.ts';
