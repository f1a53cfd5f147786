/** A transaction or quote that is too long for its record, reduced to what determines its status. Pure. */

const TEXT_LENGTH_MAX = 1024;

/** The id and the short texts; null in place of everything else. */
export function shortTexts<Resource extends { id: string }>(resource: Resource): Resource {
  const isShort = (value: unknown): boolean => typeof value === 'string' && value.length <= TEXT_LENGTH_MAX;
  const members = Object.entries(resource).map(([name, value]: [string, unknown]) => [
    name,
    isShort(value) ? value : null,
  ]);
  return { ...(Object.fromEntries(members) as Resource), id: resource.id };
}
