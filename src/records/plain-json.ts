/** JSON of private records that hold int64 as bigint: written as {"$int64": "<digits>"}, read back as bigint. */

export function encodePlain(record: object): Buffer {
  return Buffer.from(
    JSON.stringify(record, (_name, member: unknown) =>
      typeof member === 'bigint' ? { $int64: member.toString() } : member,
    ),
  );
}

/** @throws SyntaxError for bytes that are not JSON */
export function decodePlain(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString(), (_name, member: unknown) =>
    typeof member === 'object' && member !== null && '$int64' in member ? BigInt(member.$int64 as string) : member,
  ) as unknown;
}
