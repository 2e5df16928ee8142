import { LoggiaError } from "../../../errors.ts";
import { isObject, parseExactly, withoutMark } from "../json.ts";

const [QUOTE, BACKSLASH, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST, COMMA] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d, 0x2c];

/** What cannot be read is the event of this number, from 0. */
export class BadObject extends LoggiaError {
  readonly number: number;

  constructor(number: number, why: string) {
    super("bad_body", `Event ${number} is no object of JSON: ${why}`);
    this.number = number;
  }
}

/**
 * The objects of a body in which they run together, with or without white space or commas between
 * them; a list around them all is taken, too.
 * @throws BadObject
 */
export function* objectsOf(given: Buffer): Generator<Readonly<Record<string, unknown>>> {
  const body = withoutMark(given);
  let number = 0;
  for (let at = 0; ; number++) {
    while (isBetween(body[at])) at += 1;
    if (at >= body.length) return;
    if (body[at] !== OPEN) throw new BadObject(number, "it does not begin with a brace");
    const end = endOfObject(body, at);
    if (end === -1) throw new BadObject(number, "it has no end");
    const text = body.toString("utf8", at, end);
    let value: unknown;
    try {
      value = parseExactly(text);
    } catch (error) {
      throw new BadObject(number, (error as Error).message);
    }
    if (!isObject(value)) throw new BadObject(number, "it is none");
    yield value;
    at = end;
  }
}

function isBetween(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === COMMA || byte === OPEN_LIST || byte === CLOSE_LIST;
}

/** Where the object ends that begins at `start`; -1 where it does not. */
function endOfObject(body: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < body.length; at++) {
    const byte = body[at];
    if (byte === QUOTE) {
      at = endOfText(body, at + 1);
      if (at === -1) return -1;
    } else if (byte === OPEN) depth += 1;
    else if (byte === CLOSE && --depth === 0) return at + 1;
  }
  return -1;
}

/** Where the quote is that ends a text; -1 where there is none. */
function endOfText(body: Buffer, start: number): number {
  for (let at = start; at < body.length; at++) {
    const byte = body[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return -1;
}
