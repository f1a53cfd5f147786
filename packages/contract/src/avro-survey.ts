/**
 * Walks the bytes of an Avro value by its writer's type before the decoder does. So no input can make the decoder run,
 * allocate or recurse without bound. It also finds values that decoding would drop silently: fields that the reader's schema
 * lacks, and map entries that JavaScript objects lose.
 *
 * It reads every byte once and limits the number of values and their nesting.
 */
import { isUtf8 } from 'node:buffer';
import type avsc from 'avsc';
import { NESTING_MAX, shownPath } from './json-ambiguity.ts';

/** About a hundred times the values of a large result. Some values take no bytes, so limiting the size is not enough. */
const VALUES_MAX = 100_000;
/** JavaScript objects cannot have an entry of this name. */
const LOST_NAME = '__proto__';
const LONG_BYTES_MAX = 10;
const INT_MAX = 2 ** 31 - 1;
const CUT_SHORT = 'they end before the value does';

/** An avsc type as data. Members after `typeName` exist only for some kinds of type. */
export interface AvroType {
  readonly typeName: string;
  readonly fields: readonly { readonly name: string; readonly type: AvroType; readonly defaultValue: () => unknown }[];
  readonly itemsType: AvroType;
  readonly valuesType: AvroType;
  readonly types: readonly AvroType[];
  readonly symbols: readonly string[];
  readonly size: number;
}

export function avroTypeOf(type: avsc.Type): AvroType {
  return type as unknown as AvroType;
}

/** A non-null value that the reader would not see. */
export interface LostValue {
  /** Names and indexes from the root. */
  readonly path: readonly (string | number)[];
  readonly bytes: Buffer;
}

/** The bytes do not match the schema; the message says why. */
class AvroBytesError extends Error {}

/**
 * @param reader our own type of the record
 * @throws AvroBytesError
 */
export function surveyAvro(bytes: Buffer, writer: AvroType, reader: AvroType): LostValue[] {
  const walk = new Walk(bytes);
  walk.value(writer, reader, []);
  walk.end();
  return walk.lost;
}

type Path = readonly (string | number)[];

class Walk {
  readonly lost: LostValue[] = [];
  readonly #bytes: Buffer;
  #at = 0;
  #values = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  end(): void {
    const left = this.#bytes.length - this.#at;
    if (left > 0) throw new AvroBytesError(`${left} bytes follow the value`);
  }

  /**
   * @param reader null if the reader has no such field
   * @returns whether it is null
   */
  value(type: AvroType, reader: AvroType | null, path: Path): boolean {
    this.#values += 1;
    if (this.#values > VALUES_MAX) throw new AvroBytesError(`it has more than ${VALUES_MAX} values`);
    if (path.length > NESTING_MAX) throw new AvroBytesError(`it is nested more than ${NESTING_MAX} deep`);
    switch (type.typeName) {
      case 'null':
        return true;
      case 'union:wrapped':
      case 'union:unwrapped':
        return this.value(this.#oneOf(type.types, 'branch'), reader, path);
      case 'boolean':
        if (this.#byte() > 1) throw new AvroBytesError(`${placeOf(path)} is neither 0 nor 1`);
        return false;
      case 'int':
        this.#integer(INT_MAX);
        return false;
      case 'abstract:long':
        this.#integer();
        return false;
      case 'float':
        this.#take(4);
        return false;
      case 'double':
        this.#take(8);
        return false;
      case 'fixed':
        this.#take(type.size);
        return false;
      case 'enum':
        this.#oneOf(type.symbols, 'symbol');
        return false;
      case 'bytes':
        if (matching(type, reader)?.typeName === 'string') this.#text(path);
        else this.#take(this.#integer());
        return false;
      case 'string':
        this.#text(path);
        return false;
      case 'array':
        this.#array(type.itemsType, matching(type, reader), path);
        return false;
      case 'map':
        this.#map(type.valuesType, matching(type, reader), path);
        return false;
      case 'record':
        this.#record(type, matching(type, reader), path);
        return false;
      default:
        throw new AvroBytesError(`the type ${type.typeName} is not supported`);
    }
  }

  #record(type: AvroType, reader: AvroType | null, path: Path): void {
    for (const field of type.fields) {
      const known = reader?.typeName === 'record' ? reader.fields.find(({ name }) => name === field.name) : undefined;
      const fieldPath = [...path, field.name];
      const start = this.#at;
      const isNull = this.value(field.type, known?.type ?? null, fieldPath);
      if (reader !== null && known === undefined && !isNull) this.#lose(fieldPath, start);
    }
  }

  #array(items: AvroType, reader: AvroType | null, path: Path): void {
    const itemReader = reader?.typeName === 'array' ? reader.itemsType : null;
    let index = 0;
    this.#eachItem(() => {
      this.value(items, itemReader, [...path, index]);
      index += 1;
    });
  }

  #map(values: AvroType, reader: AvroType | null, path: Path): void {
    const names = new Set<string>();
    const valueReader = reader?.typeName === 'map' ? reader.valuesType : null;
    this.#eachItem(() => {
      const name = this.#text(path);
      const entryPath = [...path, name];
      if (names.has(name)) throw new AvroBytesError(`the entry ${placeOf(entryPath)} appears twice: send it once`);
      names.add(name);
      const start = this.#at;
      this.value(values, valueReader, entryPath);
      if (reader !== null && name === LOST_NAME) this.#lose(entryPath, start);
    });
  }

  #lose(path: Path, start: number): void {
    this.lost.push({ path, bytes: this.#bytes.subarray(start, this.#at) });
  }

  /** A block with a negative count also states its length in bytes. A decoder that skips it trusts that length. */
  #eachItem(item: () => void): void {
    for (;;) {
      const count = this.#integer();
      if (count === 0) return;
      const statedBytes = count < 0 ? this.#integer() : null;
      const start = this.#at;
      for (let left = Math.abs(count); left > 0; left -= 1) item();
      if (statedBytes !== null && statedBytes !== this.#at - start) {
        throw new AvroBytesError(`a block of ${this.#at - start} bytes states a length of ${statedBytes}`);
      }
    }
  }

  #oneOf<Choice>(choices: readonly Choice[], what: string): Choice {
    const index = this.#integer(INT_MAX);
    const choice = choices[index];
    if (choice === undefined) throw new AvroBytesError(`there is no ${what} ${index}`);
    return choice;
  }

  #text(path: Path): string {
    const taken = this.#take(this.#integer());
    if (!isUtf8(taken)) throw new AvroBytesError(`the text of ${placeOf(path)} is not UTF-8`);
    return taken.toString();
  }

  /**
   * Zigzag varint of up to 64 bits. Values beyond a double's precision are inexact, but no valid length or count is that
   * large.
   */
  #integer(max = Infinity): number {
    let bits = 0;
    let unit = 1;
    for (let index = 0; index < LONG_BYTES_MAX; index += 1) {
      const byte = this.#byte();
      bits += (byte & 0x7f) * unit;
      unit *= 0x80;
      if (byte >= 0x80) continue;
      const value = bits % 2 === 0 ? bits / 2 : -(bits + 1) / 2;
      const isLong = index < LONG_BYTES_MAX - 1 || byte <= 1;
      if (!isLong || value > max || value < -max - 1) break;
      return value;
    }
    throw new AvroBytesError('an integer is out of range');
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new AvroBytesError(CUT_SHORT);
    this.#at += 1;
    return byte;
  }

  #take(length: number): Buffer {
    if (length < 0) throw new AvroBytesError('a length is negative');
    if (length > this.#bytes.length - this.#at) throw new AvroBytesError(CUT_SHORT);
    const start = this.#at;
    this.#at += length;
    return this.#bytes.subarray(start, this.#at);
  }
}

/** The part of the reader's type that reads this writer's type: in a union, the branch of the same kind. */
function matching({ typeName }: AvroType, reader: AvroType | null): AvroType | null {
  if (reader?.typeName.startsWith('union:') !== true) return reader;
  const names = typeName === 'bytes' ? ['bytes', 'string'] : [typeName];
  return reader.types.find((branch) => names.includes(branch.typeName)) ?? null;
}

function placeOf(path: Path): string {
  return shownPath(path.join('.'));
}
