import { numberOf } from "../events/attributes.ts";
import { fold } from "../events/text.ts";
import type { Condition } from "./plan.ts";

type Equality<Field extends string> = Extract<Condition<Field>, { kind: "text" | "number" }>;

/** That an attribute equals a text: by number where that spells one, by the folded text otherwise. */
export function equalsAttribute<Field extends string>(field: Field, text: string): Equality<Field> {
  const number = exactNumberOf(text);
  if (number !== null) return { kind: "number", field, op: "=", value: number };
  return { kind: "text", field, op: "=", value: fold(text) };
}

/** Null for a long row of digits, as ids are: as a number it would equal others. */
function exactNumberOf(text: string): number | null {
  const number = numberOf(text);
  return number !== null && Number.isInteger(number) && !Number.isSafeInteger(number) ? null : number;
}
