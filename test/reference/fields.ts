import { numberOfValue, parseAttributes, valuesOfAttribute } from "../../src/events/attributes.ts";
import type { AttributeValue } from "../../src/events/attributes.ts";
import type { StoredEvent } from "../../src/events/event.ts";
import { compareCodePoints } from "../../src/events/text.ts";
import { LISTED_FIELDS } from "../../src/store/listed-fields.ts";
import type { FieldSummary, FieldsQuery } from "../../src/store/store.ts";

type Listed = (typeof LISTED_FIELDS)[number];

const WITHOUT_VALUES: ReadonlySet<Listed> = new Set(["created", "text", "data", "geo"]);

/** Evaluates {@link Store.fields} in plain code. */
export function evaluateFields(events: readonly StoredEvent[], question: FieldsQuery): FieldSummary[] {
  const { log, from, to, prefix, values: most } = question;
  const among = events.filter(
    (event) => event.log === log && (from === null || event.created >= from) && (to === null || event.created < to),
  );
  const fields = LISTED_FIELDS.map((name): FieldSummary => {
    const texts = among.map((event) => textsOf(event, name)).filter((each) => each.length > 0);
    const values = WITHOUT_VALUES.has(name) ? [] : topOf(texts, most);
    return { name, kind: kindOf(name), count: texts.length, values };
  });
  const names = new Set(among.flatMap(({ attributes }) => [...parseAttributes(attributes).keys()]));
  const attributes = [...names].toSorted(compareCodePoints).map((name): FieldSummary => {
    const all = among.map((event) => valuesOfAttribute(parseAttributes(event.attributes), name));
    const some = all.filter((values) => values.length > 0);
    const values = topOf(
      some.map((each) => each.map(String)),
      most,
    );
    return { name: `@${name}`, kind: kindOfValues(some.flat()), count: some.length, values };
  });
  return [...fields, ...attributes].filter(({ name, count }) => count > 0 && name.startsWith(prefix));
}

function textsOf(event: StoredEvent, name: Listed): readonly string[] {
  const value = event[name];
  if (value === null || value === "") return [];
  if (Array.isArray(value)) return value as readonly string[];
  return [typeof value === "object" ? "a place" : String(value)];
}

function kindOf(name: Listed): FieldSummary["kind"] {
  if (name === "created") return "time";
  if (name === "geo") return "place";
  return name === "value" ? "number" : "text";
}

function kindOfValues(values: readonly AttributeValue[]): FieldSummary["kind"] {
  const kinds = new Set(
    values.map((value) => {
      if (numberOfValue(value) !== null) return "number";
      return String(value) === "true" || String(value) === "false" ? "boolean" : "text";
    }),
  );
  return kinds.size === 1 ? [...kinds][0]! : "mixed";
}

/**
 * Returns the most frequent texts.
 * @param events the texts of each event, which counts once for each of them
 */
function topOf(events: readonly (readonly string[])[], most: number): FieldSummary["values"] {
  const counts = new Map<string, number>();
  for (const texts of events) for (const text of new Set(texts)) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((a, b) => b.count - a.count || compareCodePoints(a.value, b.value))
    .slice(0, most);
}
