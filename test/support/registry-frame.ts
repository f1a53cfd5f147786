/** Avro as a registry's serializer frames it: a zero byte, the schema's id in four bytes, the record. */
export function framed(id: number, avro: Uint8Array): Buffer {
  const header = Buffer.alloc(5);
  header.writeInt32BE(id, 1);
  return Buffer.concat([header, avro]);
}
