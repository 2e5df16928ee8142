import { errors, Serializer } from "@elastic/elasticsearch";

import { Yielder } from "../scheduling/yielding.ts";
import type { WorkKind } from "../scheduling/yielding.ts";

/** Length of JSON that is parsed at once, which takes about a millisecond. */
const AT_ONCE_LENGTH = 128 * 1024;

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** An answer too long to be parsed at once. */
export class LongAnswer {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

/** Parses short answers. Long ones become a {@link LongAnswer}, see {@link parsed}. */
export class AnswerSerializer extends Serializer {
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the client's signature
  override deserialize<T>(json: string): T {
    return json.length > AT_ONCE_LENGTH ? (new LongAnswer(json) as T) : super.deserialize<T>(json);
  }
}

/**
 * Returns an answer of the client, parsed in steps that let other work run if it is long.
 * @param check called between steps; throws if the answer is no longer wanted
 * @throws DeserializationError if the answer is not JSON
 */
export async function parsed(answer: unknown, querying: WorkKind, check: () => void): Promise<unknown> {
  if (answer instanceof LongAnswer) return parseInSteps(answer.json, querying, check);
  const { body } = (answer ?? {}) as { readonly body?: unknown };
  return body instanceof LongAnswer
    ? { ...(answer as object), body: await parseInSteps(body.json, querying, check) }
    : answer;
}

/**
 * Parses JSON of any length as `JSON.parse` does, yielding in between.
 * @param check called between steps; throws if the value is no longer wanted
 * @throws DeserializationError
 */
export async function parseInSteps(json: string, querying: WorkKind, check: () => void = () => {}): Promise<unknown> {
  try {
    return await new StepwiseParser(json, new Yielder(querying, check)).parse();
  } catch (error) {
    if (error instanceof SyntaxError) throw new errors.DeserializationError(error.message, json);
    throw error;
  }
}

/** The end of a value lies beyond the limit. */
const BEYOND = -1;

/** Parses the members of long objects and lists one by one, and all other values at once. */
class StepwiseParser {
  readonly #json: string;
  readonly #yielder: Yielder;
  #at = 0;

  constructor(json: string, yielder: Yielder) {
    this.#json = json;
    this.#yielder = yielder;
  }

  async parse(): Promise<unknown> {
    this.#skipBlank();
    const value = await this.#value();
    this.#skipBlank();
    if (this.#at < this.#json.length) this.#fail();
    return value;
  }

  async #value(): Promise<unknown> {
    if (this.#yielder.isDue) await this.#yielder.turn();
    const start = this.#at;
    const end = this.#endOf(start);
    if (end === BEYOND) return this.#json.charCodeAt(start) === OPEN ? this.#object() : this.#list();
    this.#at = end;
    return JSON.parse(this.#json.slice(start, end));
  }

  async #list(): Promise<unknown[]> {
    const values: unknown[] = [];
    // Neither a list nor an object that is this long is empty.
    do {
      this.#at += 1;
      this.#skipBlank();
      values.push(await this.#value());
      this.#skipBlank();
    } while (this.#byte === COMMA);
    this.#pass(CLOSE_LIST);
    return values;
  }

  async #object(): Promise<object> {
    const members: [string, unknown][] = [];
    do {
      this.#at += 1;
      this.#skipBlank();
      if (this.#byte !== QUOTE) this.#fail();
      const name = (await this.#value()) as string;
      this.#skipBlank();
      this.#pass(COLON);
      this.#skipBlank();
      members.push([name, await this.#value()]);
      this.#skipBlank();
    } while (this.#byte === COMMA);
    this.#pass(CLOSE);
    return Object.fromEntries(members);
  }

  /** Returns the end of a value; {@link BEYOND} of an object or list that is too long. */
  #endOf(start: number): number {
    const json = this.#json;
    const limit = Math.min(json.length, start + AT_ONCE_LENGTH);
    let depth = 0;
    for (let at = start; at < limit; at++) {
      const code = json.charCodeAt(at);
      if (code === QUOTE) {
        at = this.#lastOfText(at);
        if (depth === 0) return at + 1;
      } else if (code === OPEN || code === OPEN_LIST) depth += 1;
      else if (code === CLOSE || code === CLOSE_LIST) {
        if (depth === 0) return at;
        if (--depth === 0) return at + 1;
      } else if (depth === 0 && (code === COMMA || isBlank(code))) return at;
    }
    if (depth === 0) return limit;
    if (limit === json.length) this.#fail();
    return BEYOND;
  }

  /** Returns the position of the quote that ends the text whose first quote is at `start`. */
  #lastOfText(start: number): number {
    const json = this.#json;
    for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
      let before = at;
      while (json.charCodeAt(before - 1) === BACKSLASH) before -= 1;
      if ((at - before) % 2 === 0) return at;
    }
    return this.#fail();
  }

  get #byte(): number {
    return this.#json.charCodeAt(this.#at);
  }

  #skipBlank(): void {
    while (isBlank(this.#byte)) this.#at += 1;
  }

  #pass(code: number): void {
    if (this.#byte !== code) this.#fail();
    this.#at += 1;
  }

  #fail(): never {
    throw new SyntaxError(`Malformed JSON near position ${this.#at}`);
  }
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
