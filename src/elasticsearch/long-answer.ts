import { errors, Serializer } from "@elastic/elasticsearch";

import { JsonBytes, NOT_YET, OBJECT } from "../json/json-bytes.ts";
import { Yielder } from "../scheduling/yielding.ts";
import type { WorkKind } from "../scheduling/yielding.ts";

/** Length of JSON that is parsed at once, which takes about a millisecond. */
const AT_ONCE_LENGTH = 128 * 1024;

/** An answer too long to be parsed at once. */
export class LongAnswer {
  /** In UTF-8. */
  readonly json: Buffer;

  constructor(json: Buffer) {
    this.json = json;
  }
}

/** Parses short answers. Long ones become a {@link LongAnswer}, see {@link parsed}. */
export class AnswerSerializer extends Serializer {
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the client's signature
  override deserialize<T>(json: string): T {
    return json.length > AT_ONCE_LENGTH ? (new LongAnswer(Buffer.from(json)) as T) : super.deserialize<T>(json);
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
export async function parseInSteps(json: Buffer, querying: WorkKind, check: () => void = () => {}): Promise<unknown> {
  try {
    return await new StepwiseParser(json, new Yielder(querying, check)).parse();
  } catch (error) {
    if (error instanceof SyntaxError) throw new errors.DeserializationError(error.message, json.toString());
    throw error;
  }
}

/** Parses the members of long objects and lists one by one, and all other values at once. */
class StepwiseParser {
  readonly #json: JsonBytes;
  readonly #yielder: Yielder;
  /** End of the value parsed last. */
  #end = 0;

  constructor(json: Buffer, yielder: Yielder) {
    this.#json = new JsonBytes(json);
    this.#yielder = yielder;
  }

  async parse(): Promise<unknown> {
    const value = await this.#value(this.#json.skipBlank(0));
    this.#json.requireEnd(this.#end);
    return value;
  }

  async #value(start: number): Promise<unknown> {
    if (this.#yielder.isDue) await this.#yielder.turn();
    const { bytes } = this.#json;
    const end = this.#endOf(start);
    if (end === NOT_YET) return bytes[start] === OBJECT.open ? this.#object(start) : this.#list(start);
    this.#end = end;
    return JSON.parse(bytes.toString("utf8", start, end));
  }

  async #list(start: number): Promise<unknown[]> {
    const json = this.#json;
    const values: unknown[] = [];
    for (let at = json.firstOf(start); at !== -1; at = json.nextOf(this.#end)) values.push(await this.#value(at));
    this.#end = json.groupEnd;
    return values;
  }

  async #object(start: number): Promise<object> {
    const json = this.#json;
    const members: [string, unknown][] = [];
    for (let at = json.firstOf(start, OBJECT); at !== -1; at = json.nextOf(this.#end, OBJECT)) {
      const name = (await this.#value(at)) as string;
      members.push([name, await this.#value(json.valueAfter(this.#end))]);
    }
    this.#end = json.groupEnd;
    return Object.fromEntries(members);
  }

  /** Returns the end of a value; {@link NOT_YET} for an object or list that is too long. */
  #endOf(start: number): number {
    const json = this.#json;
    json.begin(start);
    const end = json.advance(start + AT_ONCE_LENGTH);
    return end === NOT_YET && !json.isNested ? json.advance(json.bytes.length) : end;
  }
}
