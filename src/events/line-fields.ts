/** Fields of an event as a line spells them; `undefined` for an absent field. */
export type LineFields = {
  id: string | null | undefined;
  created: number | string | null | undefined;
  text: string | null | undefined;
  link: string | null | undefined;
  tags: readonly string[] | string | null | undefined;
  source: string | null | undefined;
  user: string | null | undefined;
  value: number | string | null | undefined;
  geo: unknown;
  data: string | null | undefined;
  /** The JSON of an object. What is between its braces is not validated. */
  attributes: string | null | undefined;
};

const QUOTE = 34;
const COLON = 58;

/** A field that `LineScanner` recognizes. */
export class Field {
  readonly name: keyof LineFields;
  /** Length of the name with its quotes and the colon, in bytes. */
  readonly length: number;
  /** The field's bit in a set of fields. */
  readonly bit: number;

  constructor(name: keyof LineFields, bit: number) {
    this.name = name;
    this.length = `"${name}":`.length;
    this.bit = bit;
  }
}

const ID = new Field("id", 1);
export const CREATED = new Field("created", 2);
const TEXT = new Field("text", 4);
const LINK = new Field("link", 8);
export const TAGS = new Field("tags", 16);
const SOURCE = new Field("source", 32);
const USER = new Field("user", 64);
export const VALUE = new Field("value", 128);
export const GEO = new Field("geo", 256);
const DATA = new Field("data", 512);
export const ATTRIBUTES = new Field("attributes", 1024);

/**
 * Returns the field whose name and colon are at `at`, or null. It compares four bytes at once, as a
 * little-endian number, because comparing single bytes is slower.
 */
export function fieldAt(bytes: Buffer, at: number): Field | null {
  if (bytes[at] !== QUOTE) return null;
  switch (wordAt(bytes, at + 1)) {
    case 0x74786574: // text
      return endsAt(bytes, at + 5) ? TEXT : null;
    case 0x73676174: // tags
      return endsAt(bytes, at + 5) ? TAGS : null;
    case 0x72756f73: // sour, urce
      return wordAt(bytes, at + 3) === 0x65637275 && endsAt(bytes, at + 7) ? SOURCE : null;
    case 0x72657375: // user
      return endsAt(bytes, at + 5) ? USER : null;
    case 0x756c6176: // valu, alue
      return wordAt(bytes, at + 2) === 0x65756c61 && endsAt(bytes, at + 6) ? VALUE : null;
    case 0x61657263: // crea, ated
      return wordAt(bytes, at + 4) === 0x64657461 && endsAt(bytes, at + 8) ? CREATED : null;
    case 0x3a226469: // id":
      return ID;
    case 0x6b6e696c: // link
      return endsAt(bytes, at + 5) ? LINK : null;
    case 0x61746164: // data
      return endsAt(bytes, at + 5) ? DATA : null;
    case 0x72747461: // attr, ibut, utes
      return wordAt(bytes, at + 5) === 0x74756269 && wordAt(bytes, at + 7) === 0x73657475 && endsAt(bytes, at + 11)
        ? ATTRIBUTES
        : null;
    case 0x226f6567: // geo"
      return endsAt(bytes, at + 4) ? GEO : null;
    default:
      return null;
  }
}

function wordAt(bytes: Buffer, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** Whether a closing quote and a colon are at `at`. */
function endsAt(bytes: Buffer, at: number): boolean {
  return bytes[at] === QUOTE && bytes[at + 1] === COLON;
}

export function emptyFields(): LineFields {
  return {
    id: undefined,
    created: undefined,
    text: undefined,
    link: undefined,
    tags: undefined,
    source: undefined,
    user: undefined,
    value: undefined,
    geo: undefined,
    data: undefined,
    attributes: undefined,
  };
}
