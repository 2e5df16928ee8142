import { LoggiaError } from "../../../errors.ts";
import { COMMA, LIST, OBJECT } from "../../../json/json-bytes.ts";
import { AT_ONCE_BYTES, withoutMark } from "../../kit/json.ts";
import { JsonScanner, STEP_BYTES } from "../../kit/json-scanner.ts";
import { readValue } from "../../kit/long-json.ts";
import type { Steps, Pending } from "../../kit/steps.ts";
import { PENDING } from "../../kit/steps.ts";

/** Error for a malformed object. Its number counts events from 0. */
export class BadObject extends LoggiaError {
  readonly number: number;

  constructor(number: number, why: string) {
    super("bad_body", `Event ${number} is not a JSON object: ${why}`);
    this.number = number;
  }
}

/** An object, and whether parts of it were left out because it is too long. */
export type ReadObject = { readonly value: Readonly<Record<string, unknown>>; readonly isCut: boolean };

/**
 * Yields the consecutive objects of a body, with or without white space or commas between them, or
 * within a list.
 * @throws BadObject
 */
export function* readSplunkObjects(given: Buffer): Generator<ReadObject | Pending> {
  const body = withoutMark(given);
  const scanner = new JsonScanner(body);
  let number = 0;
  for (let at = 0; ; number++) {
    for (let blanks = 0; isBetween(body[at]); at++) if (++blanks % STEP_BYTES === 0) yield PENDING;
    if (at >= body.length) return;
    if (body[at] !== OBJECT.open) throw new BadObject(number, "it does not begin with a brace");
    try {
      const { value, isCut, end } = yield* readValue(scanner, at);
      // It is an object, as it begins with a brace.
      yield { value: value as ReadObject["value"], isCut };
      at = end;
    } catch (error) {
      if (error instanceof LoggiaError) throw new BadObject(number, error.message);
      throw error;
    }
  }
}

/** Where an object begins and ends. */
export type ObjectSlice = { readonly start: number; readonly end: number };

/** Returns whether a line consists of JSON objects only, without anything between them. */
export function* isRunOfObjects(line: Buffer): Steps<boolean> {
  try {
    for (const read of objectSlices(line)) {
      if ("fault" in read) yield read;
      // The brackets of a longer object suffice: parsing it at once could take long.
      else if (read.end - read.start <= AT_ONCE_BYTES) JSON.parse(line.toString("utf8", read.start, read.end));
      yield PENDING;
    }
    return true;
  } catch (error) {
    if (error instanceof LoggiaError || error instanceof SyntaxError) return false;
    throw error;
  }
}

/** Yields where the consecutive objects of a line are. @throws LoggiaError if there is more */
export function* objectSlices(line: Buffer): Generator<ObjectSlice | Pending> {
  const scanner = new JsonScanner(line);
  for (let start = scanner.skipBlank(0); start < line.length;) {
    if (line[start] !== OBJECT.open) throw scanner.malformed(OBJECT.expected);
    const end = yield* scanner.endOf(start);
    yield { start, end };
    start = scanner.skipBlank(end) === line.length ? line.length : end;
  }
}

function isBetween(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === COMMA || byte === LIST.open || byte === LIST.close;
}
