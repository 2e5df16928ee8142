import { parseNumber } from "../events/attributes.ts";
import { fold } from "../events/text.ts";
import type { Condition } from "./plan.ts";

type Equality<Field extends string> = Extract<Condition<Field>, { kind: "text" | "number" }>;

/** Returns that an attribute equals a text: by number if the text spells one, otherwise folded. */
export function equalsAttribute<Field extends string>(field: Field, text: string): Equality<Field> {
  const number = exactNumberOf(text);
  if (number !== null) return { kind: "number", field, op: "=", value: number };
  return { kind: "text", field, op: "=", value: fold(text) };
}

/** Returns null for long integers such as ids, which as numbers would equal other ids. */
function exactNumberOf(text: string): number | null {
  const number = parseNumber(text);
  return number !== null && Number.isInteger(number) && !Number.isSafeInteger(number) ? null : number;
}
