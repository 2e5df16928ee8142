import { isAttribute } from "../../../query/plan.ts";
import type { Aggregate, NumberSource } from "../../../query/plan.ts";
import { plainText } from "../database/attributes.ts";
import type { Binder } from "./binder.ts";
import { hasOthers, otherText, compileAttributeValues } from "./attribute.ts";
import { AS_GIVEN, splitTagsSql } from "./condition.ts";

/** SQL for the values of an event that are aggregated. */
export type AggregateInput = {
  /** The single value, NULL if there is none. */
  readonly one: string;
  /**
   * Set if an event may have several: a condition for that, never NULL, and their list, as structs
   * with `v`.
   */
  readonly several: { readonly has: string; readonly list: string } | null;
};

type ValueField = Extract<Aggregate, { kind: "first" | "last" }>["field"];

export function aggregateNumbers(of: NumberSource, bind: Binder): AggregateInput {
  if (of === "value") return { one: "value", several: null };
  const { number, others } = compileAttributeValues(of, bind);
  const one = number ?? "null::double";
  if (others === null) return { one, several: null };
  const list = `list_transform(list_filter(${others}, lambda each: each.d is not null), lambda each: {v: each.d})`;
  return { one, several: { has: hasOthers(of, bind), list } };
}

/**
 * Returns the distinct values, or values with equal distinct count: exact texts, but numbers for
 * `value` and for attributes with only numbers.
 */
export function valuesOfField(field: ValueField, bind: Binder): AggregateInput {
  if (field === "tags") {
    const list = `list_transform(${splitTagsSql("tags")}, lambda tag: {v: tag})`;
    return { one: "null::varchar", several: { has: "(tags <> '')", list } };
  }
  if (field === "hash") return { one: "text", several: null };
  if (!isAttribute(field)) return { one: oneOf(field), several: null };
  const { number, text, others } = compileAttributeValues(field, bind);
  if (others === null && text === null) return { one: number ?? "null::varchar", several: null };
  const one = textOf(number, text);
  if (others === null) return { one, several: null };
  const list = `list_transform(${others}, lambda each: {v: ${otherText("each")}})`;
  return { one, several: { has: hasOthers(field, bind), list } };
}

/** Returns the first value. */
export function firstOfField(field: ValueField, bind: Binder): string {
  if (field === "tags") return `nullif(${splitTagsSql("tags")}[1], '')`;
  if (!isAttribute(field)) return oneOf(field);
  const { number, text, others } = compileAttributeValues(field, bind);
  const one = textOf(number, text);
  if (others === null) return one;
  return `coalesce(${one}, ${otherText(`(${others})[1]`)})`;
}

function oneOf(field: Exclude<ValueField, "tags" | `@${string}`>): string {
  return field === "created" || field === "value" ? field : `nullif(${AS_GIVEN[field]}, '')`;
}

function textOf(number: string | null, text: string | null): string {
  if (number === null) return text ?? "null::varchar";
  return text === null ? plainText(number) : `coalesce(${text}, ${plainText(number)})`;
}
