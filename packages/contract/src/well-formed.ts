/**
 * Half of a surrogate pair has no UTF-8. In texts of the service we write U+FFFD instead (schemas.ts). A command with one is
 * INVALID, because the replacement would change its text.
 */

/** @returns the paths of all texts that are ill-formed, or whose name is */
export function illFormedPaths(value: unknown, path: readonly string[] = []): string[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [path.join('.')];
  if (Array.isArray(value)) return value.flatMap((part, index) => illFormedPaths(part, [...path, String(index)]));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    const partPath = [...path, name];
    return name.isWellFormed() ? illFormedPaths(part, partPath) : [partPath.join('.')];
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Buffer.isBuffer(value);
}
