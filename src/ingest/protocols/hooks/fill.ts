import type { AttributeValue } from "../../../events/attributes.ts";
import { HIGHEST_LIMITS } from "../../../events/limits.ts";
import { SharedParts } from "../../kit/amplification.ts";
import type { SharedPart } from "../../kit/amplification.ts";
import { parseTemplate } from "../../../catalog/hook-template.ts";
import type {
  Path,
  TemplatePattern,
  HookTemplate,
  TemplateField,
  TemplateSource,
} from "../../../catalog/hook-template.ts";
import { compactJson, flattenInto, put } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { CUT_TAG, tagIfCut } from "../../kit/cut-tag.ts";
import type { ProducerEvent, ReadEvent, Received } from "../../kit/endpoint.ts";
import { parseSeverity } from "../../kit/severity.ts";
import { isTimeExpected, readProducerTime } from "../../kit/times.ts";
import { follow, headerText, payloadItems, readPayload, payloadText, MAX_COMMON_LENGTH } from "./payload.ts";

/** Length limit of one value in a field: a character has at most two units. */
const MAX_VALUE_LENGTH = 2 * HIGHEST_LIMITS.data + 1;
/** Maximum number of attributes around a list that are copied to each of its items. */
const MAX_COMMON_ATTRIBUTES = 64;
const MAX_TAGS_OF_VALUE = 50;
const LONGEST_TAG = 200;

/**
 * Applies a template to a request. Yields one event, or one for each item of the template's list.
 * @throws LoggiaError `bad_body`
 */
export function* fillTemplate(source: TemplateSource, received: Received): Generator<ReadEvent> {
  const template = parseTemplate(source);
  const payload = yield* readPayload(received);
  const { value: body, isCut } = payload;
  const filler = new Filler(template, body, received.headers);
  const items = template.each === null ? null : yield* payloadItems(payload, template.each.steps);
  const parts = new SharedParts(received);
  let around: SharedPart | null = null;
  for (const item of items ?? []) {
    if ("fault" in item) {
      yield item;
      continue;
    }
    around ??= aroundOf(body, template.each!.steps, parts);
    yield tagIfCut(item.isCut, filler.event(item.value, parts.take(around)));
  }
  // A body without the list becomes one event, so that it is not lost.
  if (around === null) yield tagIfCut(isCut, filler.event(body, parts.part(new Map())));
}

class Filler {
  readonly #template: HookTemplate;
  readonly #body: unknown;
  readonly #headers: Received["headers"];
  /** Texts of paths into the whole body. They are the same for each item. */
  readonly #ofBody = new Map<Path, string>();
  /** Texts of objects in the current item. */
  readonly #ofItem = new Map<object, string>();
  #isCut = false;

  constructor(template: HookTemplate, body: unknown, headers: Received["headers"]) {
    this.#template = template;
    this.#body = body;
    this.#headers = headers;
  }

  /** @param around attributes of the body around a list */
  event(item: unknown, around: SharedPart): ProducerEvent {
    this.#isCut = around.isCut;
    this.#ofItem.clear();
    const attributes = attributesOf(item);
    const { text, created } = this.#template;
    const given = created === undefined ? "" : (this.#singleValue(created, item) ?? this.#fill(created, item));
    const time = readProducerTime(given);
    const filled = (field: TemplateField): string => {
      const pattern = this.#template[field];
      return pattern === undefined ? "" : this.#fill(pattern, item).trim();
    };
    const id = filled("id");
    const data = filled("data");
    const value = filled("value");
    const event = {
      ...(id !== "" && { id }),
      text: filled("text"),
      ...(data !== "" && { data }),
      severity: parseSeverity(filled("severity")),
      source: filled("source"),
      user: filled("user"),
      link: filled("link"),
      value: /^[-+]?\d/.test(value) && Number.isFinite(Number(value)) ? Number(value) : null,
      geo: null,
      tags: this.#tags(item),
      time,
      ...(time === null && isTimeExpected(given) && { isTimeUnread: true }),
      attributes,
    };
    // A value used as text or time is not repeated as an attribute, as with documents.
    if (event.text !== "") removeUsed(attributes, text);
    if (time !== null) removeUsed(attributes, created);
    for (const [name, one] of around.attributes) put(attributes, name, one);
    return this.#isCut ? { ...event, tags: [...event.tags, CUT_TAG] } : event;
  }

  #tags(item: unknown): readonly string[] {
    return this.#template.tags.flatMap((pattern) => {
      const one = this.#singleValue(pattern, item);
      if (!Array.isArray(one)) return this.#fill(pattern, item);
      const tags = one.filter((tag) => tag !== null && typeof tag !== "object").slice(0, MAX_TAGS_OF_VALUE);
      return tags.map((tag) => this.#cut(payloadText(tag), LONGEST_TAG));
    });
  }

  /** Returns the value of a pattern that consists of a single placeholder. */
  #singleValue(pattern: TemplatePattern, item: unknown): unknown {
    const [paths, ...more] = pattern;
    if (typeof paths !== "object" || more.length > 0) return undefined;
    return paths
      .map((path) => this.#find(path, item))
      .find((value) => value !== undefined && value !== null && value !== "");
  }

  #fill(pattern: TemplatePattern, item: unknown): string {
    let filled = "";
    for (const part of pattern) {
      if (typeof part === "string") filled += part;
      else filled += this.#firstText(part, item);
      // What is longer would be cut anyway.
      if (filled.length > MAX_VALUE_LENGTH) return this.#cut(filled, MAX_VALUE_LENGTH);
    }
    return filled;
  }

  #firstText(paths: readonly Path[], item: unknown): string {
    for (const path of paths) {
      const text = this.#text(path, item);
      if (text !== "") return text;
    }
    return "";
  }

  #text(path: Path, item: unknown): string {
    if (path.from !== "body") return this.#cut(this.#textOfItem(this.#find(path, item)), MAX_VALUE_LENGTH);
    let text = this.#ofBody.get(path);
    if (text === undefined) this.#ofBody.set(path, (text = payloadText(this.#find(path, item))));
    return this.#cut(text, this.#template.each === null ? MAX_VALUE_LENGTH : MAX_COMMON_LENGTH);
  }

  /** Returns a text; an object is written once, however many paths lead to it. */
  #textOfItem(value: unknown): string {
    if (typeof value !== "object" || value === null) return payloadText(value);
    let text = this.#ofItem.get(value);
    if (text === undefined) this.#ofItem.set(value, (text = payloadText(value)));
    return text;
  }

  #find(path: Path, item: unknown): unknown {
    if (path.from === "header") return headerText(this.#headers, path.steps[0]!);
    return follow(path.from === "body" ? this.#body : item, path.steps);
  }

  #cut(text: string, most: number): string {
    if (text.length <= most) return text;
    this.#isCut = true;
    return text.slice(0, most);
  }
}

function attributesOf(item: unknown): MutableAttributes {
  const attributes: MutableAttributes = new Map();
  if (typeof item === "object" && item !== null && !Array.isArray(item)) flattenInto(attributes, item);
  else if (item !== null && item !== undefined) flattenInto(attributes, { item });
  return attributes;
}

/** Returns the attributes of a body outside the list, shortened, as each item gets a copy. */
function aroundOf(body: unknown, [first = ""]: readonly string[], parts: SharedParts): SharedPart {
  const all: MutableAttributes = new Map();
  if (typeof body === "object" && body !== null && !Array.isArray(body)) {
    flattenInto(all, Object.fromEntries(Object.entries(body).filter(([name]) => name !== first)));
  }
  const attributes = new Map<string, AttributeValue>();
  let isCut = false;
  for (const [name, value] of all) {
    if (attributes.size === MAX_COMMON_ATTRIBUTES) break;
    const one = Array.isArray(value) ? compactJson(value) : (value as AttributeValue);
    const isLong = typeof one === "string" && one.length > MAX_COMMON_LENGTH;
    if (isLong) isCut = true;
    attributes.set(name, isLong ? one.slice(0, MAX_COMMON_LENGTH) : one);
  }
  const part = parts.part(attributes);
  return { ...part, isCut: part.isCut || isCut || attributes.size < all.size };
}

function removeUsed(attributes: MutableAttributes, pattern: TemplatePattern | undefined): void {
  const [paths, ...more] = pattern ?? [];
  if (typeof paths !== "object" || more.length > 0) return;
  const [path, ...others] = paths;
  if (path?.from === "item" && others.length === 0) attributes.delete(path.steps.join("."));
}
