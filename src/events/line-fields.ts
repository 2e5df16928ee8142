import { KEYWORD_FIELDS } from "./keywords.ts";
import type { KeywordField } from "./keywords.ts";
import { mapKeywords } from "./map-keywords.ts";
import { objectMaker } from "./object-maker.ts";

type LineText = string | null | undefined;

/** Fields of an event as a line spells them; `undefined` for an absent field. */
export type LineFields = { -readonly [Name in KeywordField]: LineText } & {
  id: LineText;
  created: number | string | null | undefined;
  text: LineText;
  tags: readonly string[] | string | null | undefined;
  value: number | string | null | undefined;
  geo: unknown;
  data: LineText;
  /** The JSON of an object. What is between its braces is not validated. */
  attributes: LineText;
};

type OtherField = Exclude<keyof LineFields, KeywordField>;

/** A field that `LineScanner` recognizes. */
export type Field = NamedField<KeywordField, true> | NamedField<OtherField, false>;

class NamedField<Name extends keyof LineFields, IsKeyword extends boolean> {
  readonly name: Name;
  readonly isKeyword: IsKeyword;
  /** Length of the name with its quotes and the colon, in bytes. */
  readonly length: number;
  /** The field's bit in a set of fields. */
  readonly bit: number;
  /** The name with its closing quote and the colon. */
  readonly bytes: Uint8Array;
  /** The first four of these bytes, and the last four, which may overlap. */
  readonly first: number;
  readonly last: number;
  /** The next field of the same slot of {@link SLOTS}. */
  readonly next: Field | null;

  constructor(name: Name, isKeyword: IsKeyword, bit: number) {
    this.name = name;
    this.isKeyword = isKeyword;
    this.bit = bit;
    this.bytes = Buffer.from(`${name}":`);
    this.length = 1 + this.bytes.length;
    this.first = wordAt(this.bytes, 0);
    this.last = wordAt(this.bytes, this.bytes.length - 4);
    this.next = SLOTS[slotForWord(this.first)]!;
  }
}

const QUOTE = 34;
const SLOT_BITS = 6;
/** Odd, and close to 2^32 divided by the golden ratio. */
const FACTOR = 0x9e3779b1;
/** The fields by the first bytes of their names. */
const SLOTS = Array.from({ length: 1 << SLOT_BITS }, (): Field | null => null);

function slotForWord(word: number): number {
  return Math.imul(word, FACTOR) >>> (32 - SLOT_BITS);
}

function add<Added extends Field>(field: Added): Added {
  SLOTS[slotForWord(field.first)] = field;
  return field;
}

export const CREATED = add(new NamedField("created", false, 1));
export const TAGS = add(new NamedField("tags", false, 2));
export const VALUE = add(new NamedField("value", false, 4));
export const GEO = add(new NamedField("geo", false, 8));
export const ATTRIBUTES = add(new NamedField("attributes", false, 16));
for (const [i, name] of (["id", "text", "data"] as const).entries()) add(new NamedField(name, false, 32 << i));
for (const [i, name] of KEYWORD_FIELDS.entries()) add(new NamedField(name, true, 256 << i));

/**
 * Returns the field whose name and colon are at `at`, or null. It compares four bytes at once, as a
 * little-endian number, because comparing single bytes is slower.
 */
export function fieldAt(bytes: Buffer, at: number): Field | null {
  if (bytes[at] !== QUOTE) return null;
  const first = wordAt(bytes, at + 1);
  let field: Field | null = SLOTS[slotForWord(first)]!;
  while (field !== null && !(field.first === first && hasRest(field, bytes, at))) field = field.next;
  return field;
}

/** Whether the name of a field is at `at`, given that its first four bytes are. */
function hasRest({ bytes: name, length, last }: Field, bytes: Buffer, at: number): boolean {
  if (wordAt(bytes, at + length - 4) !== last) return false;
  for (let i = 4; i < length - 5; i++) if (bytes[at + 1 + i] !== name[i]) return false;
  return true;
}

function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

export const emptyFields = objectMaker<[], LineFields>([], {
  id: "undefined",
  created: "undefined",
  text: "undefined",
  ...mapKeywords(() => "undefined"),
  tags: "undefined",
  value: "undefined",
  geo: "undefined",
  data: "undefined",
  attributes: "undefined",
});
